use super::elementwise::elementwise;
use super::error_function::split_minus_square;
use super::exponential::{LN_2_HIGH, LN_2_LOW, Split, times_exp};
use super::lanes::Lanes;
use super::logarithm::{EXPONENT_BITS, TWO_52, atanh_lanes};

/// `ln sqrt(2 pi)` = 0.918938533204672741780329736405617639861...
pub const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_7;

/// `1/sqrt(2 pi)`, rounded (50 digits).
pub(crate) const INVERSE_ROOT_2_PI: f64 = 0.398_942_280_401_432_7;

/// Coefficients of `N` in `e^(z^2/2) Phi(-z) = (1/2 + z N(z)/D(z)) / (1 + z)`, `z >= 0`, near-minimax in `(z - 4)/(z + 4)` (reweighted
/// least squares, 90 digits), error 4.6e-18; 8.7e-18 with rounded coefficients. Of seven common factors of `N` and `D`, 1.15 gave the
/// smallest rounding errors.
const MILLS_OVER: [f64; 11] = [
    0.11621637753835308,
    0.12301018509282863,
    0.05015565178764979,
    0.002025998450946601,
    -0.007664550098834131,
    -0.004262144306677667,
    -0.0012886862522635326,
    -0.0002546602386506449,
    -3.357777970111928e-05,
    -2.7698798029019475e-06,
    -1.1298173571892805e-07,
];
/// Coefficients of `D`, positive, so that nothing cancels.
const MILLS_UNDER: [f64; 12] = [
    1.15,
    2.912135843986293,
    3.4566748663118263,
    2.5445655015219124,
    1.2942256785215027,
    0.4791148735809886,
    0.1322463307082977,
    0.027350982106128376,
    0.004180075393158053,
    0.00045347397975699106,
    3.182235011426756e-05,
    1.1179921352641503e-06,
];

/// Argument beyond which Mills' ratio is not needed: there `ln Phi(z)` is `-z^2/2` to the last place.
const FAR: f64 = 1e15;

/// Intermediate results that `log_ndtr` and its derivative share: `e^(z^2/2) Phi(-|z|) = over / under`.
struct Tail<L: Lanes> {
    left: L::M,
    magnitude: L::F,
    over: L::F,
    under: L::F,
    /// Parts of `e^(-z^2/2)`.
    density: Split<L>,
    /// `-e^(-z^2/2) over`.
    minus_tail: L::F,
}

/// Numerator and denominator of Mills' ratio over `sqrt(2 pi)`, `e^(z^2/2) Phi(-z) = (D/2 + z N) / (D + z D)`, for `0 <= z <= FAR`.
/// Rounding errors of `D` cancel in the ratio, and those of `z N`, a tenth of `D` at most, are small.
#[inline(always)]
pub(crate) fn mills_lanes<L: Lanes>(l: L, z: L::F) -> (L::F, L::F) {
    let (n, d) = (l.polynomial(z, &MILLS_OVER), l.polynomial(z, &MILLS_UNDER));
    (l.fma(n, z, l.mul(d, l.num(0.5))), l.fma(d, z, d))
}

#[inline(always)]
fn tail<L: Lanes>(l: L, z: L::F) -> Tail<L> {
    let magnitude = l.at_most(l.num(FAR), l.magnitude(z));
    let (over, under) = mills_lanes(l, magnitude);
    let density = split_minus_square(l, z, 0.5);
    let minus_tail = times_exp(l, l.negated(over), &density);
    Tail { left: l.less(z, l.num(0.0)), magnitude, over, under, density, minus_tail }
}

#[inline(always)]
fn log_ndtr_of<L: Lanes>(l: L, z: L::F, t: &Tail<L>) -> L::F {
    // The logarithm of a/b is 2 atanh((a - b)/(a + b)). For z >= 0, a/b is (under - e^(-z^2/2) over) / under. For z < 0 it is over/under
    // times the power of two 2^k for which it lies between 0.74 and 1.86: (3/4 - z) over/under is between 0.37 and 0.47.
    let zero = l.num(0.0);
    let power = l.and(l.bits(l.fma(l.num(4.0), t.magnitude, l.num(3.0))), l.int(EXPONENT_BITS));
    let minus_k = l.sub(l.num(TWO_52 + 1023.0), l.float(l.or(l.shr_52(power), l.int(TWO_52.to_bits()))));
    let over = l.choose(t.left, l.mul(l.float(power), t.over), t.minus_tail);
    let above = l.sub(over, l.choose(t.left, t.under, zero));
    let below = l.add(over, l.choose(t.left, t.under, l.add(t.under, t.under)));
    let log = atanh_lanes(l, l.div(above, below));
    let minus_k = l.choose(t.left, minus_k, zero);
    let log = l.fma(minus_k, l.num(LN_2_HIGH), l.fma(minus_k, l.num(LN_2_LOW), log));
    let quadratic = l.mul(z, l.num(-0.5));
    l.choose(t.left, l.fma(quadratic, z, log), log)
}

#[inline(always)]
fn ndtr_hazard_of<L: Lanes>(l: L, z: L::F, t: &Tail<L>) -> L::F {
    let slope = l.mul(t.under, l.num(INVERSE_ROOT_2_PI));
    let slope = l.choose(t.left, slope, times_exp(l, slope, &t.density));
    let under = l.choose(t.left, t.over, l.add(t.under, t.minus_tail));
    // For very negative z the result is -z to the last place.
    l.choose(l.less(z, l.num(-1e10)), l.negated(z), l.div(slope, under))
}

elementwise! {
    /// `ln Phi(z)`, the log distribution function of the standard normal, in place: the probit log likelihood.
    ///
    /// ```text
    /// z <  0:  -z^2/2 + ln(A(-z)/B(-z)),   A(z)/B(z) = e^(z^2/2) Phi(-z) for z >= 0, two polynomials
    /// z >= 0:  ln(1 - e^(-z^2/2) A(z)/B(z)),   ln(a/b) = 2 atanh((a - b)/(a + b))
    /// ```
    /// Error at most 4 ulp everywhere. For `z > 38` the result is `-Phi(-z)` down to the smallest subnormal. For very negative
    /// `z` it is `-z^2/2 - ln(-z) - ln sqrt(2 pi)` until the square overflows. `-inf` gives `-inf`, `+inf` gives 0, NaN stays
    /// NaN.
    log_ndtr, log_ndtr_into, LogNdtr = |l, z| log_ndtr_of(l, z, &tail(l, z));

    /// Hazard rate of the standard normal at `-z`, `phi(z) / Phi(z)`, in place; the derivative of [`log_ndtr`].
    ///
    /// Error at most 4 ulp. For very negative `z` it is `-z`, for large `z` the density `phi(z)`. NaN stays NaN.
    ndtr_hazard, ndtr_hazard_into, NdtrHazard = |l, z| ndtr_hazard_of(l, z, &tail(l, z));
}
