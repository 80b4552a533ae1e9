//! Test statistics and their normal scores, p-values, sequential testing with a fixed false-alarm probability, and its power.

use faer::MatRef;
use mcsa_core::{Columns, Error, LogDensity, Proposal, Stream};
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

use crate::law::{PROBABILITY, mean_and_error};
use crate::{Check, Measured};

/// Statistics of a batch of points: coordinates, log p, log q, the log weight, and one random projection.
pub(crate) struct Statistics {
    direction: Vec<f64>,
    work: Vec<f64>,
}

impl Statistics {
    /// Statistics with memory for batches of `columns` points.
    pub(crate) fn new<P: LogDensity + ?Sized>(target: &P, stream: &mut Stream, columns: usize) -> Self {
        let mut direction = vec![0.0; target.dim()];
        stream.normals_into(&mut direction);
        Self { direction, work: vec![0.0; target.work_len(columns)] }
    }

    pub(crate) fn dim(&self) -> usize {
        self.direction.len()
    }

    pub(crate) fn count(&self) -> usize {
        self.direction.len() + 4
    }

    pub(crate) fn name(&self, k: usize) -> String {
        let dim = self.direction.len();
        if k < dim { format!("z[{k}]") } else { ["log p", "log q", "log w", "projection"][k - dim].into() }
    }

    /// Writes the statistics of each column of `z`, statistic by statistic.
    pub(crate) fn look<P: LogDensity + ?Sized>(
        &mut self,
        target: &P,
        proposal: &mut dyn Proposal,
        z: MatRef<'_, f64>,
        out: &mut [f64],
    ) {
        let (dim, columns) = (z.nrows(), z.ncols());
        for j in 0..columns {
            z.column(j).iter().enumerate().for_each(|(i, x)| out[i * columns + j] = *x);
        }
        let (log_p, rest) = out[dim * columns..].split_at_mut(columns);
        let (log_q, rest) = rest.split_at_mut(columns);
        let (log_w, projection) = rest.split_at_mut(columns);
        target.log_densities(z, log_p, &mut self.work);
        proposal.log_probs(z, log_q);
        for j in 0..columns {
            log_w[j] = log_p[j] - log_q[j];
            projection[j] = z.column(j).iter().zip(&self.direction).map(|(x, d)| x * d).sum();
        }
    }
}

/// Normal scores (van der Waerden): the standard normal quantile of a value's rank among reference values, ties counting half.
///
/// ```text
/// h(x) = Phi^-1((below(x) + upto(x) + 1) / (2 n + 2)),  standard normal if x has the distribution of the n references
/// ```
///
/// The score has all moments also for heavy tails, and a shift or scaling of it is an error in units of a
/// standard deviation.
pub(crate) struct Scores {
    references: Vec<Vec<f64>>,
    quantiles: Vec<f64>,
}

impl Scores {
    /// Scores from one row of reference values per statistic, all of one length.
    pub(crate) fn of(mut references: Vec<Vec<f64>>) -> Self {
        references.iter_mut().for_each(|row| row.sort_by(f64::total_cmp));
        let n = references.first().map_or(0, Vec::len);
        let normal = Normal::standard();
        let quantile = |k: usize| normal.inverse_cdf((k + 1) as f64 / (2 * n + 2) as f64);
        Self { references, quantiles: (0..=2 * n).map(quantile).collect() }
    }

    /// The score of `x` as a value of statistic `k`.
    pub(crate) fn score(&self, k: usize, x: f64) -> f64 {
        let row = &self.references[k];
        let below = row.partition_point(|r| r.total_cmp(&x).is_lt());
        let tied = row.get(below).is_some_and(|r| r.total_cmp(&x).is_eq());
        let upto = if tied { row.partition_point(|r| r.total_cmp(&x).is_le()) } else { below };
        self.quantiles[below + upto]
    }
}

