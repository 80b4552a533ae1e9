//! Support of a density in floating point, argument checks, and log densities of common priors.

use std::f64::consts::{LN_2, PI};

use faer::MatRef;
pub use mcsa_core::numeric::HALF_LOG_TAU;
pub use mcsa_core::positive;
use mcsa_core::{Error, all_finite, finite_matrix, numeric, same_length};
use mcsa_numeric::design::{MINIBATCH, Rows};

/// The log density `log_p`, with NaN or `+inf` at a point without NaN replaced by `-inf`.
///
/// At finite points NaN arises here only as `inf - inf` or `0 * inf`, where a scale or a square exceeds the range of
/// doubles. Such points count as outside the support. A NaN in the point itself is passed on, to be counted.
#[inline]
pub fn decided(log_p: f64, z: &[f64]) -> f64 {
    if log_p < f64::INFINITY { log_p } else { outside(z) }
}

/// The log density as by [`decided`], with the gradient 0 where it is `-inf`.
pub(crate) fn decided_with(log_p: f64, z: &[f64], gradient: &mut [f64]) -> f64 {
    let log_p = decided(log_p, z);
    if log_p == f64::NEG_INFINITY {
        gradient.fill(0.0);
    }
    log_p
}

#[cold]
fn outside(z: &[f64]) -> f64 {
    if z.iter().any(|z| z.is_nan()) { f64::NAN } else { f64::NEG_INFINITY }
}

/// `out += scale * H v` for the derivative H of the function `gradient_into` at z, by central differences along v: about ten digits are
/// right. `work` has twice the length of z.
pub fn add_difference(
    gradient_into: impl Fn(&[f64], &mut [f64]),
    scale: f64,
    z: &[f64],
    v: &[f64],
    out: &mut [f64],
    work: &mut [f64],
) {
    let largest = |x: &[f64]| x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let length = largest(v);
    if length == 0.0 {
        return;
    }
    let step = f64::EPSILON.cbrt() * largest(z).max(1.0) / length;
    let (moved, slopes) = work.split_at_mut(z.len());
    for side in [step, -step] {
        moved.iter_mut().zip(z).zip(v).for_each(|((moved, z), v)| *moved = z + side * v);
        gradient_into(moved, &mut slopes[..z.len()]);
        numeric::axpy(0.5 * scale / side, &slopes[..z.len()], out);
    }
}

/// `Ok` if the value is finite.
pub fn finite(name: &'static str, value: f64) -> Result<(), Error> {
    if value.is_finite() { Ok(()) } else { Err(Error::parameter(name, value, "finite")) }
}

/// `Ok` if `x` has one row per response in `y`, and all numbers are finite.
pub(crate) fn rows_and_responses(x: MatRef<'_, f64>, y: &[f64]) -> Result<(), Error> {
    same_length("responses", x.nrows(), y.len())?;
    finite_matrix("features", x)?;
    all_finite("responses", y)
}

/// Number `b` of some rows, or of all.
pub(crate) fn row_at(rows: Option<&[usize]>, b: usize) -> usize {
    rows.map_or(b, |rows| rows[b])
}

/// Calls `each` with the products `X v` of some rows, or of all, and each vector, for a few rows at a time, from number `first` on.
/// What it leaves in the first product is multiplied by the transpose of these rows and added to `out`.
pub(crate) fn sweep<const K: usize>(
    x: &Rows,
    rows: Option<&[usize]>,
    vectors: [&[f64]; K],
    mut out: Option<&mut [f64]>,
    mut each: impl FnMut(usize, [&mut [f64]; K]),
) {
    let mut products = [[0.0; MINIBATCH]; K];
    let count = rows.map_or(x.rows(), <[usize]>::len);
    for first in (0..count).step_by(MINIBATCH) {
        let len = (count - first).min(MINIBATCH);
        for (product, vector) in products.iter_mut().zip(vectors) {
            x.view().multiply_at(|b| row_at(rows, first + b), vector, &mut product[..len]);
        }
        each(first, products.each_mut().map(|product| &mut product[..len]));
        if let Some(out) = out.as_deref_mut() {
            x.view().add_pull_back_at(|b| row_at(rows, first + b), &products[0][..len], out);
        }
    }
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

/// Half-Cauchy prior: `log p(sigma) + z` and its slope in `z`, for `sigma = exp(z)` and this scale.
///
/// `log 2 - log(pi scale) - log(1 + (sigma / scale)^2) + z`, computed without forming the square.
pub(crate) fn half_cauchy(z: f64, scale: f64) -> (f64, f64) {
    let twice = 2.0 * (z - scale.ln());
    // Softplus and sigmoid of the same number share an exponential.
    let small = (-twice.abs()).exp();
    let (softplus, share) = (twice.max(0.0) + small.ln_1p(), 1.0 / (1.0 + small));
    (LN_2 - (PI * scale).ln() - softplus + z, if twice < 0.0 { 2.0 * share - 1.0 } else { 1.0 - 2.0 * share })
}

/// Exponential prior: `log p(sigma) + z` and its slope in `z`, for `sigma = exp(z)` and this rate.
pub(crate) fn exponential(z: f64, sigma: f64, rate: f64) -> (f64, f64) {
    (rate.ln() - rate * sigma + z, 1.0 - rate * sigma)
}

/// Cauchy prior: `log p(x)` and its slope, for location zero and this scale.
pub(crate) fn cauchy(x: f64, scale: f64) -> (f64, f64) {
    let white = x / scale;
    // If the square overflows, its logarithm is computed from log |white|.
    let log_square = if white.abs() < 1e100 { (white * white).ln_1p() } else { 2.0 * white.abs().ln() };
    (-(PI * scale).ln() - log_square, -2.0 * white / (scale * (1.0 + white * white)))
}
