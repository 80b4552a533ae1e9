//! Running record of a fit's steps: ages of chains, metrics of the estimator, noise of directions.

use mcsa_core::{Columns, Ensemble, Error, Record, Reduction, bits, numeric, same_length};
use serde::{Deserialize, Serialize};

/// Number of steps in the memory of a running mean.
const MEMORY: u64 = 256;
/// Number of steps in a block of log weights; reported values cover the last one to two blocks.
const BLOCK: u64 = 512;

/// Running record of a fit: ages of chains, metrics of the estimator and noise of directions.
///
/// It is part of the checkpoint, costs a fraction of a microsecond per step, and leaves the iterates bit-identical.
/// [`Ascent::health`](crate::Ascent::health) reads it.
///
/// A running mean is the plain mean of the first 256 steps, then an exponential mean with that memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStatistics {
    steps: u64,
    ages: Vec<u64>,
    told: Told,
    weights: [WeightBlock; 2],
    pub(crate) blind: u64,
    #[serde(default)]
    still: u64,
    #[serde(with = "bits::vector")]
    direction: Vec<f64>,
    #[serde(with = "bits::scalar")]
    square: f64,
}

/// Running means of rates, NaN before the first value, and totals of faults.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Told {
    #[serde(with = "bits::scalar")]
    acceptance: f64,
    #[serde(with = "bits::scalar")]
    max_weight: f64,
    #[serde(with = "bits::scalar")]
    non_finite: f64,
    #[serde(with = "bits::scalar")]
    untold: f64,
}

/// Log weights of consecutive steps: the largest, and the log of the sum of mean weights.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct WeightBlock {
    steps: u64,
    #[serde(with = "bits::scalar")]
    top: f64,
    #[serde(with = "bits::scalar")]
    log_sum: f64,
}

impl WeightBlock {
    const EMPTY: Self = Self { steps: 0, top: f64::NEG_INFINITY, log_sum: f64::NEG_INFINITY };
}

impl RunStatistics {
    pub(crate) fn new(num_params: usize, chains: usize) -> Self {
        let told = Told { acceptance: f64::NAN, max_weight: f64::NAN, non_finite: 0.0, untold: 0.0 };
        let weights = [WeightBlock::EMPTY; 2];
        let direction = vec![0.0; num_params];
        Self { steps: 0, ages: vec![0; chains], told, weights, blind: 0, still: 0, direction, square: 0.0 }
    }

    pub(crate) fn check(&self, num_params: usize, chains: usize) -> Result<(), Error> {
        same_length("watched directions", num_params, self.direction.len())
            .and_then(|()| same_length("ages", chains, self.ages.len()))
            .map_err(|error| error.within("RunStatistics"))
    }

    /// Number of steps since each chain last moved; empty if the estimator has no chains.
    pub fn ages(&self) -> &[u64] {
        &self.ages
    }

    /// The chain that has stayed longest, and its number of steps.
    pub fn oldest(&self) -> Option<(usize, u64)> {
        let first_largest =
            |best: (usize, u64), (j, age): (usize, u64)| if age > best.1 { (j, age) } else { best };
        let mut ages = self.ages.iter().copied().enumerate();
        ages.next().map(|first| ages.fold(first, first_largest))
    }

    /// Running mean of the acceptance probability, if the estimator records one.
    pub fn acceptance(&self) -> Option<f64> {
        Some(self.told.acceptance).filter(|a| !a.is_nan())
    }

    /// Running mean of the largest normalised weight of a step's candidates, if the estimator records one.
    pub fn max_weight(&self) -> Option<f64> {
        Some(self.told.max_weight).filter(|w| !w.is_nan())
    }

    /// Number of evaluations so far that were not finite.
    pub fn non_finite(&self) -> f64 {
        self.told.non_finite
    }

    /// Number of metric values missing here: those for which a [`Tally`](mcsa_kernels::Tally) had no room, and those with
    /// another reduction than their name requires. A value other than 0 is a fault of a kernel.
    pub fn dropped_metrics(&self) -> f64 {
        self.told.untold
    }

    /// Number of consecutive steps, up to the last one, without a finite density: no chain had a finite log density, and no
    /// recorded evaluation was finite. 0 if the estimator has no chains and records no evaluations.
    pub fn steps_without_finite_density(&self) -> u64 {
        self.blind
    }

    /// Number of consecutive steps, up to the last one, at which the path of an annealed family stood still.
    pub fn steps_without_movement(&self) -> u64 {
        self.still
    }

    /// Largest `log p - log q` of the last 512 to 1024 steps, each at the lambda of its step.
    pub fn log_weight_top(&self) -> Option<f64> {
        let top = self.weights[0].top.max(self.weights[1].top);
        Some(top).filter(|top| top.is_finite())
    }

