//! Verdicts on claims, with their numbers and thresholds, and bootstrap intervals of the numbers.

use std::fmt;

use mcsa_core::Seed;
use mcsa_diagnostics::quantile;

use crate::interval::{Interval, bootstrap};

/// Verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The number is on the claimed side of the threshold.
    Agree,
    /// The claim holds by the published formula, and the opposite by the correct one.
    Reverses,
    /// The number is on the other side.
    Disagree,
    /// Results are missing or too few.
    TooLittle,
    /// The claim cannot be reproduced as published; the finding has the reason.
    NotReproducible,
}

/// A verdict with its reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Verdict.
    pub verdict: Verdict,
    /// Measured number.
    pub number: f64,
    /// Threshold of the number.
    pub threshold: f64,
    /// Definition of the number, and the claimed side of the threshold.
    pub reason: String,
}

/// Values of several series, one column each; row `r` holds replicate `r` of all series.
pub(crate) type Columns = Vec<Vec<f64>>;

/// Level of the intervals of all claims.
pub(crate) const LEVEL: f64 = 0.9;
const RESAMPLES: usize = 999;
/// Smallest number of replicates for a claim about medians or means.
pub(crate) const ENOUGH: usize = 3;

/// Minimum; NaN if a value is NaN or there is none, so that a missing number is not ignored.
pub(crate) fn least(values: impl IntoIterator<Item = f64>) -> f64 {
    let smaller = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) };
    values.into_iter().reduce(smaller).unwrap_or(f64::NAN)
}

/// Maximum; NaN if a value is NaN or there is none.
pub(crate) fn greatest(values: impl IntoIterator<Item = f64>) -> f64 {
    -least(values.into_iter().map(|value| -value))
}

impl Finding {
    /// Finding for the claim that the number is at least the threshold.
    pub fn at_least(number: f64, threshold: f64, what: impl Into<String>) -> Self {
        Self::held(number >= threshold, number, threshold, "≥", what)
    }

    /// Finding for the claim that the number is at most the threshold.
    pub fn at_most(number: f64, threshold: f64, what: impl Into<String>) -> Self {
        Self::held(number <= threshold, number, threshold, "≤", what)
    }

    fn held(holds: bool, number: f64, threshold: f64, sign: &str, what: impl Into<String>) -> Self {
        let reason = format!("{} (claimed: {sign} {threshold})", what.into());
        if number.is_nan() {
            return Self::too_little(reason);
        }
        let verdict = if holds { Verdict::Agree } else { Verdict::Disagree };
        Self { verdict, number, threshold, reason }
    }

    /// This finding by a published formula beside the one by the correct formula: the verdict is that on the published quantity,
    /// unless it agrees and the corrected one disagrees.
    pub(super) fn beside(self, corrected: Self) -> Self {
        if self.number.is_nan() {
            return self;
        }
        let reverses = (self.verdict, corrected.verdict) == (Verdict::Agree, Verdict::Disagree);
        let verdict = if reverses { Verdict::Reverses } else { self.verdict };
        let beside =
            format!("corrected: {}, {:.3}: {}", corrected.verdict.name(), corrected.number, corrected.reason);
        Self { verdict, reason: format!("{}; {beside}", self.reason), ..self }
    }

    /// Abstention because `what` is missing.
    pub fn too_little(what: impl Into<String>) -> Self {
        Self { verdict: Verdict::TooLittle, number: f64::NAN, threshold: f64::NAN, reason: what.into() }
    }

    /// Abstention because the claim cannot be reproduced, for the reason `why`.
    pub fn not_reproducible(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotReproducible, ..Self::too_little(why) }
    }
}

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

    /// Finding by a statistic of paired replicates, as [`Self::at_least_of`], for either side of the threshold.
    pub(super) fn of_resampled(
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

impl Verdict {
    /// All verdicts, in the order of the report.
    pub const ALL: [Self; 5] =
        [Self::Agree, Self::Reverses, Self::Disagree, Self::TooLittle, Self::NotReproducible];

    /// Returns true if the claim does not hold by the correct formula.
    pub fn is_at_odds(self) -> bool {
        matches!(self, Self::Disagree | Self::Reverses)
    }

    /// Name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agree => "agree",
            Self::Reverses => "holds as published, reverses when corrected",
            Self::Disagree => "disagree",
            Self::TooLittle => "not enough evidence",
            Self::NotReproducible => "not reproducible",
        }
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
        let at_most = |threshold| {
            let columns = [column.to_vec()];
            Finding::of_resampled(&columns, |c| median(&c[0]), threshold, "", Finding::at_most).verdict
        };
        assert_eq!([0.5, 1.0, 1.5].map(at_most), [Verdict::Disagree, Verdict::TooLittle, Verdict::Agree]);
    }
}
