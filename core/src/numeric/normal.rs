use super::backend::Backend;
use super::elementwise::{Map, MapTwo, elementwise, in_place_two};
use super::exponential::{LN_2_HIGH, LN_2_LOW};
use super::lanes::Lanes;
use super::logarithm::half_mantissa;
use super::scaled_erfc::{exp_minus_half_square_lanes, mills_lanes};
use super::softplus::atanh_lanes;

/// `1/sqrt(2 pi)`, rounded (50 digits).
pub(crate) const INVERSE_ROOT_2_PI: f64 = 0.398_942_280_401_432_7;

/// Intermediate results that `log_ndtr` and its derivative share: `Phi(-|z|) = e^(-z^2/2) p / base`.
struct Tail<L: Lanes> {
    left: L::M,
    p: L::F,
    base: L::F,
    /// `e^(-z^2/2)`.
    density: L::F,
    /// `-e^(-z^2/2) p`.
    minus_tail: L::F,
}

#[inline(always)]
fn tail<L: Lanes>(l: L, z: L::F) -> Tail<L> {
    let (p, base) = mills_lanes(l, l.magnitude(z));
    let density = exp_minus_half_square_lanes(l, z);
    let zero = l.num(0.0);
    Tail { left: l.less(z, zero), p, base, density, minus_tail: l.fnma(density, p, zero) }
}

#[inline(always)]
fn log_ndtr_of<L: Lanes>(l: L, z: L::F, t: &Tail<L>) -> L::F {
    // The logarithm of a/b is 2 atanh((a - b)/(a + b)): of p over the base without its power of two for z < 0, of (base - tail)/base
    // for z >= 0.
    let (k, mantissa) = half_mantissa(l, t.base);
    let above = l.choose(t.left, l.sub(t.p, mantissa), t.minus_tail);
    let below = l.choose(t.left, l.add(t.p, mantissa), l.fma(t.base, l.num(2.0), t.minus_tail));
    let log = atanh_lanes(l, l.div(above, below));
    let k = l.choose(t.left, k, l.num(0.0));
    let log = l.fma(k, l.num(LN_2_HIGH), l.fma(k, l.num(LN_2_LOW), log));
    let quadratic = l.mul(z, l.num(-0.5));
    l.choose(t.left, l.fma(quadratic, z, log), log)
}

#[inline(always)]
fn ndtr_hazard_of<L: Lanes>(l: L, z: L::F, t: &Tail<L>) -> L::F {
    let over = l.mul(t.base, l.num(INVERSE_ROOT_2_PI));
    let over = l.choose(t.left, over, l.mul(over, t.density));
    let under = l.choose(t.left, t.p, l.add(t.base, t.minus_tail));
    // For very negative z the result is -z to the last place.
    l.choose(l.less(z, l.num(-1e10)), l.negated(z), l.div(over, under))
}

pub(crate) struct LogNdtr;

impl Map for LogNdtr {
    #[inline(always)]
    fn apply<L: Lanes>(l: L, z: L::F) -> L::F {
        log_ndtr_of(l, z, &tail(l, z))
    }
}

pub(crate) struct NdtrHazard;

impl Map for NdtrHazard {
    #[inline(always)]
    fn apply<L: Lanes>(l: L, z: L::F) -> L::F {
        ndtr_hazard_of(l, z, &tail(l, z))
    }
}

struct LogNdtrWithHazard;

impl MapTwo for LogNdtrWithHazard {
    #[inline(always)]
    fn apply<L: Lanes>(l: L, z: L::F) -> (L::F, L::F) {
        let t = tail(l, z);
        (log_ndtr_of(l, z, &t), ndtr_hazard_of(l, z, &t))
    }
}

/// [`log_ndtr`] of `z` in place, and its derivative [`ndtr_hazard`], written to `hazard`, with shared intermediate results.
///
/// The results are bit-identical to those of the two functions.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn log_ndtr_with_hazard(z: &mut [f64], hazard: &mut [f64]) {
    Backend::best().log_ndtr_with_hazard(z, hazard);
}

impl Backend {
    /// [`log_ndtr_with_hazard`] with the instruction set of `self`.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn log_ndtr_with_hazard(self, z: &mut [f64], hazard: &mut [f64]) {
        in_place_two(self, LogNdtrWithHazard, z, hazard);
    }
}

elementwise! {
    /// `ln Phi(z)`, the log distribution function of the standard normal, in place: the probit log likelihood.
    ///
    /// ```text
    /// z <  0:  -z^2/2 + ln(erfcx(-z/sqrt 2) / 2)
    /// z >= 0:  ln(1 - Q),   Q = e^(-z^2/2) erfcx(z/sqrt 2) / 2,   erfcx(z/sqrt 2) / 2 = a / b,   ln(a/b) = 2 atanh((a - b)/(a + b))
    /// ```
    /// Error at most 4 ulp everywhere: for `z > 38` the result is `-Q` down to the smallest subnormal, for very negative `z` it is
    /// `-z^2/2 - ln(-z) - ln sqrt(2 pi)` until the square overflows. `-inf` gives `-inf`, `+inf` gives 0, NaN stays NaN.
    ///
    /// ```
    /// let mut z = [-40.0];
    /// mcsa_core::numeric::log_ndtr(&mut z);
    /// assert!((z[0] + 804.608442).abs() < 1e-6);
    /// ```
    log_ndtr, log_ndtr_into, LogNdtr
}

elementwise! {
    /// Hazard rate of the standard normal at `-z`, `phi(z) / Phi(z)`, in place; the derivative of [`log_ndtr`].
    ///
    /// Error at most 4 ulp. For very negative `z` it is `-z`, for large `z` the density `phi(z)`. NaN stays NaN.
    ndtr_hazard, ndtr_hazard_into, NdtrHazard
}
