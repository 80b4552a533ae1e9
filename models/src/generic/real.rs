//! Numbers that formulas of densities are written for: doubles, and variables with derivatives.

use std::fmt::Debug;
use std::iter::{Sum, once_with};
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use mcsa_core::numeric::scalar;

use crate::support::HALF_LOG_TAU;

/// Functions of one number, each from a function of `x` and its slope as a function of `x` and `f(x)`.
macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident = $f:expr, $slope:expr;)*) => {$(
        $(#[$doc])*
        #[inline]
        fn $name(self) -> Self {
            self.map($f, $slope)
        }
    )*};
}

/// `1 / (1 + e^-x)`. It shares the exponential with [`softplus`], so that value and slope of a logistic term cost one.
#[inline]
fn logistic(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    let numerator = if x < 0.0 { e } else { 1.0 };
    numerator / (1.0 + e)
}

/// `ln(1 + e^x)`.
#[inline]
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// The error function, by its power series near 0, where `1 - erfc(x)` would lose digits.
fn erf(x: f64) -> f64 {
    if !(x.abs() < 0.5) {
        return 1.0 - scalar::erfc(x);
    }
    let terms = (1..12).scan(x, |power, n| {
        *power *= -x * x / f64::from(n);
        Some(*power / f64::from(2 * n + 1))
    });
    std::f64::consts::FRAC_2_SQRT_PI * (x + terms.sum::<f64>())
}

/// Real number, with or without derivatives: the type that a [`GenericDensity`](super::GenericDensity) is written for.
///
/// It has the arithmetic of `f64`; a plain number stands on the right (`z * 2.0`, `-z + 1.0`) or is converted (`R::from(1.0) - z`).
/// Branches look at [`value`](Self::value). Functions have the names and the accuracy of those of `f64` and of [`mcsa_numeric::scalar`].
/// `sum()`, [`dot`](Self::dot), [`log_sum_exp`](Self::log_sum_exp) and [`log_normal`](Self::log_normal) are one operation each for
/// the gradient, so that a regression costs little.
///
/// ```
/// use mcsa_models::Real;
/// fn log_poisson<R: Real>(count: f64, log_rate: R) -> R {
///     log_rate * count - log_rate.exp() - R::from(count + 1.0).ln_gamma()
/// }
/// assert!((log_poisson(2.0, 0.0_f64) + 1.0 + 2.0_f64.ln()).abs() < 1e-15);
/// ```
pub trait Real:
    Copy
    + Debug
    + From<f64>
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
    + AddAssign
    + SubAssign
    + Sum
{
    /// The value, without derivatives.
    fn value(self) -> f64;

    /// A number with this value, and with these partial derivatives in other numbers. Use it to define functions of your own.
    ///
    /// ```
    /// use mcsa_models::Real;
    /// fn hypot<R: Real>(x: R, y: R) -> R {
    ///     let length = x.value().hypot(y.value());
    ///     R::function(length, [(x, x.value() / length), (y, y.value() / length)])
    /// }
    /// assert_eq!(hypot(3.0, 4.0), 5.0);
    /// ```
    fn function(value: f64, partials: impl IntoIterator<Item = (Self, f64)>) -> Self;

    /// Function of one number, from a function of `x` and its slope as a function of `x` and `f(x)`.
    #[inline]
    fn map(self, f: impl FnOnce(f64) -> f64, slope: impl FnOnce(f64, f64) -> f64) -> Self {
        let (x, value) = (self.value(), f(self.value()));
        Self::function(value, once_with(|| (self, slope(x, value))))
    }

    unary! {
        /// `e^x`.
        exp = f64::exp, |_, value| value;
        /// `ln x`.
        ln = f64::ln, |x, _| x.recip();
        /// `ln(1 + x)`.
        ln_1p = f64::ln_1p, |x, _| (1.0 + x).recip();
        /// The square root.
        sqrt = f64::sqrt, |_, value| 0.5 / value;
        /// `1 / x`.
        recip = f64::recip, |_, value| -value * value;
        /// The sine.
        sin = f64::sin, |x, _| x.cos();
        /// The cosine.
        cos = f64::cos, |x, _| -x.sin();
        /// The hyperbolic tangent.
        tanh = scalar::tanh, |_, value| 1.0 - value * value;
        /// The magnitude, with slope 0 at 0.
        abs = f64::abs, |x, _| if x == 0.0 { 0.0 } else { x.signum() };
        /// `1 / (1 + e^-x)`.
        sigmoid = logistic, |x, value| value * logistic(-x);
        /// `ln(1 / (1 + e^-x))`, the log likelihood of a label 1 at log odds `x`.
        log_sigmoid = |x| -softplus(-x), |x, _| logistic(-x);
        /// Softplus, `ln(1 + e^x)`.
        ln_1p_exp = softplus, |x, _| logistic(x);
        /// `ln Gamma(x)` for `x >= 0`; NaN for negative numbers.
        ln_gamma = scalar::ln_gamma, |x, _| scalar::digamma(x);
        /// The error function.
        erf = erf, |x, _| std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp();
        /// The complementary error function, `1 - erf(x)`, also accurate where it is small.
        erfc = scalar::erfc, |x, _| -std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp();
        /// `ln Phi(x)`, the log distribution function of the standard normal.
        log_ndtr = scalar::log_ndtr, |x, _| scalar::ndtr_hazard(x);
    }

    /// `x^n`.
    #[inline]
    fn powi(self, n: i32) -> Self {
        self.map(|x| x.powi(n), |x, _| if n == 0 { 0.0 } else { f64::from(n) * x.powi(n - 1) })
    }

    /// `x^exponent`.
    #[inline]
    fn powf(self, exponent: f64) -> Self {
        self.map(|x| x.powf(exponent), |x, _| exponent * x.powf(exponent - 1.0))
    }

    /// The larger of two numbers, with its derivatives; the second if one is NaN.
    #[inline]
    fn max(self, other: Self) -> Self {
        if self.value() > other.value() { self } else { other }
    }

    /// The smaller of two numbers, with its derivatives; the second if one is NaN.
    #[inline]
    fn min(self, other: Self) -> Self {
        if self.value() < other.value() { self } else { other }
    }

    /// `log N(x; mean, scale^2)`; mean and scale are plain numbers or not.
    #[inline(always)]
    fn log_normal(self, mean: impl Into<Self>, scale: impl Into<Self>) -> Self {
        let (mean, scale) = (mean.into(), scale.into());
        let inverse = scale.value().recip();
        let white = (self.value() - mean.value()) * inverse;
        let value = -0.5 * white * white - scale.value().ln() - HALF_LOG_TAU;
        let pull = white * inverse;
        Self::function(value, [(self, -pull), (mean, pull), (scale, (white * white - 1.0) * inverse)])
    }

    /// `sum_i coefficients_i x_i`, the linear predictor of a regression. Panics if the lengths differ.
    #[inline]
    fn dot(coefficients: &[f64], x: &[Self]) -> Self {
        assert_eq!(coefficients.len(), x.len(), "a coefficient per number");
        let value = coefficients.iter().zip(x).fold(0.0, |sum, (c, x)| sum + c * x.value());
        Self::function(value, coefficients.iter().zip(x).map(|(&c, &x)| (x, c)))
    }

    /// `ln sum_i e^x_i`; `-inf` of no number.
    fn log_sum_exp(x: &[Self]) -> Self {
        let top = x.iter().map(|x| x.value()).fold(f64::NEG_INFINITY, f64::max);
        if top == f64::NEG_INFINITY {
            return top.into();
        }
        let value = top + x.iter().map(|x| (x.value() - top).exp()).sum::<f64>().ln();
        Self::function(value, x.iter().map(|&x| (x, (x.value() - value).exp())))
    }
}

