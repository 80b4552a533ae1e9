//! Summaries of weighted draws: moments and quantiles of parameters, evidence.

use std::borrow::Cow;

use mcsa_core::LogDensity;
use mcsa_estimators::Draws;

/// Posterior of a parameter on its constrained scale, from weighted draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: Cow<'static, str>,
    /// Posterior mean.
    pub mean: f64,
    /// Monte Carlo standard error of the mean.
    pub error: f64,
    /// Posterior standard deviation.
    pub sd: f64,
    /// Quantiles at 5, 50 and 95 %.
    pub quantiles: [f64; 3],
}

/// Log evidence with its Monte Carlo error, and bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// `log 1/n sum_i w_i` over draws of q.
    pub log: f64,
    /// Its standard error.
    pub error: f64,
    /// Lower bound: the mean of `log w` over draws of q.
    pub lower: f64,
    /// Upper bound: the mean of `log w` over chains that leave p invariant; NaN if none were run.
    pub upper: f64,
}

/// Probabilities of the quantiles.
const PROBABILITIES: [f64; 3] = [0.05, 0.5, 0.95];

/// Every parameter of the target.
pub(crate) fn parameters(target: &dyn LogDensity, draws: &Draws) -> Vec<Parameter> {
    let (mut named, weights) = (Vec::new(), draws.weights());
    let mut values: Vec<Vec<f64>> = Vec::new();
    for j in 0..draws.len() {
        named.clear();
        target.constrain(draws.points.col_as_slice(j), &mut named);
        values.resize_with(named.len(), || Vec::with_capacity(draws.len()));
        values.iter_mut().zip(&named).for_each(|(values, (_, value))| values.push(*value));
    }
    let names = named.into_iter().map(|(name, _)| name);
    names.zip(values).map(|(name, values)| Parameter::of(name, &values, &weights)).collect()
}

impl Parameter {
    fn of(name: Cow<'static, str>, values: &[f64], weights: &[f64]) -> Self {
        let pairs = || values.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
        let mean = pairs().map(|(value, weight)| weight * value).sum::<f64>();
        let of_square =
            |power| pairs().map(|(value, weight)| weight.powi(power) * (value - mean).powi(2)).sum::<f64>();
        let mut order: Vec<(f64, f64)> = pairs().map(|(value, weight)| (*value, *weight)).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let quantiles = PROBABILITIES.map(|probability| {
            let mut cumulated = 0.0;
            let reached = order.iter().find(|(_, weight)| {
                cumulated += weight;
                cumulated >= probability
            });
            reached.or(order.last()).map_or(f64::NAN, |(value, _)| *value)
        });
        Self { name, mean, error: of_square(2).sqrt(), sd: of_square(1).sqrt(), quantiles }
    }
}

impl Evidence {
    pub(crate) fn of(draws: &Draws, at_chains: &[f64]) -> Self {
        let ratios = draws.log_ratios();
        let count = ratios.len() as f64;
        Self {
            log: draws.log_evidence(),
            error: (1.0 / draws.sample_size - 1.0 / count).max(0.0).sqrt(),
            lower: ratios.iter().sum::<f64>() / count,
            upper: at_chains.iter().sum::<f64>() / at_chains.len() as f64,
        }
    }
}