/// Two-sample test that two samples of equal size `n` have one distribution: `P(D > x) <= 2 exp(-n x^2)` for the largest difference
/// `D` of their distribution functions, a bound that is proved for `n >= 458` (Wei and Dudley 2012). With ties it
/// is conservative.
pub(crate) fn two_sample(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let distance = largest_gap(&sorted(a), &sorted(b));
    (2.0 * (-n * distance * distance).exp()).min(1.0)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

fn largest_gap(a: &[f64], b: &[f64]) -> f64 {
    let (mut i, mut j, mut gap) = (0, 0, 0.0_f64);
    while i < a.len() && j < b.len() {
        let x = if a[i].total_cmp(&b[j]).is_le() { a[i] } else { b[j] };
        let rest = |values: &[f64], from: usize| {
            values[from..].iter().take_while(|v| v.total_cmp(&x).is_le()).count()
        };
        i += rest(a, i);
        j += rest(b, j);
        gap = gap.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
    }
    gap
}

/// Two-sided test that the mean of independent values is zero, by the normal approximation. Values that are all
/// zero give 1.
pub(crate) fn zero_mean(values: &[f64]) -> f64 {
    let (mean, error) = mean_and_error(values);
    if error == 0.0 {
        return if mean == 0.0 { 1.0 } else { 0.0 };
    }
    2.0 * Normal::standard().sf(mean.abs() / error)
}

/// Test that counts are uniform over their cells, by Pearson's chi-square approximation.
pub(crate) fn uniform_counts(counts: &[u64]) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let statistic: f64 = counts.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
    let freedom = (counts.len() - 1) as f64;
    ChiSquared::new(freedom).expect("at least two cells").sf(statistic)
}

/// Smallest of several p-values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Smallest {
    /// The p-value, not corrected for the number of tests.
    pub(crate) p_value: f64,
    /// Number of p-values.
    pub(crate) tests: usize,
    /// Name of the smallest p-value.
    pub(crate) place: String,
}

impl Smallest {
    /// The smallest of named p-values; NaN counts as 0, so that a broken statistic raises an alarm.
    pub(crate) fn of(values: impl Iterator<Item = (f64, String)>) -> Self {
        let none = Self { p_value: 1.0, tests: 0, place: String::new() };
        values.fold(none, |least, (p_value, place)| {
            let p_value = if p_value.is_nan() { 0.0 } else { p_value };
            let tests = least.tests + 1;
            if p_value < least.p_value { Self { p_value, tests, place } } else { Self { tests, ..least } }
        })
    }
}

/// Sequential test: a test repeated in stages while its result is unclear (Gandy and Scott 2020, Alg. 3).
///
/// ```text
/// beta = level / k,  gamma = beta^(1/k);  at each stage p = Bonferroni's p-value of fresh draws:
/// p <= beta: alarm.  p > beta + gamma: no alarm.  Else beta /= gamma, and once more.
/// ```
/// The false-alarm probability is at most `level` for any number of stages, because stage `i` is reached with
/// probability at most `gamma^(i-1)`; the draws of the stages must be independent. From the second stage on
/// the number of draws is multiplied by `growth`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sequential {
    /// Total false-alarm probability.
    pub(crate) level: f64,
    /// Largest number of stages `k`; 7 in the paper.
    pub(crate) stages: u32,
    /// Factor of the number of draws after the first stage; 4 in the paper.
    pub(crate) growth: usize,
}

impl Sequential {
    /// Runs `test(stage, draws)` until the result is clear or the stages are used up.
    pub(crate) fn run(
        &self,
        law: &'static str,
        draws: usize,
        mut test: impl FnMut(u32, usize) -> Result<Smallest, Error>,
    ) -> Check {
        let mut beta = self.level / f64::from(self.stages);
        let gamma = beta.powf(1.0 / f64::from(self.stages));
        let mut stage = 0;
        loop {
            let draws = if stage == 0 { draws } else { draws * self.growth };
            let found = match test(stage, draws) {
                Ok(found) => found,
                Err(error) => return Check::refused(law, error),
            };
            let p_value = (found.p_value * found.tests as f64).min(1.0);
            stage += 1;
            let doubtful = beta < p_value && p_value <= beta + gamma;
            if !doubtful || stage >= self.stages {
                let measured = Measured::PValue { p_value, level: beta, draws, tests: found.tests };
                return Check { place: found.place, ..Check::of(law, measured) };
            }
            beta /= gamma;
        }
    }

