use super::elementwise::elementwise;
use super::exponential::{LN_2_HIGH, LN_2_LOW, Split, nonpositive_exp_lanes, split};
use super::lanes::Lanes;

/// `2 (2 atanh(s)/s - 2) / s^2` in `w = s^2`, `|s| <= (sqrt 2 - 1)/(sqrt 2 + 1)`, degree 7, near-minimax (Chebyshev fit,
/// 60 digits), error 4.1e-18.
const SERIES: [f64; 8] = [
    1.3333333333333333,
    0.8000000000000176,
    0.5714285714160646,
    0.4444444478360094,
    0.36363591261769507,
    0.30772480411626957,
    0.26537519337121224,
    0.2617353401989635,
];

/// Bits of the double below `sqrt(1/2)`: mantissas are taken in `[sqrt(1/2), sqrt 2)`.
const ROOT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
const ONE_BITS: u64 = 0x3ff0_0000_0000_0000;
const MANTISSA_BITS: u64 = 0x000f_ffff_ffff_ffff;
pub(crate) const EXPONENT_BITS: u64 = 0x7ff0_0000_0000_0000;
/// `2^52`. The bitwise or of its bits and an integer `n < 2^52` is the double `2^52 + n`.
pub(crate) const TWO_52: f64 = 4_503_599_627_370_496.0;

/// `x = 2^k (1 + f)` for positive, finite, normal `x`.
#[inline(always)]
fn decompose<L: Lanes>(l: L, x: L::F) -> (L::F, L::F) {
    let bits = l.add_bits(l.bits(x), l.int(ONE_BITS - ROOT_HALF_BITS));
    let exponent = l.or(l.shr_52(bits), l.int(TWO_52.to_bits()));
    let k = l.sub(l.float(exponent), l.num(TWO_52 + 1023.0));
    let mantissa = l.add_bits(l.and(bits, l.int(MANTISSA_BITS)), l.int(ROOT_HALF_BITS));
    (k, l.sub(l.float(mantissa), l.num(1.0)))
}

/// `k ln 2 + ln(1 + f) + correction`, with the smallest terms added first.
#[inline(always)]
fn compose<L: Lanes>(l: L, k: L::F, f: L::F, correction: L::F) -> L::F {
    let s = l.div(f, l.add(l.num(2.0), f));
    let w = l.mul(s, s);
    let square = l.mul(f, f);
    let bracket = l.fma(l.polynomial(w, &SERIES), w, square);
    let twice = l.fnma(s, bracket, square);
    let low = l.fnma(l.num(0.5), twice, l.fma(k, l.num(LN_2_LOW), correction));
    l.fma(k, l.num(LN_2_HIGH), l.add(low, f))
}

/// Sets the results of the special arguments that the bit manipulation gets wrong: 0, infinity, negative numbers, NaN.
#[inline(always)]
fn restore<L: Lanes>(l: L, x: L::F, y: L::F) -> L::F {
    let y = l.choose(l.less(x, l.num(f64::INFINITY)), y, x);
    let y = l.choose(l.equal(x, l.num(0.0)), l.num(f64::NEG_INFINITY), y);
    l.choose(l.less(x, l.num(0.0)), l.num(f64::NAN), y)
}

/// `x`, scaled into the normal range if subnormal, and the exponent of the scale, to be subtracted from the result's.
#[inline(always)]
fn lift<L: Lanes>(l: L, x: L::F) -> (L::F, L::F) {
    let subnormal = l.less(x, l.num(f64::MIN_POSITIVE));
    let lifted = l.choose(subnormal, l.mul(x, l.num(TWO_52)), x);
    (lifted, l.choose(subnormal, l.num(52.0), l.num(0.0)))
}

#[inline(always)]
pub(crate) fn ln_lanes<L: Lanes>(l: L, x: L::F) -> L::F {
    let (lifted, shift) = lift(l, x);
    let (k, f) = decompose(l, lifted);
    restore(l, x, compose(l, l.sub(k, shift), f, l.num(0.0)))
}

#[inline(always)]
pub(crate) fn ln_1p_lanes<L: Lanes>(l: L, x: L::F) -> L::F {
    let one = l.num(1.0);
    let u = l.add(one, x);
    // The rounding error of u = 1 + x, exact by Fast2Sum with the operands ordered by magnitude.
    let small = l.less(l.magnitude(x), one);
    let lost = l.choose(small, l.sub(x, l.sub(u, one)), l.sub(one, l.sub(u, x)));
    let (k, f) = decompose(l, u);
    let y = compose(l, k, f, l.div(lost, u));
    let y = restore(l, u, y);
    // Below 2^-54 the result is x itself, signed zero included.
    l.choose(l.less(l.magnitude(x), l.num(f64::EPSILON / 4.0)), x, y)
}

