//! Bounds of score estimators with a chain that is kept (MCMC-SE).

use super::rate;

/// The bias of one chain's `n` states in a row, from any start (MCMC-SE, eq. 29).
///
/// ```text
/// (L / n) (w* - 1) (1 - r^n)  =  (L / n) (r + r^2 + .. + r^n)
/// ```
/// Attained at the atom of the largest weight as its probability vanishes.
///
/// ```
/// use mcsa_theory::bounds::mcmc_se::{parallel_bias, sequential_bias};
/// assert_eq!(sequential_bias(2.0, 4.0, 1), parallel_bias(2.0, 4.0));
/// assert!(sequential_bias(2.0, 4.0, 10) < parallel_bias(2.0, 4.0));
/// ```
pub fn sequential_bias(range: f64, w_star: f64, n: usize) -> f64 {
    range * (w_star - 1.0) * (1.0 - rate(w_star).powi(n as i32)) / n as f64
}

/// The same without the remainder `O(w*^-2)`, as it is read off (MCMC-SE, Thm. 1). No bound for `n >= 3`: negative
/// for `n > 2 w*`.
pub fn sequential_bias_as_printed(range: f64, w_star: f64, n: usize) -> f64 {
    range * (1.0 - n as f64 / (2.0 * w_star))
}

/// Two more terms of the same series, which is a bound for every `w* >= 1` by Bonferroni's inequality.
///
/// ```text
/// L (1 - (n + 1) / (2 w*) + (n^2 - 1) / (6 w*^2))
/// ```
pub fn sequential_bias_series(range: f64, w_star: f64, n: usize) -> f64 {
    let n = n as f64;
    range * (1.0 - (n + 1.0) / (2.0 * w_star) + (n * n - 1.0) / (6.0 * w_star * w_star))
}

/// The bias of one transition of parallel chains, from any starts: `L (1 - 1 / w*)` (MCMC-SE, Thm. 2).
pub fn parallel_bias(range: f64, w_star: f64) -> f64 {
    range * rate(w_star)
}

/// The rate of conditional importance sampling with `candidates` in all (MCMC-SE, Thm. 3).
///
/// ```text
/// 1 - (N - 1) / (2 w* + N - 2)
/// ```
pub fn cis_rate(w_star: f64, candidates: usize) -> f64 {
    1.0 - (candidates as f64 - 1.0) / (2.0 * w_star + candidates as f64 - 2.0)
}

/// The bias of conditional importance sampling, from any start (MCMC-SE, Thm. 3).
pub fn cis_bias(range: f64, w_star: f64, candidates: usize) -> f64 {
    range * cis_rate(w_star, candidates)
}

/// The bias of one transition by its score's second moment `C` and the divergence, as printed (MCMC-SE, Thm. 4).
/// No bound: it must have the root of `C`, and it leaves out what a rejection keeps.
pub fn parallel_bias_by_divergence_as_printed(second_moment: f64, chi_squared: f64, w_star: f64) -> f64 {
    second_moment * (chi_squared + rate(w_star).powi(2)).sqrt()
}

/// The bias of one transition by the score's variance and Neyman's divergence `E_p (1/w - 1)^2`.
///
/// ```text
/// sqrt(V_p s) sqrt(chi^2 + r^2) + r sup |s - E_p s|
/// ```
pub fn parallel_bias_by_divergence(variance: f64, chi_squared: f64, w_star: f64, farthest: f64) -> f64 {
    variance.sqrt() * (chi_squared + rate(w_star).powi(2)).sqrt() + rate(w_star) * farthest
}
