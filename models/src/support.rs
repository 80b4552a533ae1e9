//! Support of a density in floating point, argument checks, and the normal log density.

use mcsa_core::Error;

/// `log(2 pi) / 2`.
pub const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_7;

/// The log density `log_p`, with NaN at a point without NaN replaced by `-inf`.
///
/// At finite points NaN arises here only as `inf - inf` or `0 * inf`, where a scale or a square exceeds the range of
/// doubles: such points count as outside the support. A NaN in the point itself is passed on, to be counted.
#[inline]
pub fn decided(log_p: f64, z: &[f64]) -> f64 {
    if log_p < f64::INFINITY { log_p } else { outside(z) }
}

#[cold]
fn outside(z: &[f64]) -> f64 {
    if z.iter().any(|z| z.is_nan()) { f64::NAN } else { f64::NEG_INFINITY }
}

/// `Ok` if the value is positive and finite.
pub fn positive(name: &'static str, value: f64) -> Result<(), Error> {
    // Written so that NaN is refused.
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Error::parameter(name, value, "positive and finite"))
}

/// `Ok` if the value is finite.
pub fn finite(name: &'static str, value: f64) -> Result<(), Error> {
    if value.is_finite() { Ok(()) } else { Err(Error::parameter(name, value, "finite")) }
}

/// `Ok` if every label is 0 or 1.
pub fn zeros_and_ones(labels: &[f64]) -> Result<(), Error> {
    let other = labels.iter().find(|&&label| label != 0.0 && label != 1.0);
    other.map_or(Ok(()), |&label| Err(Error::parameter("label", label, "0 or 1")))
}

/// `log N(x; 0, scale^2)`.
#[inline]
pub fn log_normal(x: f64, scale: f64) -> f64 {
    let white = x / scale;
    -0.5 * white * white - scale.ln() - HALF_LOG_TAU
}
