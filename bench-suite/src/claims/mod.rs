//! Claims on results, each with a check, a number and a verdict.
//!
//! A claim is a table `[[claim]]` in the file of its experiment: a citation, a sentence and one of four checks. A `Contrast`
//! compares metrics of methods and needs no code; `theory = "<id>"` is a search for a counterexample; `check = "<name>"` is a
//! function in `experiments`; `not-reproducible = "<why>"` states a reason. The
//! check gives a [`Finding`]: a number, a threshold and a verdict. It abstains if rows are missing, replicates are too few, or
//! the claim cannot be reproduced.

mod contrast;
mod section;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt;

use mcsa_core::{Seed, counted};
use mcsa_diagnostics::quantile;
use serde::{Deserialize, Serialize};

use contrast::Contrast;
pub use section::claims;

use crate::experiments::examined;
use crate::interval::{Interval, bootstrap};
use crate::outline::outline;
use crate::results::Results;

/// A finding, or what is missing for one.
pub type Checked = Result<Finding, String>;

/// Check of a claim in Rust.
pub type Check = fn(&Results) -> Checked;

/// A claim, with its source and its check.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Citation: `CW, Fig. 6`.
    pub(crate) citation: String,
    /// The claim in our words.
    pub sentence: String,
    pub(crate) basis: Basis,
    /// Reason of a disagreement.
    pub reason: Option<Reason>,
    /// The headline of the cited paper that it is evidence for, from 1.
    pub(crate) headline: Option<usize>,
}

/// Reason of a disagreement, as written in `reason = { cause = "paper", why = "...", by = "..." }`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    pub(crate) cause: Cause,
    pub(crate) why: String,
    /// Experiment, test or claim that decides it; absent if the cause is open.
    pub(crate) by: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Cause {
    /// The sentence or formula of the paper.
    Paper,
    /// The code by which the published numbers were made, where it differs from the paper.
    Code,
    /// Our reading of the paper: a setting that it leaves open, or the form of the claim.
    Reading,
    /// Our code or data.
    Ours,
    /// Not decided.
    Open,
}

impl Cause {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Paper => "the paper",
            Self::Code => "its code",
            Self::Reading => "our reading",
            Self::Ours => "our code or data",
            Self::Open => "open",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Basis {
    Contrast(Contrast),
    /// Comparison by a published formula, and the same by the correct formula.
    Corrected {
        published: Contrast,
        corrected: Contrast,
    },
    /// Search for a counterexample to the claim of this id in [`mcsa_theory::claims`].
    Theory(String),
    Check(Check),
    /// Reason why the claim cannot be reproduced.
    NotReproducible(String),
}

impl Claim {
    /// Checks the claim by `longer`, the results of the published length, or else by `results`.
    ///
    /// `longer` is used if the claim is a comparison for which it has a number, even if this number decides nothing.
    pub fn find_by_longest(&self, results: &Results, longer: Option<&Results>) -> Finding {
        let names = matches!(self.basis, Basis::Contrast(_) | Basis::Corrected { .. });
        let found = longer.filter(|_| names).map(|longer| self.find(longer));
        match found.filter(|finding| !finding.number.is_nan()) {
            Some(finding) => {
                Finding { reason: format!("{}; by fits of the preset paper", finding.reason), ..finding }
            }
            None => self.find(results),
        }
    }

    /// Checks the claim. Abstains if results are of an older version or have too few replicates. An exhibit needs no replicates,
    /// because it has no randomness. A verdict on synthetic stand-ins is marked.
    pub fn find(&self, results: &Results) -> Finding {
        let finding = self.judge(results);
        match finding.verdict {
            Verdict::NotReproducible => finding,
            _ if !finding.evidence.is_empty() => finding,
            _ => Finding { evidence: self.evidence(results), ..finding },
        }
    }

    /// True if it is a sentence of one of the papers; others are explorations of ours.
    pub(crate) fn is_of_paper(&self) -> bool {
        outline().paper_of(&self.citation).is_some()
    }

    /// Strength of the evidence: an exact computation, or replicates and the kind of their data.
    fn evidence(&self, results: &Results) -> String {
        let replicates = match &self.basis {
            Basis::Contrast(contrast) | Basis::Corrected { published: contrast, .. } => {
                contrast.replicates(results)
            }
            Basis::Theory(_) => return "exact, on small problems".to_owned(),
            _ if results.experiment.is_exhibit() => return "exact".to_owned(),
            _ => results.replicates(),
        };
        format!("{}, {}", counted(replicates, "replicate"), results.kind_of_data())
    }

