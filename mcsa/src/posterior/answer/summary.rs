//! Summaries of weighted draws: moments and quantiles of parameters, evidence.

use faer::Mat;
use mcsa_core::{LogDensity, Named, bits};
use mcsa_diagnostics::{Pareto, standard_error};
use mcsa_estimators::Draws;
use serde::{Deserialize, Serialize};

use crate::posterior::rule::RULE;

/// Posterior of a parameter on its constrained scale, from weighted draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: String,
    /// Posterior mean; NaN where the draws do not show it, because it rests on few of them far out.
    pub mean: f64,
    /// Monte Carlo standard error of the mean.
    pub error: f64,
    /// Posterior standard deviation; NaN where the draws do not show it.
    pub sd: f64,
    /// Quantiles at 5, 50 and 95 %.
    pub quantiles: [f64; 3],
}

/// Log evidence with its Monte Carlo error, and bounds. NaN where it is not estimated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// `log 1/n sum_i w_i` over draws of q; if chains are the answer, the estimate by bridge sampling between them and a
    /// Gaussian.
    #[serde(with = "bits::scalar")]
    pub log: f64,
    /// Its standard error.
    #[serde(with = "bits::scalar")]
    pub error: f64,
    /// Lower bound: the mean of `log w` over draws of q.
    #[serde(with = "bits::scalar")]
    pub lower: f64,
    /// Upper bound: the mean of `log w` over chains that leave p invariant; NaN if none were run.
    #[serde(with = "bits::scalar")]
    pub upper: f64,
}

/// Share of the largest hundredth of the terms of a sum from which on it may rest on few of them. It is 0.08 for squares of normal values, and
/// 0.22 for those of a tail `x^-3`.
const SHARE: f64 = 0.2;

/// Probabilities of the quantiles.
const PROBABILITIES: [f64; 3] = [0.05, 0.5, 0.95];

/// Every parameter of the target, and its values in all draws: a row per parameter. Of draws of so many chains, chain after chain, errors include
/// autocorrelation.
pub(crate) fn parameters(
    target: &dyn LogDensity,
    draws: &Draws,
    chains: Option<usize>,
) -> (Vec<Parameter>, Mat<f64>) {
    let (mut named, weights) = (Named::default(), draws.weights());
    for j in 0..draws.len() {
        named.next_point();
        target.constrain(draws.points.col_as_slice(j), &mut named);
    }
    let (names, mut values) = (named.names(), Vec::new());
    let constrained = Mat::from_fn(names.len(), draws.len(), |k, j| named.values()[j * names.len() + k]);
    let of = |(k, name): (usize, &String)| {
        values.clear();
        values.extend(constrained.row(k).iter());
        let found = Parameter::of(name.clone(), &values, &weights);
        let error = chains.map_or(found.error, |chains| {
            standard_error(&values.chunks_exact(values.len() / chains).collect::<Vec<_>>())
        });
        let [mean, sd] = Parameter::shown(&values, &weights, chains.is_some());
        let of = |is_shown, number| if is_shown { number } else { f64::NAN };
        Parameter { mean: of(mean, found.mean), error: of(mean, error), sd: of(sd, found.sd), ..found }
    };
    (names.iter().enumerate().map(of).collect(), constrained)
}