    /// Estimate of `log Z`: log of the mean weight over the last 512 to 1024 steps, steps of weight zero included. Each
    /// step's mean weight is unbiased for Z at its own lambda, so steps may be averaged although lambda moves.
    pub fn log_evidence(&self) -> Option<f64> {
        let steps = (self.weights[0].steps + self.weights[1].steps) as f64;
        let log_sum = numeric::log_add_exp(self.weights[0].log_sum, self.weights[1].log_sum);
        Some(log_sum - steps.ln()).filter(|log_z| log_z.is_finite())
    }

    /// Norm of the mean direction and noise about it, `|E g|` and `sqrt(E |g|^2 - |E g|^2)`, by running means. A small part
    /// of the noise enters the first: a sixteenth or less after 256 steps.
    pub fn signal_and_noise(&self) -> (f64, f64) {
        let square: f64 = self.direction.iter().map(|g| g * g).sum();
        (square.sqrt(), (self.square - square).max(0.0).sqrt())
    }

    /// Records a step. `before` holds the previous positions of the chains and is updated.
    pub(crate) fn note(
        &mut self,
        info: &dyn Record,
        direction: &[f64],
        chains: Option<&Ensemble>,
        before: &mut [f64],
    ) {
        self.steps += 1;
        let share = 1.0 / self.steps.min(MEMORY) as f64;
        let square = numeric::dot(direction, direction);
        numeric::vectorised(
            #[inline(always)]
            || self.direction.iter_mut().zip(direction).for_each(|(mean, g)| *mean += share * (g - *mean)),
        );
        self.square += share * (square - self.square);
        if let Some(chains) = chains {
            let dim = chains.positions.nrows();
            for (j, age) in self.ages.iter_mut().enumerate() {
                let (now, then) = (chains.positions.as_ref().column(j), &mut before[j * dim..(j + 1) * dim]);
                let moved = numeric::vectorised(
                    #[inline(always)]
                    || now.iter().zip(&*then).fold(false, |moved, (now, then)| moved | (now != then)),
                );
                *age = if moved { 0 } else { *age + 1 };
                if moved {
                    then.copy_from_slice(now);
                }
            }
        }
        let running = |mean: &mut f64, value: f64| {
            *mean = if mean.is_nan() { value } else { *mean + share * (value - *mean) };
        };
        let mut still = false;
        let (told, mut top, mut mean, mut finite) = (&mut self.told, None, None, None);
        info.record(&mut |metric, value| match (metric.name, metric.reduction) {
            ("acceptance", Reduction::Mean) => running(&mut told.acceptance, value),
            ("max_weight", Reduction::Mean) => running(&mut told.max_weight, value),
            ("non_finite", Reduction::Sum) => told.non_finite += value,
            ("untold_metrics", Reduction::Sum) => told.untold += value,
            ("still", Reduction::Sum) => still = value > 0.0,
            ("finite", Reduction::Sum) => finite = Some(value),
            ("log_weight_top", Reduction::Max) => top = Some(value),
            ("log_weight_mean", Reduction::LogMean) => mean = Some(value),
            // One of these names with another reduction.
            (
                "acceptance" | "max_weight" | "non_finite" | "untold_metrics" | "still" | "finite"
                | "log_weight_top" | "log_weight_mean",
                _,
            ) => told.untold += 1.0,
            _ => {}
        });
        self.still = if still { self.still + 1 } else { 0 };
        self.weigh(top, mean);
        let chain = chains.map(|chains| chains.log_p.iter().any(|log_p| log_p.is_finite()));
        let sees = match (chain, finite.map(|finite| finite > 0.0)) {
            (Some(a), Some(b)) => a || b,
            (a, b) => a.or(b).unwrap_or(true),
        };
        self.blind = if sees { 0 } else { self.blind + 1 };
    }

    /// Records the log weights of a step.
    fn weigh(&mut self, top: Option<f64>, mean: Option<f64>) {
        if top.is_none() && mean.is_none() {
            return;
        }
        if self.weights[0].steps == BLOCK {
            self.weights = [WeightBlock::EMPTY, self.weights[0]];
        }
        let block = &mut self.weights[0];
        block.top = top.map_or(block.top, |top| block.top.max(top));
        if let Some(mean) = mean {
            block.steps += 1;
            block.log_sum = numeric::log_add_exp(block.log_sum, mean);
        }
    }
}

/// Positions of all chains, one after the other.
pub(crate) fn positions(chains: Option<&Ensemble>) -> Vec<f64> {
    let columns = |chains: &Ensemble| {
        (0..chains.len()).flat_map(|j| chains.positions.as_ref().column(j).to_vec()).collect()
    };
    chains.map_or_else(Vec::new, columns)
}

#[cfg(test)]
mod tests {
    use faer::Mat;
    use mcsa_core::Metric;

    use super::*;

