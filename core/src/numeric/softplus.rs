use super::elementwise::{Map, elementwise};
use super::exponential::nonpositive_exp_lanes;
use super::lanes::Lanes;

/// `(2 atanh(s)/s - 2) / s^2` in `w = s^2` on `[0, 1/9]`, degree 9, near-minimax (Chebyshev fit, 60 digits), error 9e-17.
const SERIES: [f64; 10] = [
    0.6666666666666666,
    0.40000000000014596,
    0.2857142856710506,
    0.22222222717801782,
    0.18181789417326447,
    0.15385570592912243,
    0.13314135550881162,
    0.12001155182857778,
    0.08800317650868773,
    0.16164938169471338,
];

/// `ln(1 + e)` for `0 <= e <= 1`: with `s = e / (2 + e)`, `ln(1 + e) = 2 atanh(s) = e - (e^2/2 - s (e^2/2 + R(s^2)))`.
#[inline(always)]
pub(crate) fn ln_1p_of_unit_lanes<L: Lanes>(l: L, e: L::F) -> L::F {
    l.add(e, ln_1p_tail_lanes(l, e))
}

/// `ln(1 + e) - e` for `0 <= e <= 1`.
#[inline(always)]
fn ln_1p_tail_lanes<L: Lanes>(l: L, e: L::F) -> L::F {
    let s = l.div(e, l.add(l.num(2.0), e));
    let w = l.mul(s, s);
    let half_square = l.mul(l.mul(e, l.num(0.5)), e);
    let bracket = l.fma(l.polynomial(w, &SERIES), w, half_square);
    l.sub(l.mul(s, bracket), half_square)
}

#[inline(always)]
pub(crate) fn softplus_lanes<L: Lanes>(l: L, x: L::F) -> L::F {
    let e = nonpositive_exp_lanes(l, l.nonpositive(x));
    l.add(l.at_least(l.num(0.0), x), ln_1p_of_unit_lanes(l, e))
}

#[inline(always)]
pub(crate) fn sigmoid_lanes<L: Lanes>(l: L, x: L::F) -> L::F {
    let e = nonpositive_exp_lanes(l, l.nonpositive(x));
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

elementwise! {
    /// `ln(1 + e^x)` (softplus), in place.
    ///
    /// ```text
    /// max(x, 0) + ln(1 + e^-|x|)
    /// ```
    /// Error at most 2 ulp over the whole range: far left it is `e^x`, subnormal results included; far right it is `x`.
    /// `-inf` gives 0, `+inf` gives `+inf`, NaN stays NaN.
    ln_1p_exp, ln_1p_exp_into, Softplus
}

elementwise! {
    /// `ln(1 / (1 + e^-x))`, in place: minus the softplus of `-x`.
    ///
    /// Error at most 2 ulp. `-inf` gives `-inf`, `+inf` gives `-0`, NaN stays NaN.
    ///
    /// ```
    /// let mut x = [0.0, -1000.0];
    /// mcsa::numeric::log_sigmoid(&mut x);
    /// assert_eq!(x, [-std::f64::consts::LN_2, -1000.0]);
    /// ```
    log_sigmoid, log_sigmoid_into, LogSigmoid
}

elementwise! {
    /// `1 / (1 + e^-x)`, in place; the derivative of [`ln_1p_exp`].
    ///
    /// Error at most 2 ulp: for `x < 0` it is `e^x / (1 + e^x)`, which keeps the left tail to its last subnormal.
    /// `-inf` gives 0, `+inf` gives 1, NaN stays NaN.
    sigmoid, sigmoid_into, Sigmoid
}
