//! Log densities and slopes of common priors on the unconstrained scale.

use std::f64::consts::{LN_2, PI};

/// Half-Cauchy prior: `log p(sigma) + z` and its slope in `z`, for `sigma = exp(z)` and this scale.
///
/// `log 2 - log(pi scale) - log(1 + (sigma / scale)^2) + z`, computed without forming the square.
pub(crate) fn half_cauchy(z: f64, scale: f64) -> (f64, f64) {
    let twice = 2.0 * (z - scale.ln());
    // Softplus and sigmoid of the same number share an exponential.
    let small = (-twice.abs()).exp();
    let (softplus, share) = (twice.max(0.0) + small.ln_1p(), 1.0 / (1.0 + small));
    (LN_2 - (PI * scale).ln() - softplus + z, if twice < 0.0 { 2.0 * share - 1.0 } else { 1.0 - 2.0 * share })
}

/// Exponential prior: `log p(sigma) + z` and its slope in `z`, for `sigma = exp(z)` and this rate.
pub(crate) fn exponential(z: f64, sigma: f64, rate: f64) -> (f64, f64) {
    (rate.ln() - rate * sigma + z, 1.0 - rate * sigma)
}

/// Cauchy prior: `log p(x)` and its slope, for location zero and this scale.
pub(crate) fn cauchy(x: f64, scale: f64) -> (f64, f64) {
    let white = x / scale;
    // If the square overflows, its logarithm is computed from log |white|.
    let log_square = if white.abs() < 1e100 { (white * white).ln_1p() } else { 2.0 * white.abs().ln() };
    (-(PI * scale).ln() - log_square, -2.0 * white / (scale * (1.0 + white * white)))
}