    fn judge(&self, results: &Results) -> Finding {
        let finding = match &self.basis {
            Basis::Contrast(contrast) => contrast.find(results),
            Basis::Corrected { published, corrected } => {
                published.find(results).beside(corrected.find(results))
            }
            Basis::Theory(id) => examined(id),
            Basis::Check(check) => check(results).unwrap_or_else(Finding::too_little),
            Basis::NotReproducible(why) => Finding::not_reproducible(why.as_str()),
        };
        if finding.verdict == Verdict::NotReproducible {
            return finding;
        }
        if results.is_stale {
            return Finding::too_little("all results are of an older version; run the experiment again");
        }
        match results.replicates() {
            _ if results.experiment.is_exhibit() => finding,
            few if few < ENOUGH => Finding::too_little(format!("{few} replicates; {ENOUGH} are needed")),
            _ => match results.stand_ins() {
                Some(words) => Finding { reason: format!("{}; {words}", finding.reason), ..finding },
                None => finding,
            },
        }
    }
}

/// Verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// The verdict.
    pub verdict: Verdict,
    pub(crate) number: f64,
    /// Definition of the number, and the claimed side of the threshold.
    pub reason: String,
    /// Strength of the evidence, in words.
    pub(crate) evidence: String,
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
    pub(crate) fn at_least(number: f64, threshold: f64, what: impl Into<String>) -> Self {
        Self::held(number >= threshold, number, threshold, "≥", what)
    }

    /// Finding for the claim that the number is at most the threshold.
    pub(crate) fn at_most(number: f64, threshold: f64, what: impl Into<String>) -> Self {
        Self::held(number <= threshold, number, threshold, "≤", what)
    }

    fn held(holds: bool, number: f64, threshold: f64, sign: &str, what: impl Into<String>) -> Self {
        let reason = format!("{} (claimed: {sign} {threshold})", what.into());
        if number.is_nan() {
            return Self::too_little(reason);
        }
        let verdict = if holds { Verdict::Agree } else { Verdict::Disagree };
        Self { verdict, number, reason, evidence: String::new() }
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
    pub(crate) fn too_little(what: impl Into<String>) -> Self {
        let (verdict, number) = (Verdict::TooLittle, f64::NAN);
        Self { verdict, number, reason: what.into(), evidence: String::new() }
    }

    /// Abstention because the claim cannot be reproduced, for the reason `why`.
    pub(crate) fn not_reproducible(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotReproducible, ..Self::too_little(why) }
    }

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
        Self { verdict, number: value, reason, evidence: String::new() }
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

    /// Number of verdicts, and of each in words: `80 agree, 1 disagrees`.
    pub(crate) fn told(verdicts: impl Iterator<Item = Self>) -> (usize, String) {
        let all: Vec<Self> = verdicts.collect();
        let count = |verdict: &Self| all.iter().filter(|found| *found == verdict).count();
        let shown = Self::ALL.iter().filter(|verdict| count(verdict) > 0);
        let words: Vec<String> =
            shown.map(|verdict| format!("{} {}", count(verdict), verdict.verb(count(verdict)))).collect();
        (all.len(), words.join(", "))
    }

    /// Returns true if the claim does not hold by the correct formula.
    pub fn is_at_odds(self) -> bool {
        matches!(self, Self::Disagree | Self::Reverses)
    }

    /// Class of its elements in the report.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Agree => "agree",
            Self::Reverses => "reverses",
            Self::Disagree => "disagree",
            Self::TooLittle => "open",
            Self::NotReproducible => "void",
        }
    }

    /// Verb of a sentence on so many claims.
    fn verb(self, count: usize) -> &'static str {
        match (self, count) {
            (Self::Agree, 1) => "agrees",
            (Self::Agree, _) => "agree",
            (Self::Reverses, 1) => "holds as published and reverses when corrected",
            (Self::Reverses, _) => "hold as published and reverse when corrected",
            (Self::Disagree, 1) => "disagrees",
            (Self::Disagree, _) => "disagree",
            (Self::TooLittle, 1) => "has not enough evidence",
            (Self::TooLittle, _) => "have not enough evidence",
            (Self::NotReproducible, 1) => "is not reproducible",
            (Self::NotReproducible, _) => "are not reproducible",
        }
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
