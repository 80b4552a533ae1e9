//! Bootstrap intervals of claims' numbers.

use std::fmt;

use mcsa_core::Seed;

use super::{Finding, Verdict};
use crate::interval::{Interval, bootstrap};
use mcsa_diagnostics::quantile;

/// Values of several series, one column each; row `r` holds replicate `r` of all series.
pub(crate) type Columns = Vec<Vec<f64>>;

/// Level of the intervals of all claims.
pub(crate) const LEVEL: f64 = 0.9;
const RESAMPLES: usize = 999;

impl Finding {
    /// Finding for the claim that a statistic of paired replicates is at least the threshold. Replicates are resampled
    /// jointly for all series, because they share data and seeds; if the interval contains the threshold, the verdict is too
    /// little evidence.
    pub(crate) fn at_least_of(
        columns: &[Vec<f64>],
        statistic: impl Fn(&[Vec<f64>]) -> f64,
        threshold: f64,
        what: &str,
    ) -> Self {
        Self::of_resampled(columns, statistic, threshold, what, Self::at_least)
    }

    /// Finding for the claim that a statistic of paired replicates is at most the threshold; as [`Self::at_least_of`].
    pub(crate) fn at_most_of(
        columns: &[Vec<f64>],
        statistic: impl Fn(&[Vec<f64>]) -> f64,
        threshold: f64,
        what: &str,
    ) -> Self {
        Self::of_resampled(columns, statistic, threshold, what, Self::at_most)
    }

    /// Finding for the claim that the mean of paired numbers is above the threshold.
    pub(crate) fn mean_above(values: &[f64], threshold: f64, what: impl fmt::Display) -> Self {
        match bootstrap(values, LEVEL) {
            Some(found) => Self::interval_above(found, threshold, what),
            None => Self::too_little(format!("no values: {what}")),
        }
    }

    /// Finding for the claim that a mean is above the threshold: open unless both ends of its interval are on one side.
    pub(crate) fn interval_above(found: Interval, threshold: f64, what: impl fmt::Display) -> Self {
        let Interval { value, low, high, .. } = found;
        let verdict = match () {
            () if low > threshold => Verdict::Agree,
            () if high < threshold => Verdict::Disagree,
            () => Verdict::TooLittle,
        };
        let reason = format!("{what}: 90 % interval {low:.3} to {high:.3} (claimed: > {threshold})");
        Self { verdict, number: value, threshold, reason }
    }

    fn of_resampled(
        columns: &[Vec<f64>],
        statistic: impl Fn(&[Vec<f64>]) -> f64,
        threshold: f64,
        what: &str,
        judge: fn(f64, f64, String) -> Self,
    ) -> Self {
        let rows = columns.iter().map(Vec::len).min().unwrap_or(0);
        if rows == 0 || columns.iter().any(|column| column.len() != rows) {
            return Self::too_little(format!("{what}: not every replicate has a value"));
        }
        let number = statistic(columns);
        let mut stream = Seed::new(0).named("resampling").stream(0, 0);
        let mut resampled = || {
            let picks: Vec<usize> =
                (0..rows).map(|_| ((stream.uniform() * rows as f64) as usize).min(rows - 1)).collect();
            let column = |column: &Vec<f64>| picks.iter().map(|pick| column[*pick]).collect();
            statistic(&columns.iter().map(column).collect::<Columns>())
        };
        let mut values: Vec<f64> = (0..RESAMPLES).map(|_| resampled()).collect();
        let [low, high] = [0.5 - 0.5 * LEVEL, 0.5 + 0.5 * LEVEL].map(|level| quantile(&mut values, level));
        let plain = judge(number, threshold, format!("{what}, 90 % interval [{low:.3}, {high:.3}]"));
        // Both ends must be on the same side of the threshold as the number.
        let is_open =
            [low, high].iter().any(|end| judge(*end, threshold, String::new()).verdict != plain.verdict);
        if is_open { Self { verdict: Verdict::TooLittle, ..plain } } else { plain }
    }
}

/// Median of a column.
pub(crate) fn median(column: &[f64]) -> f64 {
    quantile(&mut column.to_vec(), 0.5)
}

/// Mean of a column.
pub(crate) fn mean(column: &[f64]) -> f64 {
    column.iter().sum::<f64>() / column.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(column: &[f64], threshold: f64) -> Verdict {
        Finding::at_least_of(&[column.to_vec()], |columns| mean(&columns[0]), threshold, "mean").verdict
    }

    #[test]
    fn what_luck_could_do_is_not_evidence() {
        let column = [0.9, 1.0, 1.1, 0.8, 1.2];
        assert_eq!(verdict(&column, 0.5), Verdict::Agree);
        assert_eq!(verdict(&column, 1.5), Verdict::Disagree);
        assert_eq!(verdict(&column, 1.0), Verdict::TooLittle);
        assert_eq!(verdict(&[], 1.0), Verdict::TooLittle);
        assert_eq!(verdict(&[f64::NAN, 1.0], 0.0), Verdict::TooLittle);
        let at_most =
            |threshold| Finding::at_most_of(&[column.to_vec()], |c| median(&c[0]), threshold, "").verdict;
        assert_eq!([0.5, 1.0, 1.5].map(at_most), [Verdict::Disagree, Verdict::TooLittle, Verdict::Agree]);
    }
}