    /// Probability of an alarm, where `chance(growth, x)` is the probability that a stage with `growth` times the draws of
    /// the first has a corrected p-value of at most `x`.
    pub(crate) fn alarm(&self, chance: impl Fn(f64, f64) -> f64) -> f64 {
        let first = self.level / f64::from(self.stages);
        let gamma = first.powf(1.0 / f64::from(self.stages));
        (0..self.stages).rev().fold(0.0, |later, stage| {
            let beta = first / gamma.powi(stage as i32);
            let growth = if stage == 0 { 1.0 } else { self.growth as f64 };
            let alarm = chance(growth, beta);
            alarm + (chance(growth, beta + gamma) - alarm) * later
        })
    }
}

/// The smallest error for which an alarm has probability [`PROBABILITY`], by bisection: `chance(size, growth, x)` is the
/// probability that the corrected p-value is at most `x`.
fn smallest(sequential: Sequential, chance: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let seen = |size: f64| sequential.alarm(|growth, x| chance(size, growth, x)) >= PROBABILITY;
    let (mut low, mut high) = (0.0, 1e-6);
    while !seen(high) && high < 1e6 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if seen(middle) { high = middle } else { low = middle }
    }
    high
}

/// Upper quantile of the standard normal.
fn upper(probability: f64) -> f64 {
    -Normal::standard().inverse_cdf(probability.min(0.5))
}

/// Student's two-sided test of a mean: error in standard errors of the first stage. The quantile of Student's distribution is that
/// of the normal with the first term of its expansion in `1 / freedom`.
pub(crate) fn of_mean(sequential: Sequential, tests: usize, freedom: f64) -> f64 {
    let normal = Normal::standard();
    smallest(sequential, |size, growth, x| {
        let z = upper(0.5 * x / tests as f64);
        let quantile = z + (z * z * z + z) / (4.0 * freedom * growth);
        let shift = size * growth.sqrt();
        normal.cdf(shift - quantile) + normal.cdf(-shift - quantile)
    })
}

/// Two-sample test: error in the distance of two distribution functions, each estimated from `draws`. At the point of the largest
/// difference the difference of the two samples is normal with a variance of at most `1 / (2 draws)`.
pub(crate) fn of_distance(sequential: Sequential, tests: usize, draws: f64) -> f64 {
    let normal = Normal::standard();
    smallest(sequential, |size, growth, x| {
        let draws = draws * growth;
        let threshold = ((2.0 * tests as f64 / x).ln() / draws).sqrt();
        normal.cdf((size - threshold) * (2.0 * draws).sqrt())
    })
}

