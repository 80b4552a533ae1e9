use super::backend::Backend;
use super::elementwise::{Map, MapTwo, elementwise, in_place_two};
use super::exponential::nonpositive_exp_lanes;
use super::lanes::Lanes;

/// `2 (2 atanh(s)/s - 2) / s^2` in `w = s^2` on `[0, 1/9]`, degree 9, near-minimax (Chebyshev fit, 60 digits), error 1.8e-16.
const SERIES: [f64; 10] = [
    1.3333333333333333,
    0.8000000000002919,
    0.5714285713421012,
    0.44444445435603563,
    0.36363578834652893,
    0.30771141185824485,
    0.26628271101762324,
    0.24002310365715557,
    0.17600635301737547,
    0.32329876338942676,
];

/// `ln(1 + e)` for `0 <= e <= 1`: with `s = e / (2 + e)`, `ln(1 + e) = 2 atanh(s) = e - (e^2 - s (e^2 + R(s^2))) / 2`.
#[inline(always)]
fn ln_1p_of_unit_lanes<L: Lanes>(l: L, e: L::F) -> L::F {
    let s = l.div(e, l.add(l.num(2.0), e));
    let w = l.mul(s, s);
    let square = l.mul(e, e);
    let bracket = l.fma(l.polynomial(w, &SERIES), w, square);
    let twice = l.fnma(s, bracket, square);
    l.fnma(l.num(0.5), twice, e)
}

/// `SERIES / 2`.
const HALVES: [f64; 10] = {
    let (mut halves, mut i) = (SERIES, 0);
    while i < halves.len() {
        halves[i] *= 0.5;
        i += 1;
    }
    halves
};

/// `2 atanh(s) = 2 s + s R(s^2)` for `|s| <= 1/3`, with the series halved.
#[inline(always)]
pub(crate) fn atanh_lanes<L: Lanes>(l: L, s: L::F) -> L::F {
    let w = l.mul(s, s);
    l.fma(s, l.mul(w, l.polynomial(w, &HALVES)), l.add(s, s))
}

#[inline(always)]
pub(crate) fn softplus_lanes<L: Lanes>(l: L, x: L::F) -> L::F {
    softplus_of(l, x, nonpositive_exp_lanes(l, l.nonpositive(x)))
}

/// The softplus of `x`, given `e = e^-|x|`.
#[inline(always)]
fn softplus_of<L: Lanes>(l: L, x: L::F, e: L::F) -> L::F {
    l.add(l.at_least(l.num(0.0), x), ln_1p_of_unit_lanes(l, e))
}

#[inline(always)]
pub(crate) fn sigmoid_lanes<L: Lanes>(l: L, x: L::F) -> L::F {
    sigmoid_of(l, x, nonpositive_exp_lanes(l, l.nonpositive(x)))
}

/// The logistic function of `x`, given `e = e^-|x|`.
#[inline(always)]
pub(crate) fn sigmoid_of<L: Lanes>(l: L, x: L::F, e: L::F) -> L::F {
    let numerator = l.choose(l.less(x, l.num(0.0)), e, l.num(1.0));
    l.div(numerator, l.add(l.num(1.0), e))
}

pub(crate) struct Softplus;

impl Map for Softplus {
    #[inline(always)]
    fn apply<L: Lanes>(l: L, x: L::F) -> L::F {
        softplus_lanes(l, x)
    }
}

pub(crate) struct LogSigmoid;

impl Map for LogSigmoid {
    #[inline(always)]
    fn apply<L: Lanes>(l: L, x: L::F) -> L::F {
        l.negated(softplus_lanes(l, l.negated(x)))
    }
}

pub(crate) struct Sigmoid;

impl Map for Sigmoid {
    #[inline(always)]
    fn apply<L: Lanes>(l: L, x: L::F) -> L::F {
        sigmoid_lanes(l, x)
    }
}

struct LogSigmoidWithSlope;

impl MapTwo for LogSigmoidWithSlope {
    #[inline(always)]
    fn apply<L: Lanes>(l: L, x: L::F) -> (L::F, L::F) {
        let minus = l.negated(x);
        let e = nonpositive_exp_lanes(l, l.nonpositive(x));
        (l.negated(softplus_of(l, minus, e)), sigmoid_of(l, minus, e))
    }
}

/// [`log_sigmoid`] of `x` in place, and its derivative `sigmoid(-x)`, written to `slope`, from one exponential.
///
/// The results are bit-identical to those of the two functions.
///
/// # Panics
/// If the lengths differ.
///
/// ```
/// let (mut x, mut slope) = ([0.0], [0.0]);
/// mcsa_numeric::log_sigmoid_with_slope(&mut x, &mut slope);
/// assert_eq!((x, slope), ([-std::f64::consts::LN_2], [0.5]));
/// ```
#[inline]
pub fn log_sigmoid_with_slope(x: &mut [f64], slope: &mut [f64]) {
    Backend::best().log_sigmoid_with_slope(x, slope);
}

impl Backend {
    /// [`log_sigmoid_with_slope`] with the instruction set of `self`.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn log_sigmoid_with_slope(self, x: &mut [f64], slope: &mut [f64]) {
        in_place_two(self, LogSigmoidWithSlope, x, slope);
    }
}

elementwise! {
    /// Softplus, `ln(1 + e^x)`, in place.
    ///
    /// ```text
    /// max(x, 0) + ln(1 + e^-|x|)
    /// ```
    /// Error at most 2 ulp over the whole range: for very negative `x` it is `e^x`, subnormal results included; for large `x` it is
    /// `x`. `-inf` gives 0, `+inf` gives `+inf`, NaN stays NaN.
    ln_1p_exp, ln_1p_exp_into, Softplus
}

elementwise! {
    /// Log sigmoid, `ln(1 / (1 + e^-x))`, in place: minus the softplus of `-x`.
    ///
    /// Error at most 2 ulp. `-inf` gives `-inf`, `+inf` gives `-0`, NaN stays NaN.
    ///
    /// ```
    /// let mut x = [0.0, -1000.0];
    /// mcsa_numeric::log_sigmoid(&mut x);
    /// assert_eq!(x, [-std::f64::consts::LN_2, -1000.0]);
    /// ```
    log_sigmoid, log_sigmoid_into, LogSigmoid
}

elementwise! {
    /// Logistic sigmoid, `1 / (1 + e^-x)`, in place; the derivative of [`ln_1p_exp`].
    ///
    /// Error at most 2 ulp: for `x < 0` it is `e^x / (1 + e^x)`, which keeps the left tail accurate down to the smallest subnormal.
    /// `-inf` gives 0, `+inf` gives 1, NaN stays NaN.
    sigmoid, sigmoid_into, Sigmoid
}
