//! Draws that a method ends with, and their errors.

use faer::Mat;
use mcsa_core::numeric;
use mcsa_estimators::Draws;

use crate::catalog::{Built, Truth};
use crate::quantile::quantile;

/// Draws with weights, and what the method says of them.
pub(super) struct Answer {
    /// The draws, one per column.
    pub(super) points: Mat<f64>,
    /// Weights, which sum to one.
    pub(super) weights: Vec<f64>,
    /// Logarithms of `p / q` at the draws, before smoothing; none of chains.
    pub(super) log_ratios: Vec<f64>,
    /// Effective sample size per draw.
    pub(super) share: f64,
    /// k-hat of the weights.
    pub(super) k_hat: Option<f64>,
    /// Largest R-hat of a coordinate.
    pub(super) r_hat: Option<f64>,
    /// Verdict of `mcsa::fit`: 1 for yes.
    pub(super) yes: Option<f64>,
}

/// Number of draws of the estimate of the evidence.
const EVIDENCE_DRAWS: usize = 2_000;

impl Answer {
    /// Weighted draws of q.
    pub(super) fn of(draws: Draws) -> Self {
        Self {
            share: draws.sample_size / draws.len() as f64,
            k_hat: Some(draws.shape),
            weights: draws.weights(),
            log_ratios: draws.log_ratios(),
            r_hat: None,
            yes: None,
            points: draws.points,
        }
    }

    /// Draws with equal weights.
    pub(super) fn unweighted(points: Mat<f64>) -> Self {
        let weights = vec![1.0 / points.ncols() as f64; points.ncols()];
        Self { points, weights, log_ratios: Vec::new(), share: f64::NAN, k_hat: None, r_hat: None, yes: None }
    }

    /// Errors beside the moments of the target, and diagnostics; `None` if an error is not finite.
    ///
    /// ```text
    /// answer_error = max_i |mean_i - m_i| / s_i,   spread_error = max_i |log(sd_i / s_i)|,   medians over i beside them
    /// ```
    pub(super) fn measures(&self, built: &Built) -> Option<Vec<(&'static str, f64)>> {
        let mut values = vec![("sample_share", self.share)];
        let told = [("k_hat", self.k_hat), ("r_hat", self.r_hat), ("yes", self.yes)];
        values.extend(told.into_iter().filter_map(|(name, value)| Some((name, value?))));
        if self.log_ratios.len() >= EVIDENCE_DRAWS {
            let first = &self.log_ratios[..EVIDENCE_DRAWS];
            values.push(("log_z", numeric::log_sum_exp(first) - (EVIDENCE_DRAWS as f64).ln()));
        }
        if let Truth::Moments { means, sds } = &built.truth {
            let of_means = |i: usize, mean: f64, _: f64| ((mean - means[i]) / sds[i]).abs();
            let of_sds = |i: usize, _: f64, sd: f64| (sd / sds[i]).ln().abs();
            let moments: Vec<(f64, f64)> = (0..means.len()).map(|i| self.moments(i)).collect();
            let errors = |of: &dyn Fn(usize, f64, f64) -> f64| -> Vec<f64> {
                moments.iter().enumerate().map(|(i, (mean, sd))| of(i, *mean, *sd)).collect()
            };
            for (names, mut errors) in [
                (["answer_error", "answer_median"], errors(&of_means)),
                (["spread_error", "spread_median"], errors(&of_sds)),
            ] {
                if !errors.iter().all(|error| error.is_finite()) {
                    return None;
                }
                values.push((names[0], errors.iter().copied().fold(0.0, f64::max)));
                values.push((names[1], quantile(&mut errors, 0.5)));
            }
        }
        Some(values)
    }

    /// Mean and standard deviation of coordinate `i`.
    fn moments(&self, i: usize) -> (f64, f64) {
        let average = |f: &dyn Fn(f64) -> f64| {
            let points = self.points.as_ref();
            self.weights.iter().enumerate().map(|(j, weight)| weight * f(points[(i, j)])).sum::<f64>()
        };
        let mean = average(&|z| z);
        (mean, average(&|z| (z - mean).powi(2)).sqrt())
    }
}
