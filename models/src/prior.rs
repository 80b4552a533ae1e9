//! Priors that several models share, on the unconstrained scale: a value and its slope.

use std::f64::consts::{LN_2, PI};

use mcsa::numeric::scalar::{ln_1p_exp, sigmoid};

/// `log p(sigma) + z` and its slope in `z`, for `sigma = exp(z)` half-Cauchy of this scale.
///
/// `log 2 - log(pi scale) - log(1 + (sigma / scale)^2) + z`, the square never formed.
pub(crate) fn half_cauchy(z: f64, scale: f64) -> (f64, f64) {
    let twice = 2.0 * (z - scale.ln());
    (LN_2 - (PI * scale).ln() - ln_1p_exp(twice) + z, 1.0 - 2.0 * sigmoid(twice))
}

/// `log p(sigma) + z` and its slope in `z`, for `sigma = exp(z)` exponential of this rate.
pub(crate) fn exponential(z: f64, sigma: f64, rate: f64) -> (f64, f64) {
    (rate.ln() - rate * sigma + z, 1.0 - rate * sigma)
}

/// `log p(x)` and its slope, for `x` Cauchy of this scale around zero.
pub(crate) fn cauchy(x: f64, scale: f64) -> (f64, f64) {
    let white = x / scale;
    // Where the square overflows, its logarithm does not.
    let log_square = if white.abs() < 1e100 { (white * white).ln_1p() } else { 2.0 * white.abs().ln() };
    (-(PI * scale).ln() - log_square, -2.0 * white / (scale * (1.0 + white * white)))
}
