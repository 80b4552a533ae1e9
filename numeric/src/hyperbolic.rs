use super::elementwise::{Map, elementwise};
use super::exponential::split;
use super::lanes::Lanes;

/// Value of `-2 |x|` below which the hyperbolic tangent rounds to 1: `2 e^-40 < 2^-56`.
const SATURATED: f64 = -40.0;

pub(crate) struct Tanh;

impl Map for Tanh {
    #[inline(always)]
    fn apply<L: Lanes>(l: L, x: L::F) -> L::F {
        let minus = l.nonpositive(x);
        let s = split(l, l.at_least(l.num(SATURATED), l.add(minus, minus)));
        // t = e^(-2|x|) - 1, in (-1, 0]
        let power = l.power_of_two(s.shifted);
        let t = l.fma(power, s.q, l.sub(power, l.num(1.0)));
        l.with_sign_of(l.div(t, l.add(l.num(2.0), t)), x)
    }
}

elementwise! {
    /// Hyperbolic tangent, in place.
    ///
    /// ```text
    /// tanh |x| = -t / (2 + t),   t = e^(-2|x|) - 1
    /// ```
    /// Error at most 3 ulp. Infinities give 1 with their sign, NaN stays NaN, `-0` stays `-0`.
    ///
    /// ```
    /// let mut x = [0.0, f64::NEG_INFINITY];
    /// mcsa_numeric::tanh(&mut x);
    /// assert_eq!(x, [0.0, -1.0]);
    /// ```
    tanh, tanh_into, Tanh
}
