use super::exponential::{HIGHEST, exp_of_sum_lanes};
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

/// `erfcx(z/sqrt 2)/2 (3/4 + z)` in `y = (z - 21/4)/(z + 21/4)`, as above, error 1.8e-18: the same function in the units of
/// the normal distribution, without the rounding of `z/sqrt 2`.
const NORMAL_SERIES: [f64; 25] = [
    0.44092938511615726,
    -0.05550488680881589,
    0.005440921005558092,
    0.026376291479756515,
    -0.03666670469495905,
    0.031328748572302306,
    -0.01978049868629877,
    0.009376223641389006,
    -0.003092410642242986,
    0.00048300586659102035,
    0.00013111766767168656,
    -9.660584312599296e-05,
    1.227177652463299e-05,
    8.97256471120027e-06,
    -3.440759835895279e-06,
    -6.42835288015715e-07,
    5.778177462783766e-07,
    3.438325320146033e-08,
    -9.074211575605708e-08,
    -7.635412262913733e-10,
    1.411737550186454e-08,
    -5.868456213990652e-11,
    -1.9374633122798356e-09,
    2.1687788875577053e-12,
    1.6259868154080207e-10,
];

/// Rounding error of `NORMAL_SERIES[0]`.
const NORMAL_LOW: f64 = -2.092751729118671e-17;

/// Argument of which a half line is taken to end: beyond it the variable is 1.
const FAR: f64 = 1.2e18;

/// `P((t - centre)/(t + centre))` for `0 <= t <= FAR`.
#[inline(always)]
fn series_of<L: Lanes>(l: L, t: L::F, centre: f64, series: &[f64; 25], low: f64) -> L::F {
    let one = l.num(1.0);
    let inverse = l.div(one, l.add(t, l.num(centre)));
    let y = l.mul(l.sub(t, l.num(centre)), inverse);
    // One Newton step on y (t + centre) = t - centre: near t = 0 the result changes faster than y, which must be more accurate.
    let residual = l.exact_fma(l.add(y, one), l.num(-centre), t);
    let residual = l.exact_fma(l.negated(y), t, residual);
    let y = l.fma(residual, inverse, y);
    l.add(l.fma(l.polynomial(y, &series[1..]), y, l.num(low)), l.num(series[0]))
}

/// `e^(t^2) erfc(t)` for `t >= 0`.
#[inline(always)]
pub(crate) fn erfcx_lanes<L: Lanes>(l: L, t: L::F) -> L::F {
    // The bound avoids infinity / infinity.
    l.div(series_of(l, l.at_most(l.num(FAR), t), 3.75, &SERIES, LOW), l.add(l.num(0.5), t))
}

/// Numerator and denominator of `Phi(-z) e^(z^2/2) = erfcx(z/sqrt 2)/2` for `z >= 0`, Mills' ratio over `sqrt(2 pi)`: the first lies
/// between 0.37 and 0.46, the second is `3/4 + z`, at most `FAR`.
#[inline(always)]
pub(crate) fn mills_lanes<L: Lanes>(l: L, z: L::F) -> (L::F, L::F) {
    let z = l.at_most(l.num(FAR), z);
    (series_of(l, z, 5.25, &NORMAL_SERIES, NORMAL_LOW), l.add(l.num(0.75), z))
}

/// `e^(-t^2)`, with the square computed in twice the working precision: the rounding of `t^2` alone would cause an error of `t^2`
/// ulp.
#[inline(always)]
pub(crate) fn exp_minus_square_lanes<L: Lanes>(l: L, t: L::F) -> L::F {
    exp_minus_product(l, l.at_most(l.num(1e3), l.magnitude(t)), 1.0)
}

/// `e^(-z^2/2)`, as [`exp_minus_square_lanes`].
#[inline(always)]
pub(crate) fn exp_minus_half_square_lanes<L: Lanes>(l: L, z: L::F) -> L::F {
    exp_minus_product(l, l.at_most(l.num(1e3), l.magnitude(z)), 0.5)
}

/// `e^(-factor t^2)` for `0 <= t <= 1000` and a power of two.
#[inline(always)]
fn exp_minus_product<L: Lanes>(l: L, t: L::F, factor: f64) -> L::F {
    let scaled = l.mul(t, l.num(-factor));
    let product = l.mul(t, scaled);
    exp_of_sum_lanes(l, product, l.exact_fma(t, scaled, l.negated(product)))
}

/// `e^(t^2)`, as [`exp_minus_square_lanes`].
#[inline(always)]
pub(crate) fn exp_square_lanes<L: Lanes>(l: L, t: L::F) -> L::F {
    // Beyond 26.7 the square is larger than 709.8, and the result overflows.
    let t = l.at_most(l.num(26.7), l.magnitude(t));
    let square = l.mul(t, t);
    let low = l.exact_fma(t, t, l.negated(square));
    exp_of_sum_lanes(l, l.at_most(l.num(HIGHEST), square), low)
}