impl Parameter {
    /// Whether weighted values determine their mean and their standard deviation. They do not if the terms of the estimate rest
    /// on few values: k-hat of the terms is at its limit, and the largest hundredth of them is more than a fifth of their sum.
    /// The terms of the mean are deviations from the median; those of the standard deviation are squared deviations from the
    /// mean. k-hat alone does not suffice: it is also large where few values lie beyond a narrow mode.
    ///
    /// A parameter may have no moments where its unconstrained coordinate has all of them, as one with a half-Cauchy posterior.
    ///
    /// k-hat is that of the posterior: the values are first resampled to equal weights, by systematic resampling. Terms of the
    /// weighted sum may look light where q has more draws far out than the posterior.
    pub fn shown(values: &[f64], weights: &[f64], are_of_chains: bool) -> [bool; 2] {
        let (count, mut cumulated) = (values.len() as f64, 0.0);
        let copies = |(value, weight): (&f64, &f64)| {
            let before = (cumulated * count).round();
            cumulated += weight;
            std::iter::repeat_n(*value, ((cumulated * count).round() - before) as usize)
        };
        let mut values: Vec<f64> = values.iter().zip(weights).flat_map(copies).collect();
        let rests_on_few = |values: &[f64], centre: f64, power: i32, limit: f64| {
            let top = values.iter().map(|value| (value - centre).abs()).fold(0.0, f64::max);
            let mut terms: Vec<f64> =
                values.iter().map(|value| ((value - centre).abs() / top).powi(power)).collect();
            let (sum, first) = (terms.iter().sum::<f64>(), terms.len() - terms.len().div_ceil(100));
            terms.select_nth_unstable_by(first, f64::total_cmp);
            let has_share = terms[first..].iter().sum::<f64>() > SHARE * sum;
            has_share && Pareto::of(&terms.iter().map(|term| term.ln()).collect::<Vec<_>>()).shape >= limit
        };
        if values.is_empty() {
            return [true; 2];
        }
        let limit = if are_of_chains { RULE.unseen } else { RULE.spread };
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        if !rests_on_few(&values, mean, 2, limit) {
            return [true; 2];
        }
        let half = values.len() / 2;
        let median = *values.select_nth_unstable_by(half, f64::total_cmp).1;
        [!rests_on_few(&values, median, 1, RULE.no_mean), false]
    }

    fn of(name: String, values: &[f64], weights: &[f64]) -> Self {
        let pairs = || values.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
        let mean = pairs().map(|(value, weight)| weight * value).sum::<f64>();
        let of_square =
            |power| pairs().map(|(value, weight)| weight.powi(power) * (value - mean).powi(2)).sum::<f64>();
        let mut weighted: Vec<(f64, f64)> = pairs().map(|(value, weight)| (*value, *weight)).collect();
        let mut quantiles = [f64::NAN; PROBABILITIES.len()];
        quantiles_into(&mut weighted, 0.0, &PROBABILITIES, &mut quantiles);
        Self { name, mean, error: of_square(2).sqrt(), sd: of_square(1).sqrt(), quantiles }
    }
}

/// Number of values that are sorted, not divided further.
const SHORT: usize = 32;

/// Weighted quantiles: the least value up to which the weights, added to `below`, reach each of the ascending `probabilities`; the largest
/// value where rounding keeps them from reaching it. The values are divided at their median until they are [`SHORT`], and a part without
/// a quantile is left as it is: time is linear in their number.
fn quantiles_into(weighted: &mut [(f64, f64)], below: f64, probabilities: &[f64], quantiles: &mut [f64]) {
    let by_value = |a: &(f64, f64), b: &(f64, f64)| a.0.total_cmp(&b.0);
    if probabilities.is_empty() || weighted.is_empty() {
        return;
    }
    if weighted.len() <= SHORT {
        weighted.sort_unstable_by(by_value);
        for (quantile, probability) in quantiles.iter_mut().zip(probabilities) {
            let mut cumulated = below;
            let reached = weighted.iter().find(|(_, weight)| {
                cumulated += weight;
                cumulated >= *probability
            });
            *quantile = reached.or(weighted.last()).map_or(f64::NAN, |(value, _)| *value);
        }
        return;
    }
    let half = weighted.len() / 2;
    weighted.select_nth_unstable_by(half, by_value);
    let (low, high) = weighted.split_at_mut(half);
    let reached = below + low.iter().map(|(_, weight)| weight).sum::<f64>();
    let count = probabilities.partition_point(|probability| *probability <= reached);
    let (low_quantiles, high_quantiles) = quantiles.split_at_mut(count);
    quantiles_into(low, below, &probabilities[..count], low_quantiles);
    quantiles_into(high, reached, &probabilities[count..], high_quantiles);
}

