//! Bounds on score estimators with a persistent chain (MCMC-SE).

use super::rate;

/// Bias bound of the average of one chain's `n` successive states, from any start (MCMC-SE, eq. 29).
///
/// ```text
/// (L / n) (w* - 1) (1 - r^n)  =  (L / n) (r + r^2 + .. + r^n)
/// ```
/// Attained from the atom of the largest weight in the limit where its target probability vanishes.
///
/// ```
/// use mcsa_theory::bounds::mcmc_se::{parallel_bias, sequential_bias};
/// assert_eq!(sequential_bias(2.0, 4.0, 1), parallel_bias(2.0, 4.0));
/// assert!(sequential_bias(2.0, 4.0, 10) < parallel_bias(2.0, 4.0));
/// ```
pub fn sequential_bias(range: f64, w_star: f64, n: usize) -> f64 {
    range * (w_star - 1.0) * (1.0 - rate(w_star).powi(n as i32)) / n as f64
}

/// Printed bias bound of one chain, without its remainder `O(w*^-2)` (MCMC-SE, Thm. 1). Not a bound for `n >= 3`: negative
/// for `n > 2 w*`.
pub fn sequential_bias_as_printed(range: f64, w_star: f64, n: usize) -> f64 {
    range * (1.0 - n as f64 / (2.0 * w_star))
}

/// Bias bound of one chain with two more terms of the series: holds for every `w* >= 1` by Bonferroni's inequality.
///
/// ```text
/// L (1 - (n + 1) / (2 w*) + (n^2 - 1) / (6 w*^2))
/// ```
pub fn sequential_bias_series(range: f64, w_star: f64, n: usize) -> f64 {
    let n = n as f64;
    range * (1.0 - (n + 1.0) / (2.0 * w_star) + (n * n - 1.0) / (6.0 * w_star * w_star))
}

/// Bias bound of one transition of parallel chains, from any starts: `L (1 - 1 / w*)` (MCMC-SE, Thm. 2).
pub fn parallel_bias(range: f64, w_star: f64) -> f64 {
    range * rate(w_star)
}

/// Convergence rate of conditional importance sampling with `candidates` in all (MCMC-SE, Thm. 3).
///
/// ```text
/// 1 - (N - 1) / (2 w* + N - 2)
/// ```
pub fn cis_rate(w_star: f64, candidates: usize) -> f64 {
    1.0 - (candidates as f64 - 1.0) / (2.0 * w_star + candidates as f64 - 2.0)
}

/// Bias bound of conditional importance sampling, from any start (MCMC-SE, Thm. 3).
pub fn cis_bias(range: f64, w_star: f64, candidates: usize) -> f64 {
    range * cis_rate(w_star, candidates)
}

/// Printed bias bound of one transition from the second moment `C` of the score and the divergence (MCMC-SE, Thm. 4).
/// Not a bound: it needs the root of `C`, and it omits the score that a rejection keeps.
pub fn parallel_bias_by_divergence_as_printed(second_moment: f64, chi_squared: f64, w_star: f64) -> f64 {
    second_moment * (chi_squared + rate(w_star).powi(2)).sqrt()
}

/// Bias bound of one transition from the score's variance and Neyman's divergence `E_p (1/w - 1)^2`.
///
/// ```text
/// sqrt(V_p s) sqrt(chi^2 + r^2) + r sup |s - E_p s|
/// ```
pub fn parallel_bias_by_divergence(variance: f64, chi_squared: f64, w_star: f64, farthest: f64) -> f64 {
    variance.sqrt() * (chi_squared + rate(w_star).powi(2)).sqrt() + rate(w_star) * farthest
}
