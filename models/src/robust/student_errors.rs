//! Student t errors of a regression: density and derivatives.

use crate::support::HALF_LOG_TAU;

/// Student t density of a residual `r = s e` with `nu` degrees of freedom, and its derivatives.
///
/// ```text
/// l = G(nu/2) - log(2 pi)/2 - log s - (nu + 1)/2 log(1 + e^2/nu),   G(x) = log Gamma(x + 1/2) - log Gamma(x) - log(x)/2
/// ```
#[derive(Debug, Clone, Copy)]
pub struct StudentErrors {
    /// `nu`.
    pub freedom: f64,
    /// `1/s`.
    pub rate: f64,
    /// The part of the log density that depends on no residual.
    pub constant: f64,
    /// First and second derivative of `constant` in `nu`.
    pub of_freedom: [f64; 2],
}

/// Derivatives of the log density `l` of one residual, in the location `t` (`r = y - t`), in `log s`, and in `nu`.
///
/// The derivatives in `nu` omit those of the constant, which are in [`StudentErrors::of_freedom`]. The first derivative in `nu`
/// also omits `-log(1 + e^2/nu)/2`.
#[derive(Debug, Clone, Copy)]
pub struct StudentTerm {
    /// `dl/dt`.
    pub t: f64,
    /// `dl/dlog s`.
    pub scale: f64,
    /// `dl/dnu`, without the two terms named above.
    pub freedom: f64,
    /// `d^2 l/dt^2`.
    pub tt: f64,
    /// `d^2 l/dt dlog s`.
    pub t_scale: f64,
    /// `d^2 l/dt dnu`.
    pub t_freedom: f64,
    /// `d^2 l/d(log s)^2`.
    pub scale_scale: f64,
    /// `d^2 l/dlog s dnu`.
    pub scale_freedom: f64,
    /// `d^2 l/dnu^2`, without that of the constant.
    pub freedom_freedom: f64,
}

impl StudentErrors {
    /// The errors with scale `s = e^log_scale`.
    pub fn new(log_scale: f64, freedom: f64) -> Self {
        let [ratio, slope, bend] = gamma_ratio(0.5 * freedom);
        Self {
            freedom,
            rate: (-log_scale).exp(),
            constant: ratio - HALF_LOG_TAU - log_scale,
            of_freedom: [0.5 * slope, 0.25 * bend],
        }
    }

    /// The derivatives at the standardised residual `e = r / s`.
    #[inline(always)]
    pub fn term(&self, e: f64) -> StudentTerm {
        let (nu, q) = (self.freedom, e * e);
        let (above, inverse) = (nu + 1.0, 1.0 / (nu + q));
        let (share, pull) = (q * inverse, e * self.rate * inverse);
        let turned = -2.0 * above * nu * inverse;
        StudentTerm {
            t: above * pull,
            scale: above * share - 1.0,
            freedom: 0.5 * above * share / nu,
            tt: above * (q - nu) * (self.rate * inverse).powi(2),
            t_scale: turned * pull,
            t_freedom: (q - 1.0) * inverse * pull,
            scale_scale: turned * share,
            scale_freedom: (q - 1.0) * inverse * share,
            freedom_freedom: 0.5 * share * (2.0 - above * (inverse + 1.0 / nu)) / nu,
        }
    }
}

/// `G(x) = log Gamma(x + 1/2) - log Gamma(x) - log(x)/2` for `x > 0`, and its first two derivatives.
///
/// From the asymptotic series `-sum_k (1 - 4^-k) B_2k / (k (2k - 1) x^(2k - 1))` at `x + n >= 12`, where six terms leave an error of
/// 2e-16, and the recurrence of the gamma function. No cancellation for large `x`.
fn gamma_ratio(x: f64) -> [f64; 3] {
    /// `(1 - 4^-k) B_2k / (k (2k - 1))`.
    const SERIES: [f64; 6] =
        [1.0 / 8.0, -1.0 / 192.0, 1.0 / 640.0, -17.0 / 14336.0, 31.0 / 18432.0, -691.0 / 180_224.0];
    let steps = (12.0 - x).ceil().max(0.0);
    let far = x + steps;
    let mut out = [0.0; 3];
    for (k, coefficient) in SERIES.iter().enumerate().rev() {
        let power = 2.0 * k as f64 + 1.0;
        let term = -coefficient * far.powf(-power);
        out[0] += term;
        out[1] -= power * term / far;
        out[2] += power * (power + 1.0) * term / far / far;
    }
    if steps > 0.0 {
        let mut product = 1.0;
        for j in 0..steps as usize {
            let (low, high) = (x + j as f64, x + j as f64 + 0.5);
            product *= low / high;
            out[1] += 0.5 / (low * high);
            out[2] -= 0.5 * (low + high) / (low * high).powi(2);
        }
        out[0] += product.ln() + 0.5 * (far / x).ln();
        out[1] += 0.5 / far - 0.5 / x;
        out[2] += 0.5 / (x * x) - 0.5 / (far * far);
    }
    out
}

/// Degrees of freedom `nu = 2 + e^u` and `dnu/du`.
pub fn freedom(u: f64) -> (f64, f64) {
    let excess = u.exp();
    (2.0 + excess, excess)
}

/// Largest magnitude of the logarithm of a scale or of `nu - 2` inside the support. Beyond it a square or a product would
/// overflow.
pub const MOST: f64 = 300.0;

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::numeric::scalar::{digamma, ln_gamma};
    use mcsa_testing::law::{ROUNDING, is_slope, slope};

    #[test]
    fn ratio_of_gamma_functions() {
        for x in [0.05, 0.5, 1.0, 1.7, 6.0, 11.99, 12.0, 40.0] {
            let [ratio, slope_found, bend] = gamma_ratio(x);
            let known = ln_gamma(x + 0.5) - ln_gamma(x) - 0.5 * x.ln();
            assert!((ratio - known).abs() < 3e-14 * (1.0 + ln_gamma(x).abs()), "{x}: {ratio} {known}");
            let known = digamma(x + 0.5) - digamma(x) - 0.5 / x;
            assert!((slope_found - known).abs() < 1e-14 * (1.0 + 1.0 / x), "{x}: {slope_found} {known}");
            let known = slope(ROUNDING, |t| gamma_ratio(x * t.exp())[1]);
            assert_eq!(is_slope("bend", || format!("{x}"), bend * x, known), Ok(()));
        }
        let [ratio, slope_found, bend] = gamma_ratio(1e8);
        assert!((ratio * 8e8 + 1.0).abs() < 1e-15 && (slope_found * 8e16 - 1.0).abs() < 1e-15);
        assert!((bend * 4e24 + 1.0).abs() < 1e-15);
    }
}