impl Evidence {
    /// No estimate.
    pub const NONE: Self = Self { log: f64::NAN, error: f64::NAN, lower: f64::NAN, upper: f64::NAN };

    /// The evidence from draws of q. The upper bound comes from the mean log weight of each chain.
    pub fn of(draws: &Draws, at_chains: &[f64]) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;
    use proptest::prelude::*;

    proptest! {
        /// Against sorted values with whole numbers as weights, whose sums are exact; ties included.
        #[test]
        fn quantiles_are_those_of_sorted_values(count in 1..400_usize, seed in any::<u64>(), distinct in 1..500_usize) {
            let mut stream = Seed::new(seed).stream(0, 0);
            let mut whole = |most| stream.index(most).expect("a positive count") as f64;
            let mut weighted: Vec<(f64, f64)> = (0..count).map(|_| (whole(distinct), 1.0 + whole(9))).collect();
            let total: f64 = weighted.iter().map(|(_, weight)| weight).sum();
            let probabilities = [0.0, 0.05, 0.5, 0.95, 1.0].map(|probability| (probability * total).floor());
            let mut found = [f64::NAN; 5];
            quantiles_into(&mut weighted, 0.0, &probabilities, &mut found);
            weighted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            for (found, probability) in found.into_iter().zip(probabilities) {
                let up_to = |value: f64| weighted.iter().filter(|pair| pair.0 <= value).map(|pair| pair.1).sum::<f64>();
                let before = |value: f64| weighted.iter().filter(|pair| pair.0 < value).map(|pair| pair.1).sum::<f64>();
                prop_assert!(up_to(found) >= probability && (before(found) < probability || probability == 0.0));
                // Twin: the next value is no quantile.
                prop_assert!(before(found + 1.0) >= probability);
            }
        }
    }

    /// Tails of `1 - F = x^-a` have a mean for `a > 1` and a variance for `a > 2`; both k-hats are powers over `a`.
    #[test]
    fn moments_that_rest_on_few_draws_are_not_shown() {
        let mut stream = Seed::new(3).stream(0, 0);
        let mut shown = |a: f64| {
            let values: Vec<f64> = (0..4_000).map(|_| stream.uniform().powf(-1.0 / a)).collect();
            [false, true]
                .map(|are_of_chains| Parameter::shown(&values, &[1.0 / 4_000.0; 4_000], are_of_chains))
        };
        assert_eq!(shown(1.0), [[false, false]; 2]);
        assert_eq!(shown(2.1), [[true, false]; 2]);
        assert_eq!(shown(6.0), [[true, true]; 2]);
        // Few values beyond a narrow mode.
        let mut normal = |k: usize| if k < 2_800 { stream.normal() } else { 6.0 + 0.01 * stream.normal() };
        let values: Vec<f64> = (0..4_000).map(&mut normal).collect();
        assert_eq!(Parameter::shown(&values, &[1.0 / 4_000.0; 4_000], false), [true; 2]);
        // A weight of zero hides a value, and values that do not vary have moments.
        let (mut values, mut weights) = ([0.5; 401], [1.0 / 400.0; 401]);
        (values[0], weights[0]) = (1e300, 0.0);
        assert_eq!(Parameter::shown(&values, &weights, true), [true; 2]);
    }

    #[test]
    fn without_draws_there_are_no_quantiles() {
        let parameter = Parameter::of("x".into(), &[], &[]);
        assert!(parameter.quantiles.iter().all(|quantile| quantile.is_nan()));
        let parameter = Parameter::of("x".into(), &[1.0, 2.0, 3.0], &[0.5, 0.5, 0.0]);
        assert_eq!(parameter.quantiles, [1.0, 1.0, 2.0]);
    }
}
