use super::elementwise::{Map, elementwise};
use super::lanes::Lanes;
use super::scaled_erfc::{erfcx_lanes, exp_minus_square_lanes, exp_square_lanes};

/// `erf(x)/x` in `w = x^2` on `[0, 1]`, degree 12, near-minimax (Chebyshev fit, 50 digits), error 1.3e-19.
const ERF: [f64; 13] = [
    core::f64::consts::FRAC_2_SQRT_PI,
    -0.3761263890318375,
    0.11283791670954879,
    -0.026866170645076792,
    0.0052239776248180145,
    -0.000854832698083379,
    0.0001205533111164271,
    -1.4925595266831182e-05,
    1.6461000484121368e-06,
    -1.6350312701054695e-07,
    1.4659775274047436e-08,
    -1.1372848856791674e-09,
    5.957176147748911e-11,
];

/// Rounding error of `ERF[0]`: `2/sqrt(pi) - ERF[0]`.
const ERF_LOW: f64 = 1.533545961316588e-17;

pub(crate) struct Erf;

impl Map for Erf {
    #[inline(always)]
    fn apply<L: Lanes>(l: L, x: L::F) -> L::F {
        let t = l.magnitude(x);
        let w = l.mul(t, t);
        let rest = l.fma(l.polynomial(w, &ERF[1..]), w, l.num(ERF_LOW));
        let small = l.fma(t, rest, l.mul(t, l.num(ERF[0])));
        let tail = l.mul(exp_minus_square_lanes(l, t), erfcx_lanes(l, t));
        let large = l.sub(l.num(1.0), tail);
        l.with_sign_of(l.choose(l.less(t, l.num(1.0)), small, large), x)
    }
}

pub(crate) struct Erfc;

impl Map for Erfc {
    #[inline(always)]
    fn apply<L: Lanes>(l: L, x: L::F) -> L::F {
        let t = l.magnitude(x);
        let tail = l.mul(exp_minus_square_lanes(l, t), erfcx_lanes(l, t));
        l.choose(l.less(x, l.num(0.0)), l.sub(l.num(2.0), tail), tail)
    }
}

pub(crate) struct Erfcx;

impl Map for Erfcx {
    #[inline(always)]
    fn apply<L: Lanes>(l: L, x: L::F) -> L::F {
        let right = erfcx_lanes(l, l.magnitude(x));
        let left = l.sub(l.mul(l.num(2.0), exp_square_lanes(l, x)), right);
        l.choose(l.less(x, l.num(0.0)), left, right)
    }
}

elementwise! {
    /// Error function `2/sqrt(pi) int_0^x e^(-t^2) dt`, in place.
    ///
    /// A polynomial in `x^2` below 1, `1 - erfc` above. Error at most 2 ulp. NaN stays NaN, `-0` stays `-0`.
    erf, erf_into, Erf
}

elementwise! {
    /// Complementary error function `1 - erf(x)`, in place; accurate down to the smallest subnormal result, near `x = 27.2`.
    ///
    /// ```text
    /// erfc(x) = e^(-x^2) erfcx(x)  (x >= 0),   erfc(x) = 2 - erfc(-x)  (x < 0)
    /// ```
    /// Error at most 4 ulp. `-inf` gives 2, `+inf` gives 0, NaN stays NaN.
    erfc, erfc_into, Erfc
}

elementwise! {
    /// Scaled complementary error function `e^(x^2) erfc(x)`, in place.
    ///
    /// ```text
    /// erfcx(t) = P(y) / (1/2 + t),   y = (t - 15/4)/(t + 15/4)   (t >= 0)
    /// erfcx(x) = 2 e^(x^2) - erfcx(-x)                          (x < 0)
    /// ```
    /// Error at most 3 ulp. It overflows left of -26.63; `+inf` gives 0, NaN stays NaN.
    erfcx, erfcx_into, Erfcx
}
