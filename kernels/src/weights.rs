//! Importance weights of a step's candidates, and the state of kernels with a weighted cloud.

use faer::{Mat, MatRef};
use mcsa_core::{ChainState, Ensemble, Error, Metric, Record, bits, same_length};
use serde::{Deserialize, Serialize};

/// The state of [`Cis`](crate::Cis) and [`WasteRecycling`](crate::WasteRecycling): the chains, and the weighted points of the last
/// step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WeightedState {
    /// The chains.
    pub chains: Ensemble,
    #[serde(with = "bits::matrix", alias = "candidates")]
    pub(crate) points: Mat<f64>,
    /// Weights of the points; their sum over all chains is one.
    #[serde(with = "bits::vector")]
    pub(crate) weights: Vec<f64>,
}

impl WeightedState {
    /// A state of `columns` points before the first step: `at(k)` is the chain that point `k` repeats, with its weight.
    pub(crate) fn new(chains: Ensemble, columns: usize, at: impl Fn(usize) -> (usize, f64)) -> Self {
        let points = Mat::from_fn(chains.positions.nrows(), columns, |i, k| chains.positions[(i, at(k).0)]);
        Self { chains, points, weights: (0..columns).map(|k| at(k).1).collect() }
    }

    pub(crate) fn check(&self, dim: usize, chains: usize, columns: usize) -> Result<(), Error> {
        self.chains.check(dim, chains)?;
        same_length("points", columns, self.points.ncols())?;
        same_length("a point", dim, self.points.nrows())?;
        same_length("weights", columns, self.weights.len())
    }
}

impl ChainState for WeightedState {
    fn chains(&self) -> &Ensemble {
        &self.chains
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        &mut self.chains
    }

    fn points(&self) -> MatRef<'_, f64> {
        self.points.as_ref()
    }

    fn weights(&self) -> Option<&[f64]> {
        Some(&self.weights)
    }
}

/// Metrics of one step of a kernel with independent proposals: [`Imh`](crate::Imh), [`WasteRecycling`](crate::WasteRecycling) or
/// [`Cis`](crate::Cis).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImportanceInfo {
    /// Attempted transitions.
    pub tried: u64,
    /// Transitions to a fresh proposal.
    pub accepted: u64,
    /// The largest normalised importance weight: of the proposals of a step, or of the candidates of a chain.
    pub max_weight: f64,
    /// The effective sample size of the proposals of a step, or of the candidates of a chain, averaged over chains.
    pub ess: f64,
    /// Candidates at which a density was NaN or p infinite; all were rejected.
    pub non_finite: u64,
    /// Chains that stayed because the weights of all candidates vanished; `None` for kernels without candidates.
    pub vanished: Option<u64>,
    /// The largest `log p - log q`, that of the chains before they moved included.
    pub log_weight_top: f64,
    /// The log of the mean weight of the fresh proposals; its exponential is an unbiased estimate of the normalising
    /// constant Z at every lambda.
    pub log_weight_mean: f64,
}

impl Default for ImportanceInfo {
    /// No transition and no weight.
    fn default() -> Self {
        let (tried, accepted, max_weight, ess, non_finite, vanished) = (0, 0, 0.0, 0.0, 0, None);
        let [log_weight_top, log_weight_mean] = [f64::NEG_INFINITY; 2];
        Self { tried, accepted, max_weight, ess, non_finite, vanished, log_weight_top, log_weight_mean }
    }
}

impl Record for ImportanceInfo {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        sink(Metric::ACCEPTANCE, self.accepted as f64 / self.tried.max(1) as f64);
        sink(Metric::MAX_WEIGHT, self.max_weight);
        sink(Metric::ESS, self.ess);
        sink(Metric::NON_FINITE, self.non_finite as f64);
        if let Some(vanished) = self.vanished {
            sink(Metric::VANISHED, vanished as f64);
        }
        if self.log_weight_top.is_finite() {
            sink(Metric::LOG_WEIGHT_TOP, self.log_weight_top);
        }
        // A step whose weights all vanish has mean weight 0, which counts in means over steps: its logarithm is `-inf`.
        if self.tried > 0 && self.log_weight_mean < f64::INFINITY {
            sink(Metric::LOG_WEIGHT_MEAN, self.log_weight_mean);
        }
    }
}

