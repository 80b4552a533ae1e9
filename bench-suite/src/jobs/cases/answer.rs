//! Draws that a method ends with, and their errors.

use faer::Mat;
use mcsa_core::numeric;
use mcsa_estimators::Draws;

use crate::catalog::{Built, LEVELS, Truth};
use mcsa_diagnostics::quantile;

/// Draws with weights, and the diagnostics of the method.
pub(super) struct Answer {
    /// The draws, one per column.
    pub(super) points: Mat<f64>,
    /// Weights, which sum to one.
    pub(super) weights: Vec<f64>,
    /// Logarithms of `p / q` at the draws, before smoothing; none of chains.
    pub(super) log_ratios: Vec<f64>,
    /// Effective sample size per draw.
    pub(super) share: f64,
    pub(super) k_hat: Option<f64>,
    /// Largest R-hat of a coordinate.
    pub(super) r_hat: Option<f64>,
    /// Verdict of `mcsa::fit`: 1 for yes.
    pub(super) yes: Option<f64>,
}

/// A target with what is known of it. Quantiles of its margins are computed once, because each is a search.
pub(super) struct Known {
    pub(super) built: Built,
    quantiles: Option<Vec<[f64; LEVELS]>>,
}

impl Known {
    pub(super) fn of(built: Built) -> Self {
        Self { quantiles: built.margins.as_ref().map(|margins| margins()), built }
    }
}

/// Number of draws of the estimate of the evidence.
const EVIDENCE_DRAWS: usize = 2_000;

impl Answer {
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

    pub(super) fn unweighted(points: Mat<f64>) -> Self {
        let weights = vec![1.0 / points.ncols() as f64; points.ncols()];
        Self { points, weights, log_ratios: Vec::new(), share: f64::NAN, k_hat: None, r_hat: None, yes: None }
    }

    /// Errors beside the moments of the target, and diagnostics; `None` if an error is not finite.
    ///
    /// ```text
    /// answer_error = max_i |mean_i - m_i| / s_i,   spread_error = max_i |log(sd_i / s_i)|,   medians over i beside them
    /// wasserstein = mean over i and over levels 5, 10, .., 95 % of |difference of quantiles| / s_i
    /// ```
    pub(super) fn measures(&self, known: &Known) -> Option<Vec<(&'static str, f64)>> {
        let Known { built, quantiles } = known;
        let mut values = vec![("sample_share", self.share)];
        let diagnostics = [("k_hat", self.k_hat), ("r_hat", self.r_hat), ("yes", self.yes)];
        values.extend(diagnostics.into_iter().filter_map(|(name, value)| Some((name, value?))));
        if self.log_ratios.len() >= EVIDENCE_DRAWS {
            let first = &self.log_ratios[..EVIDENCE_DRAWS];
            let log_z = numeric::log_sum_exp(first) - (EVIDENCE_DRAWS as f64).ln();
            values.push(("log_z", log_z));
            values.extend(built.log_z.map(|known| ("evidence_error", (log_z - known).abs())));
        }
        if let Some(quantiles) = quantiles {
            let distances = quantiles.iter().enumerate().zip(self.sds(built));
            let each = distances.map(|((i, quantiles), sd)| self.distance(i, quantiles) / sd);
            let distance = each.sum::<f64>() / quantiles.len() as f64;
            if !distance.is_finite() {
                return None;
            }
            values.push(("wasserstein", distance));
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

    /// Standard deviations of the target; 1 where it has none.
    fn sds(&self, built: &Built) -> Vec<f64> {
        match &built.truth {
            Truth::Moments { sds, .. } => sds.clone(),
            Truth::None => vec![1.0; self.points.nrows()],
        }
    }

    /// Mean distance of the quantiles of coordinate `i` from those at the levels `1/(n+1), .., n/(n+1)`.
    fn distance(&self, i: usize, quantiles: &[f64]) -> f64 {
        let mut order: Vec<(f64, f64)> =
            self.points.row(i).iter().copied().zip(self.weights.iter().copied()).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (mut cumulated, mut place, mut total) = (0.0, 0, 0.0);
        for (k, quantile) in quantiles.iter().enumerate() {
            let level = (k + 1) as f64 / (quantiles.len() + 1) as f64;
            while place < order.len() && cumulated + order[place].1 < level {
                cumulated += order[place].1;
                place += 1;
            }
            total += (order[place.min(order.len() - 1)].0 - quantile).abs();
        }
        total / quantiles.len() as f64
    }

    fn moments(&self, i: usize) -> (f64, f64) {
        let average = |f: &dyn Fn(f64) -> f64| {
            let points = self.points.as_ref();
            self.weights.iter().enumerate().map(|(j, weight)| weight * f(points[(i, j)])).sum::<f64>()
        };
        let mean = average(&|z| z);
        (mean, average(&|z| (z - mean).powi(2)).sqrt())
    }
}
