use super::backend::Backend;
use super::elementwise::{Map, MapTwo, elementwise, in_place_two};
use super::lanes::Lanes;
use super::logarithm::{compose, decompose, lift};
use super::scaled_erfc::{exp_minus_half_square_lanes, mills_lanes};

/// `1/sqrt(2 pi)`, rounded (50 digits).
const INVERSE_ROOT_2_PI: f64 = 0.398_942_280_401_432_7;

/// Intermediate results that `log_ndtr` and its derivative share.
struct Tail<L: Lanes> {
    left: L::M,
    /// `erfcx(|z|/sqrt 2) / 2`.
    mills: L::F,
    /// `e^(-z^2/2)`.
    density: L::F,
    /// `Phi(-|z|)`.
    tail: L::F,
}

#[inline(always)]
fn tail<L: Lanes>(l: L, z: L::F) -> Tail<L> {
    let mills = mills_lanes(l, l.magnitude(z));
    let density = exp_minus_half_square_lanes(l, z);
    Tail { left: l.less(z, l.num(0.0)), mills, density, tail: l.mul(density, mills) }
}

#[inline(always)]
fn log_ndtr_of<L: Lanes>(l: L, z: L::F, t: &Tail<L>) -> L::F {
    // ln(erfcx/2) for z < 0, ln(1 - Q) for z >= 0: one logarithm of u, corrected for the rounding error of the subtraction;
    // 2 - u approximates 1/u accurately enough for a correction below 2^-54.
    let one = l.num(1.0);
    let kept = l.sub(one, t.tail);
    let lost = l.sub(l.sub(one, kept), t.tail);
    let zero = l.num(0.0);
    let correction = l.choose(t.left, zero, l.mul(lost, l.sub(l.num(2.0), kept)));
    let (u, shift) = lift(l, l.choose(t.left, t.mills, kept));
    let (k, f) = decompose(l, u);
    let log = compose(l, l.sub(k, shift), f, correction);
    let quadratic = l.mul(z, l.num(-0.5));
    let left = l.fma(quadratic, z, log);
    // For very negative z the square alone is the result; at -inf erfcx is 0 and has no finite logarithm.
    let left = l.choose(l.less(z, l.num(-1e200)), l.mul(quadratic, z), left);
    l.choose(t.left, left, log)
}

#[inline(always)]
fn ndtr_hazard_of<L: Lanes>(l: L, z: L::F, t: &Tail<L>) -> L::F {
    let scale = l.num(INVERSE_ROOT_2_PI);
    let over = l.choose(t.left, scale, l.mul(t.density, scale));
    let under = l.choose(t.left, t.mills, l.sub(l.num(1.0), t.tail));
    // For very negative z the result is -z to the last place, and erfcx would be subnormal.
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
    /// z >= 0:  ln(1 - Q),   Q = e^(-z^2/2) erfcx(z/sqrt 2) / 2
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