/// Diagnostics of a set of weights: evenness and size.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Evenness {
    /// The largest normalised weight: 1 when one candidate outweighs all others.
    pub(crate) largest: f64,
    /// The effective sample size `1 / sum w^2` (Kong 1992).
    pub(crate) effective: f64,
    /// The log of the largest weight, before normalisation.
    pub(crate) log_top: f64,
    /// The log of the mean weight, before normalisation.
    pub(crate) log_mean: f64,
}

/// Replaces log weights by weights that sum to one. `None`, with all weights set to zero, if no weight is positive. A NaN
/// counts as zero; weights of `+inf` share all the mass equally.
pub(crate) fn normalise(weights: &mut [f64]) -> Option<Evenness> {
    let top = weights.iter().fold(f64::NEG_INFINITY, |top, &w| if w > top { w } else { top });
    if top == f64::NEG_INFINITY {
        weights.fill(0.0);
        return None;
    }
    let count = weights.len() as f64;
    for w in weights.iter_mut() {
        *w = match *w {
            w if w.is_nan() => f64::NEG_INFINITY,
            w if w == top => 0.0,
            w => w - top,
        };
    }
    mcsa_core::numeric::exp(weights);
    let total: f64 = weights.iter().sum();
    let mut squares = 0.0;
    for w in weights.iter_mut() {
        *w /= total;
        squares += *w * *w;
    }
    // The exponential of the largest is 1.
    Some(Evenness {
        largest: 1.0 / total,
        effective: 1.0 / squares,
        log_top: top,
        log_mean: top + (total / count).ln(),
    })
}

/// The log weight `log p - log q` of a candidate. `None` if a density is NaN or p is infinite, which is a fault of the
/// model or of lambda.
pub fn log_weight(log_p: f64, log_q: f64) -> Option<f64> {
    if log_p.is_nan() || log_q.is_nan() || log_p == f64::INFINITY {
        return None;
    }
    // Outside the support of p the weight is zero, also where q vanishes.
    Some(if log_p == f64::NEG_INFINITY { f64::NEG_INFINITY } else { log_p - log_q })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_are_as_effective_as_their_number() {
        let mut weights = [3.0; 4];
        let evenness = normalise(&mut weights).unwrap();
        assert_eq!(weights, [0.25; 4]);
        assert_eq!((evenness.largest, evenness.effective), (0.25, 4.0));
        assert_eq!((evenness.log_top, evenness.log_mean), (3.0, 3.0));
        let evenness = normalise(&mut [f64::NEG_INFINITY, 900.0]).unwrap();
        assert_eq!((evenness.log_top, evenness.log_mean), (900.0, 900.0 - std::f64::consts::LN_2));
    }

    #[test]
    fn impossible_and_infinite_weights_have_a_meaning() {
        let mut weights = [f64::NAN, f64::NEG_INFINITY];
        assert_eq!(normalise(&mut weights), None);
        assert_eq!(weights, [0.0; 2]);
        let mut weights = [f64::INFINITY, 2.0, f64::INFINITY, f64::NAN];
        normalise(&mut weights).unwrap();
        assert_eq!(weights, [0.5, 0.0, 0.5, 0.0]);
        assert_eq!(normalise(&mut []), None);
        assert_eq!(log_weight(f64::NEG_INFINITY, f64::NEG_INFINITY), Some(f64::NEG_INFINITY));
        assert_eq!(log_weight(f64::INFINITY, 0.0), None);
        assert_eq!(log_weight(0.0, f64::NAN), None);
    }
}
