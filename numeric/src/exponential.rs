use super::elementwise::elementwise;
use super::lanes::{Lanes, ROUND};
use core::f64::consts::LOG2_E;

/// `ln 2` in two parts: the first has 32 significant bits, so that its product with an exponent is exact (Cody & Waite).
pub(crate) const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
/// `ln 2 - LN_2_HIGH`, rounded (60 digits of ln 2).
pub(crate) const LN_2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

/// Bounds beyond which `exp` is 0 or infinite; between them the exponent fits [`Operations::scale`](super::lanes::Operations::scale).
const LOWEST: f64 = -746.0;
const HIGHEST: f64 = 710.0;

/// `(e^r - 1 - r) / r^2` on `|r| <= 1.0001 ln(2)/2`, degree 9, near-minimax (Chebyshev fit, 60 digits), error 1.1e-16.
const SERIES: [f64; 10] = [
    0.5000000000000001,
    0.16666666666666669,
    0.04166666666662413,
    0.008333333333330062,
    0.0013888888917213717,
    0.00019841269863053618,
    2.4801521295954376e-05,
    2.7557268459997064e-06,
    2.7620088445409746e-07,
    2.510038549551032e-08,
];

/// Parts `k` and `q` of `e^x = 2^k (1 + q)`, used by `exp`, `tanh` and the logistic functions.
pub(crate) struct Split<L: Lanes> {
    /// `k + ROUND`.
    pub(crate) shifted: L::F,
    pub(crate) k: L::F,
    /// `e^r - 1`, `|r| <= ln(2)/2`.
    pub(crate) q: L::F,
}

/// `x` clamped to `[LOWEST, HIGHEST]`; NaN stays NaN.
#[inline(always)]
pub(crate) fn split<L: Lanes>(l: L, x: L::F) -> Split<L> {
    let (shifted, k, r) = reduce(l, x);
    finish(l, shifted, k, r)
}

/// Argument reduction `x = k ln 2 + r`.
#[inline(always)]
fn reduce<L: Lanes>(l: L, x: L::F) -> (L::F, L::F, L::F) {
    let shifted = l.fma(x, l.num(LOG2_E), l.num(ROUND));
    let k = l.sub(shifted, l.num(ROUND));
    let r = l.fnma(k, l.num(LN_2_HIGH), x);
    (shifted, k, l.fnma(k, l.num(LN_2_LOW), r))
}

#[inline(always)]
fn finish<L: Lanes>(l: L, shifted: L::F, k: L::F, r: L::F) -> Split<L> {
    let q = l.fma(l.polynomial(r, &SERIES), l.mul(r, r), r);
    Split { shifted, k, q }
}

/// `e^x` from its parts.
#[inline(always)]
pub(crate) fn join<L: Lanes>(l: L, s: Split<L>) -> L::F {
    l.scale(l.add(l.num(1.0), s.q), s.shifted, s.k)
}

/// `y e^x` from the parts of `e^x`, with one rounding fewer than the product.
#[inline(always)]
pub(crate) fn times_exp<L: Lanes>(l: L, y: L::F, s: &Split<L>) -> L::F {
    l.scale(l.fma(y, s.q, y), s.shifted, s.k)
}

/// `e^x` for `x <= HIGHEST`.
#[inline(always)]
pub(crate) fn nonpositive_exp_lanes<L: Lanes>(l: L, x: L::F) -> L::F {
    join(l, split(l, l.at_least(l.num(LOWEST), x)))
}

/// Parts of `e^(x + low)` for `x <= HIGHEST` and a correction `low` of at most a few ulp of `x`.
#[inline(always)]
pub(crate) fn split_of_sum<L: Lanes>(l: L, x: L::F, low: L::F) -> Split<L> {
    let (shifted, k, r) = reduce(l, l.at_least(l.num(LOWEST), x));
    finish(l, shifted, k, l.add(r, low))
}

/// Value of `-2 |x|` below which the hyperbolic tangent rounds to 1: `2 e^-40 < 2^-56`.
const SATURATED: f64 = -40.0;

elementwise! {
    /// Exponential function `e^x`, in place.
    ///
    /// ```text
    /// e^x = 2^k (1 + r + r^2 P(r)),   k = round(x / ln 2),   r = x - k ln 2
    /// ```
    /// Error at most 1.25 ulp over the whole range, subnormal results included (one rounding at the end). `e^-inf = 0`,
    /// overflow is `+inf`, NaN stays NaN.
    exp, exp_into, Exp = |l, x| nonpositive_exp_lanes(l, l.at_most(l.num(HIGHEST), x));

    /// Hyperbolic tangent, in place.
    ///
    /// ```text
    /// tanh |x| = -t / (2 + t),   t = e^(-2|x|) - 1
    /// ```
    /// Error at most 3 ulp. Infinities give 1 with their sign, NaN stays NaN, `-0` stays `-0`.
    tanh, tanh_into, Tanh = |l, x| {
        let minus = l.nonpositive(x);
        let s = split(l, l.at_least(l.num(SATURATED), l.add(minus, minus)));
        // t = e^(-2|x|) - 1, in (-1, 0]
        let power = l.power_of_two(s.shifted);
        let t = l.fma(power, s.q, l.sub(power, l.num(1.0)));
        l.with_sign_of(l.div(t, l.add(l.num(2.0), t)), x)
    };
}
