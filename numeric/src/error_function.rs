use super::elementwise::elementwise;
use super::exponential::{Split, join, split_of_sum};
use super::lanes::Lanes;

/// `erfcx(t) (1/2 + t)` in `y = (t - 15/4)/(t + 15/4)` on `[-1, 1]`, that is `t >= 0`; degree 24, near-minimax (Chebyshev
/// fit, 50 digits), error 6.4e-18. The variable and the factor are those of Shepherd and Laframboise (1981).
const SERIES: [f64; 25] = [
    0.6187563154189137,
    -0.07012029929277348,
    0.0017927077427318874,
    0.04113836924507258,
    -0.054401965070858926,
    0.04615216058018938,
    -0.029346699295106183,
    0.014181138709470333,
    -0.004873289776252122,
    0.0008778129265008629,
    0.00014685681714250406,
    -0.00014507704048976355,
    2.5824605695351427e-05,
    1.1192120157112218e-05,
    -5.722206219585861e-06,
    -4.867809507591331e-07,
    8.76028985083159e-07,
    -2.8607986279954937e-08,
    -1.295534843898329e-07,
    1.1630956638348283e-08,
    1.9482726274492983e-08,
    -1.8717840168172915e-09,
    -2.64214348981571e-09,
    1.5551553599195826e-10,
    2.217479535004814e-10,
];

/// Rounding error of `SERIES[0]`.
const LOW: f64 = 5.273080124862724e-17;

/// Argument of which a half line is taken to end: beyond it the variable is 1.
const FAR: f64 = 1.2e18;

/// `P((t - 15/4)/(t + 15/4))` for `0 <= t <= FAR`.
#[inline(always)]
fn series_of<L: Lanes>(l: L, t: L::F) -> L::F {
    let (one, centre) = (l.num(1.0), l.num(3.75));
    let inverse = l.div(one, l.add(t, centre));
    let y = l.mul(l.sub(t, centre), inverse);
    // One Newton step on y (t + centre) = t - centre: near t = 0 the result changes faster than y, which must be more accurate.
    let residual = l.exact_fma(l.add(y, one), l.num(-3.75), t);
    let residual = l.exact_fma(l.negated(y), t, residual);
    let y = l.fma(residual, inverse, y);
    l.add(l.fma(l.polynomial(y, &SERIES[1..]), y, l.num(LOW)), l.num(SERIES[0]))
}

/// `e^(t^2) erfc(t)` for `t >= 0`.
#[inline(always)]
fn erfcx_lanes<L: Lanes>(l: L, t: L::F) -> L::F {
    // The bound avoids infinity / infinity.
    l.div(series_of(l, l.at_most(l.num(FAR), t)), l.add(l.num(0.5), t))
}

/// Parts of `e^(-factor t^2)` for a power of two, with `|t|` limited to 1000 and the square computed in twice the working precision: the
/// rounding of `t^2` alone would cause an error of `t^2` ulp.
#[inline(always)]
pub(crate) fn split_minus_square<L: Lanes>(l: L, t: L::F, factor: f64) -> Split<L> {
    let t = l.at_most(l.num(1e3), l.magnitude(t));
    let scaled = l.mul(t, l.num(-factor));
    let product = l.mul(t, scaled);
    split_of_sum(l, product, l.exact_fma(t, scaled, l.negated(product)))
}

elementwise! {
    /// Complementary error function `1 - erf(x)`, in place; accurate down to the smallest subnormal result, near `x = 27.2`.
    ///
    /// ```text
    /// erfc(x) = e^(-x^2) erfcx(x)  (x >= 0),   erfc(x) = 2 - erfc(-x)  (x < 0)
    /// ```
    /// Error at most 4 ulp. `-inf` gives 2, `+inf` gives 0, NaN stays NaN.
    erfc, erfc_into, Erfc = |l, x| {
        let t = l.magnitude(x);
        let tail = l.mul(join(l, split_minus_square(l, t, 1.0)), erfcx_lanes(l, t));
        l.choose(l.less(x, l.num(0.0)), l.sub(l.num(2.0), tail), tail)
    };
}