/// Chi-square test of uniform counts: root mean square of the relative errors of the cells. The non-central distribution is
/// approximated by Patnaik's multiple of a chi-square distribution, the quantile by that of Wilson and Hilferty.
pub(crate) fn of_counts(sequential: Sequential, tests: usize, cells: usize, draws: f64) -> f64 {
    let freedom = (cells - 1) as f64;
    smallest(sequential, |size, growth, x| {
        let spread = 2.0 / (9.0 * freedom);
        let quantile = freedom * (1.0 - spread + upper(x / tests as f64) * spread.sqrt()).powi(3);
        let shift = draws * growth * size * size;
        let factor = (freedom + 2.0 * shift) / (freedom + shift);
        let law = ChiSquared::new((freedom + shift).powi(2) / (freedom + 2.0 * shift));
        law.expect("a positive number of degrees of freedom").sf(quantile / factor)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    /// The scheme of the paper.
    const SEVEN: Sequential = Sequential { level: 0.05, stages: 7, growth: 4 };

    #[test]
    fn scores_are_quantiles_of_places() {
        let scores = Scores::of(vec![vec![3.0, 1.0, 2.0, 2.0]]);
        assert!(scores.score(0, 2.0).abs() < 1e-12);
        assert!((scores.score(0, 0.0) - Normal::standard().inverse_cdf(0.1)).abs() < 1e-12);
        assert!((scores.score(0, 2.5) - Normal::standard().inverse_cdf(0.7)).abs() < 1e-12);
    }

    #[test]
    fn gaps_count_ties_once() {
        let (a, b) = ([0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0]);
        assert_eq!(largest_gap(&a, &b), 0.25);
        assert_eq!(largest_gap(&a, &a), 0.0);
        assert_eq!(largest_gap(&[0.0, 1.0], &[2.0, 3.0]), 1.0);
    }

    #[test]
    fn known_p_values() {
        // 10 against 20 of 30: chi-square 10/3 with one degree of freedom.
        assert!((uniform_counts(&[10, 20]) - 0.067_889).abs() < 1e-5);
        assert_eq!(zero_mean(&[0.0; 5]), 1.0);
        assert_eq!(zero_mean(&[1.0; 5]), 0.0);
        assert!(two_sample(&[0.0; 500], &[1.0; 500]) < 1e-100);
        assert_eq!(two_sample(&[1.0; 500], &[1.0; 500]), 1.0);
    }

    fn uniforms(seed: u64, power: f64) -> Check {
        SEVEN.run("law", 1, |stage, _| {
            let p = Seed::new(seed).stream(0, u64::from(stage)).uniform();
            Ok(Smallest { p_value: p.powf(power), tests: 1, place: String::new() })
        })
    }

    /// 20,000 uniform p-values at level 0.05: the rate of alarms stays below 0.05 + 4 standard errors; the first
    /// stage alone would have a rate of about 0.007. False alarm of this test below 1e-4 at fixed seeds.
    #[test]
    fn the_level_is_kept_and_used() {
        let alarms = (0..20_000).filter(|seed| uniforms(*seed, 1.0).fails()).count() as f64 / 20_000.0;
        assert!((0.03..0.0562).contains(&alarms), "{alarms}");
    }

    /// Counter-check: p-values that are too small raise more alarms than the level allows.
    #[test]
    fn small_p_values_are_alarms() {
        let alarms = (0..2_000).filter(|seed| uniforms(*seed, 3.0).fails()).count();
        assert!(alarms > 400, "{alarms}");
        let broken = Smallest::of([(0.5, "a".into()), (f64::NAN, "b".into())].into_iter());
        assert_eq!(broken, Smallest { p_value: 0.0, tests: 2, place: "b".into() });
    }

    /// One stage and one test: the textbook value, `z_alpha/2 + z_power` standard errors.
    #[test]
    fn one_stage_is_the_textbook() {
        let once = Sequential { level: 0.05, stages: 1, growth: 4 };
        assert!((of_mean(once, 1, 1e9) - (1.959_964 + 1.281_552)).abs() < 1e-3);
        let distance = of_distance(once, 1, 10_000.0);
        assert!((distance - (40.0_f64.ln() / 1e4).sqrt() - 1.281_552 / 2e4_f64.sqrt()).abs() < 1e-6);
    }

    /// Against the exact non-central chi-square distribution, a Poisson mixture: the approximations err by less than three percent.
    #[test]
    fn patnaik_is_close() {
        for (level, freedom) in [(0.05, 8.0), (1e-6, 8.0), (1e-3, 3.0)] {
            let central = |j: u32| ChiSquared::new(freedom + 2.0 * f64::from(j)).unwrap();
            let mut cut = freedom;
            while central(0).sf(cut) > level {
                cut += 1e-3;
            }
            let power = |shift: f64| -> f64 {
                let mut weight = (-0.5 * shift).exp();
                let mut total = 0.0;
                for j in 0..300 {
                    total += weight * central(j).sf(cut);
                    weight *= 0.5 * shift / f64::from(j + 1);
                }
                total
            };
            let once = Sequential { level, stages: 1, growth: 4 };
            let error = of_counts(once, 1, freedom as usize + 1, 1_000.0);
            assert!(power(1_000.0 * (0.97 * error).powi(2)) < PROBABILITY, "{level} {freedom}");
            assert!(power(1_000.0 * (1.03 * error).powi(2)) > PROBABILITY, "{level} {freedom}");
        }
    }

    /// More tests need a larger error, more stages a smaller one.
    #[test]
    fn stages_lower_the_error_that_is_seen() {
        let seven = Sequential { level: 2.5e-5, ..SEVEN };
        let three = Sequential { stages: 3, growth: 2, ..seven };
        let once = Sequential { stages: 1, ..seven };
        assert!(of_mean(seven, 28, 1e3) < of_mean(once, 28, 1e3) - 1.0);
        assert!(of_mean(seven, 28, 1e3) > of_mean(seven, 1, 1e3));
        assert!((of_mean(three, 28, 1e9) - 4.66).abs() < 0.01);
    }
}