impl Real for f64 {
    #[inline]
    fn value(self) -> f64 {
        self
    }

    #[inline]
    fn function(value: f64, _: impl IntoIterator<Item = (Self, f64)>) -> Self {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::super::tape;
    use super::Real;
    use mcsa_testing::law::{ROUNDING, is_slope, slope};

    fn functions<R: Real>(z: &[R]) -> Vec<R> {
        let (x, y) = (z[0], z[1]);
        let mut sum = x * y;
        sum += x;
        sum -= y.exp();
        vec![
            x.exp() - y.ln() * 3.0,
            x.ln_1p() / y.sqrt(),
            x.powi(3) * y.powf(1.5) - x.recip(),
            x.sin() * y.cos() + x / y - (-x) / 2.0,
            x.tanh() + (x - y).abs() + x.max(y) * x.min(y) + 1.0,
            x.sigmoid() * y.log_sigmoid() * x.ln_1p_exp(),
            x.ln_gamma() + (x * y).ln_gamma(),
            x.erfc() * (-y).log_ndtr() + x.erf() * y.powi(0),
            (x * y).log_normal(y, x + 1.0) + x.log_normal(0.5, y) + y.log_normal(x * 2.0, 3.0),
            R::dot(&[2.0, -3.0], z) * R::dot(&[0.5, 1.5], &[x * x, y.exp()]),
            R::dot(&[1.0, 2.0, 4.0], &[R::from(1.0), y, x]) + R::dot(&[], &[]),
            R::log_sum_exp(&[x, y * y, R::from(f64::NEG_INFINITY)]) + R::log_sum_exp(&[x * y]),
            [x, y, x * y, R::from(3.0)].iter().map(|&t| t * y).sum::<R>() * sum,
            R::from(2.0),
        ]
    }

    #[test]
    fn values_are_those_of_tables() {
        // Abramowitz and Stegun 1964, table 7.1.
        for (x, known) in [(0.1, 0.112_462_916), (0.5, 0.520_499_878), (1.0, 0.842_700_793)] {
            assert!((Real::erf(x) - known).abs() < 1e-9 && Real::erf(-x) == -Real::erf(x), "{x}");
            // Both formulas, on both sides of 0.5.
            assert!((Real::erf(x) + Real::erfc(x) - 1.0).abs() < 1e-15, "{x}");
        }
        assert_eq!(Real::erf(1e-20), 1e-20 * std::f64::consts::FRAC_2_SQRT_PI);
        // A power of 0 is constant, also where a slope by the rule would be 0 times infinity.
        let mut gradient = [f64::NAN];
        tape::gradient_into(&[0.0], 0, &mut gradient, |z, _| z[0].powi(0));
        assert_eq!(gradient, [0.0]);
    }

    #[test]
    fn derivatives_are_slopes() {
        for z in [[0.7, 1.9], [2.3, 0.4], [0.11, 0.05]] {
            for (k, &value) in functions(&z).iter().enumerate() {
                let mut found = [0.0; 2];
                let by_tape = tape::gradient_into(&z, 0, &mut found, |z, _| functions(z)[k]);
                assert_eq!(by_tape, value, "function {k} at {z:?}");
                for i in 0..2 {
                    let moved = |t: f64| {
                        functions(&std::array::from_fn::<_, 2, _>(|j| if i == j { z[j] + t } else { z[j] }))
                            [k]
                    };
                    let is = |found: f64| {
                        is_slope("slope", || format!("function {k} at {z:?}"), found, slope(ROUNDING, moved))
                    };
                    assert_eq!(is(found[i]), Ok(()));
                    // Counterexample: a derivative 1e-6 too large.
                    assert!(is(found[i] + 1e-6 * (1.0 + found[i].abs())).is_err());
                }
            }
        }
    }
}
