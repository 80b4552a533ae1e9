use super::elementwise::single;
use super::lanes::Backend;
use super::logarithm::Ln;

/// `ln Gamma(1 + d) / d` on `|d| <= 0.301`, near-minimax (Chebyshev fit, 50 digits), error 1.6e-19.
const ABOUT_ONE: [f64; 22] = [
    -0.5772156649015329,
    0.8224670334241132,
    -0.40068563438653115,
    0.27058080842778426,
    -0.20738555102880635,
    0.16955717699753525,
    -0.14404989674612784,
    0.12550966950293735,
    -0.11133426786539381,
    0.10009945942840877,
    -0.09095391510671282,
    0.08335374260969775,
    -0.07693575774776105,
    0.07143605720259696,
    -0.0666029209487568,
    0.06243782045481237,
    -0.059674212537338116,
    0.056371686518400486,
    -0.04592455830547176,
    0.043564454485444166,
    -0.07624879915216069,
    0.07291790834021403,
];

/// `ln Gamma(2 + d) / d` on `|d| <= 0.701`, as above, error 5e-19.
const ABOUT_TWO: [f64; 23] = [
    0.42278433509846713,
    0.3224670334241132,
    -0.0673523010531981,
    0.0205808084277826,
    -0.007385551028673049,
    0.0028905103308441817,
    -0.001192753911752639,
    0.0005096695222488968,
    -0.0002231547572539298,
    9.945754636384308e-05,
    -4.492625289028375e-05,
    2.050693743893718e-05,
    -9.439355848941126e-06,
    4.376309838292457e-06,
    -2.039909774413291e-06,
    9.502187945413517e-07,
    -4.4687967696519233e-07,
    2.2288760730080605e-07,
    -1.0563316191793718e-07,
    3.312893607838154e-08,
    -1.570643851541597e-08,
    2.1363952679828458e-08,
    -1.0242187102365627e-08,
];

/// `digamma(x) / (x - root)` in `x - 3/2` on `|x - 3/2| <= 1/2`, as above, error 5.8e-19.
const ABOUT_ROOT: [f64; 24] = [
    0.9510558760318328,
    -0.42362742128146047,
    0.24054248424078736,
    -0.14840492305391761,
    0.09498872445283,
    -0.06192213327165706,
    0.04076083394462657,
    -0.02697579684427536,
    0.017907248195969127,
    -0.011908215172584002,
    0.007927024067961237,
    -0.00528001782089874,
    0.0035180800751066694,
    -0.002344650082351321,
    0.0015635679757533885,
    -0.001042261556504223,
    0.0006899717801166841,
    -0.0004599625144612576,
    0.0003268068044141764,
    -0.0002178682145501451,
    9.173383289174792e-05,
    -6.11554261750751e-05,
    0.00012230983055406747,
    -8.153978973309418e-05,
];

/// The positive zero of digamma, in two parts (50 digits).
const ROOT: f64 = 1.4616321449683622;
const ROOT_LOW: f64 = 9.549995429965697e-17;

/// `B_2k / (2k (2k - 1))`, `k = 1..10`: Stirling's series of `ln Gamma` in `1/x^2`, over `1/x`.
const STIRLING: [f64; 10] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360_360.0,
    1.0 / 156.0,
    -3617.0 / 122_400.0,
    43867.0 / 244_188.0,
    -174_611.0 / 125_400.0,
];

/// `B_2k / 2k`, `k = 1..10`: the asymptotic series of `ln x - 1/(2x) - digamma(x)` in `1/x^2`.
const DIGAMMA_TAIL: [f64; 10] = [
    1.0 / 12.0,
    -1.0 / 120.0,
    1.0 / 252.0,
    -1.0 / 240.0,
    1.0 / 132.0,
    -691.0 / 32_760.0,
    1.0 / 12.0,
    -3617.0 / 8160.0,
    43867.0 / 14_364.0,
    -174_611.0 / 6600.0,
];

/// `ln sqrt(2 pi) - 1/2`, rounded (50 digits).
const STIRLING_CONSTANT: f64 = 0.4189385332046727;

/// Argument from which ten terms of the asymptotic series are accurate to the last place.
const FAR: f64 = 10.0;

fn horner(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |p, c| p * x + c)
}

/// Logarithm on the portable backend, so that the functions of this file are bit-identical on all backends.
fn ln(x: f64) -> f64 {
    single(Backend::Portable, Ln, x)
}

/// Log gamma function `ln Gamma(x)` for `x >= 0`.
///
/// Polynomials about the zeros at 1 and 2, the recurrence to 10, Stirling's series beyond. Error at most 5 ulp,
/// also near the zeros. 0 gives `+inf`; NaN gives NaN. Negative numbers give NaN, because no density of this project needs them.
pub fn ln_gamma(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        f64::NAN
    } else if x < 0.7 {
        horner(x, &ABOUT_TWO) * x - ln(x * (1.0 + x))
    } else if x < 1.3 {
        // Adding 0 makes the zero at 1 positive.
        (x - 1.0) * horner(x - 1.0, &ABOUT_ONE) + 0.0
    } else if x < 2.7 {
        (x - 2.0) * horner(x - 2.0, &ABOUT_TWO)
    } else if x < FAR {
        // Reduction to [1.7, 2.7): Gamma(x) = (x - 1) ... (x - n) Gamma(x - n).
        let (mut low, mut product) = (x, 1.0);
        while low >= 2.7 {
            low -= 1.0;
            product *= low;
        }
        (low - 2.0) * horner(low - 2.0, &ABOUT_TWO) + ln(product)
    } else {
        let inverse = 1.0 / x;
        let series = horner(inverse * inverse, &STIRLING) * inverse;
        (x - 0.5) * (ln(x) - 1.0) + (STIRLING_CONSTANT + series)
    }
}

/// Digamma function, the derivative of [`ln_gamma`].
///
/// A polynomial on `[1, 2]` with its zero at 1.4616 factored out, the recurrence to 10, the asymptotic series beyond.
/// Error at most 4 ulp, also near the zero. 0 gives `-inf`; negative numbers and NaN give NaN.
pub fn digamma(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x >= FAR {
        let inverse = 1.0 / x;
        let square = inverse * inverse;
        return ln(x) - (0.5 * inverse + horner(square, &DIGAMMA_TAIL) * square);
    }
    // Reduction to [1, 2): digamma(x + 1) = digamma(x) + 1/x.
    let (mut low, mut shift) = (x, 0.0);
    while low > 2.0 {
        low -= 1.0;
        shift += 1.0 / low;
    }
    if low < 1.0 {
        shift -= 1.0 / low;
        low += 1.0;
    }
    ((low - ROOT) - ROOT_LOW) * horner(low - 1.5, &ABOUT_ROOT) + shift
}