/// `2 (2 atanh(s)/s - 2) / s^2` in `w = s^2` on `[0, 1/9]`, degree 9, near-minimax (Chebyshev fit, 60 digits), error 1.8e-16.
const UNIT_SERIES: [f64; 10] = [
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
    let bracket = l.fma(l.polynomial(w, &UNIT_SERIES), w, square);
    let twice = l.fnma(s, bracket, square);
    l.fnma(l.num(0.5), twice, e)
}

/// `UNIT_SERIES / 2`.
const HALVES: [f64; 10] = {
    let (mut halves, mut i) = (UNIT_SERIES, 0);
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
fn softplus_lanes<L: Lanes>(l: L, x: L::F) -> L::F {
    let e = nonpositive_exp_lanes(l, l.nonpositive(x));
    l.add(l.at_least(l.num(0.0), x), ln_1p_of_unit_lanes(l, e))
}

/// The logistic function of `x`, given `e = e^-|x|`.
#[inline(always)]
pub(crate) fn sigmoid_of<L: Lanes>(l: L, x: L::F, e: L::F) -> L::F {
    let numerator = l.choose(l.less(x, l.num(0.0)), e, l.num(1.0));
    l.div(numerator, l.add(l.num(1.0), e))
}

elementwise! {
    /// Natural logarithm, in place.
    ///
    /// ```text
    /// ln x = k ln 2 + 2 atanh(f / (2 + f)),   x = 2^k (1 + f),   sqrt(1/2) <= 1 + f < sqrt 2
    /// ```
    /// Error at most 1 ulp, subnormal arguments included. 0 gives `-inf`, `+inf` gives `+inf`, negative numbers and NaN
    /// give NaN.
    ln, ln_into, Ln = |l, x| ln_lanes(l, x);

    /// `ln(1 + x)`, in place, without cancellation near 0.
    ///
    /// The rounding error of `u = 1 + x` is corrected to first order, `ln u + (1 + x - u)/u`. Error at most 1 ulp. -1 gives
    /// `-inf`, smaller numbers give NaN, NaN stays NaN.
    ln_1p, ln_1p_into, Ln1p = |l, x| ln_1p_lanes(l, x);

    /// `ln(e^x - 1)`, the inverse of the softplus [`ln_1p_exp`], in place: `x + ln(1 - e^-x)` where `e^x` would overflow or the 1 would be
    /// lost by rounding.
    ///
    /// Near `ln 2`, where the function is 0, the absolute error is at most 2e-16; elsewhere the error is at most 3.5 ulp. The
    /// function tends to `ln x` for small `x` and to `x` for large `x`. 0 gives `-inf`, negative numbers and NaN give NaN.
    ln_expm1, ln_expm1_into, LnExpm1 = |l, x| {
        let Split { shifted, k: _, q } = split(l, l.at_most(l.num(64.0), x));
        // expm1 as an unevaluated sum high + low, so that its logarithm keeps its digits near ln 2, where it crosses 0. A power of two
        // requires k >= -1022: only NaN and negative arguments lie below, and `restore` sets their results.
        let power = l.power_of_two(l.at_least(l.num(super::lanes::ROUND - 1000.0), shifted));
        let a = l.mul(power, q);
        let b = l.sub(power, l.num(1.0));
        let high = l.add(a, b);
        let from_b = l.sub(high, a);
        let low = l.add(l.sub(b, from_b), l.sub(a, l.sub(high, from_b)));
        let (u, shift) = lift(l, high);
        let (k, f) = decompose(l, u);
        let near = restore(l, x, compose(l, l.sub(k, shift), f, l.div(low, high)));
        l.choose(l.less(x, l.num(40.0)), near, x)
    };

    /// Softplus, `ln(1 + e^x)`, in place.
    ///
    /// ```text
    /// max(x, 0) + ln(1 + e^-|x|)
    /// ```
    /// Error at most 2 ulp over the whole range: for very negative `x` it is `e^x`, subnormal results included; for large `x` it is
    /// `x`. `-inf` gives 0, `+inf` gives `+inf`, NaN stays NaN.
    ln_1p_exp, ln_1p_exp_into, Softplus = |l, x| softplus_lanes(l, x);

    /// Log sigmoid, `ln(1 / (1 + e^-x))`, in place: minus the softplus of `-x`.
    ///
    /// Error at most 2 ulp. `-inf` gives `-inf`, `+inf` gives `-0`, NaN stays NaN.
    log_sigmoid, log_sigmoid_into, LogSigmoid = |l, x| l.negated(softplus_lanes(l, l.negated(x)));

    /// Logistic sigmoid, `1 / (1 + e^-x)`, in place; the derivative of [`ln_1p_exp`].
    ///
    /// Error at most 2 ulp: for `x < 0` it is `e^x / (1 + e^x)`, which keeps the left tail accurate down to the smallest subnormal.
    /// `-inf` gives 0, `+inf` gives 1, NaN stays NaN.
    sigmoid, sigmoid_into, Sigmoid = |l, x| sigmoid_of(l, x, nonpositive_exp_lanes(l, l.nonpositive(x)));
}