    /// A record of given metrics.
    struct Row<'a>(&'a [(Metric, f64)]);
    impl Record for Row<'_> {
        fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
            self.0.iter().for_each(|(metric, value)| sink(*metric, *value));
        }
    }

    fn weighted(x: f64) -> [(Metric, f64); 3] {
        [(Metric::ACCEPTANCE, x), (Metric::LOG_WEIGHT_TOP, 10.0 * x), (Metric::LOG_WEIGHT_MEAN, x)]
    }

    fn chains(values: [f64; 3]) -> Ensemble {
        Ensemble { positions: Mat::from_fn(2, 3, |i, j| values[j] * i as f64), log_p: vec![0.0; 3] }
    }

    #[test]
    fn ages_count_the_steps_a_chain_stayed() {
        let mut watch = RunStatistics::new(1, 3);
        let mut before = positions(Some(&chains([0.0, 1.0, 2.0])));
        for places in [[0.0, 5.0, 2.0], [0.0, 5.0, 3.0], [0.0, 5.0, 4.0]] {
            watch.note(&(), &[0.0], Some(&chains(places)), &mut before);
        }
        assert_eq!(watch.ages(), [3, 2, 0]);
        assert_eq!(watch.oldest(), Some((0, 3)));
        assert_eq!((RunStatistics::new(1, 0).oldest(), RunStatistics::new(1, 0).acceptance()), (None, None));
    }

    /// Directions 3 and 1: mean 2, variance 1. Log mean weights 0 and log 3: Z = 2.
    #[test]
    fn means_by_hand() {
        let mut watch = RunStatistics::new(1, 0);
        watch.note(&Row(&weighted(0.0)), &[3.0], None, &mut []);
        watch.note(&Row(&weighted(3.0_f64.ln())), &[1.0], None, &mut []);
        assert_eq!(watch.signal_and_noise(), (2.0, 1.0));
        assert!((watch.log_evidence().unwrap() - 2.0_f64.ln()).abs() < 1e-15);
        assert_eq!(watch.log_weight_top(), Some(10.0 * 3.0_f64.ln()));
        assert_eq!(watch.acceptance(), Some(0.5 * 3.0_f64.ln()));
        assert_eq!(watch.max_weight(), None);
    }

    #[test]
    fn old_weights_are_forgotten() {
        let mut watch = RunStatistics::new(1, 0);
        watch.note(&Row(&weighted(7.0)), &[0.0], None, &mut []);
        for _ in 0..BLOCK {
            watch.note(&Row(&weighted(1.0)), &[0.0], None, &mut []);
        }
        assert_eq!(watch.log_weight_top(), Some(70.0));
        for _ in 0..BLOCK {
            watch.note(&Row(&weighted(1.0)), &[0.0], None, &mut []);
        }
        assert_eq!(watch.log_weight_top(), Some(10.0));
        assert!((watch.log_evidence().unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn faults_are_totals_and_other_reductions_are_untold() {
        let mut watch = RunStatistics::new(1, 0);
        watch.note(&Row(&[(Metric::NON_FINITE, 6.0), (Metric::UNTOLD, 2.0)]), &[0.0], None, &mut []);
        watch.note(&Row(&[(Metric::NON_FINITE, 1.0), (Metric::mean("other"), 9.0)]), &[0.0], None, &mut []);
        assert_eq!((watch.non_finite(), watch.dropped_metrics()), (7.0, 2.0));
        watch.note(&Row(&[(Metric::mean("non_finite"), 5.0)]), &[0.0], None, &mut []);
        assert_eq!((watch.non_finite(), watch.dropped_metrics()), (7.0, 3.0));
    }

    /// Mean weights 0 and 4, so Z = 2: a step whose weights all vanish counts.
    #[test]
    fn steps_without_weight_count() {
        let mut watch = RunStatistics::new(1, 0);
        watch.note(&Row(&[(Metric::LOG_WEIGHT_MEAN, f64::NEG_INFINITY)]), &[0.0], None, &mut []);
        assert_eq!((watch.log_evidence(), watch.log_weight_top()), (None, None));
        let four = [(Metric::LOG_WEIGHT_MEAN, 2.0 * std::f64::consts::LN_2), (Metric::LOG_WEIGHT_TOP, 3.0)];
        watch.note(&Row(&four), &[0.0], None, &mut []);
        assert!((watch.log_evidence().unwrap() - std::f64::consts::LN_2).abs() < 1e-15);
        assert_eq!(watch.log_weight_top(), Some(3.0));
    }

    #[test]
    fn blindness_is_counted_in_a_row() {
        let mut watch = RunStatistics::new(1, 0);
        for (finite, blind) in [(0.0, 1), (0.0, 2), (1.0, 0), (0.0, 1)] {
            watch.note(&Row(&[(Metric::FINITE, finite)]), &[0.0], None, &mut []);
            assert_eq!(watch.steps_without_finite_density(), blind);
        }
        watch.note(&(), &[0.0], None, &mut []);
        assert_eq!(watch.steps_without_finite_density(), 0, "nothing was told");
        let nowhere = Ensemble { positions: Mat::zeros(1, 2), log_p: vec![f64::NAN, f64::NEG_INFINITY] };
        watch.note(&(), &[0.0], Some(&nowhere), &mut []);
        assert_eq!(watch.steps_without_finite_density(), 1);
    }
}
