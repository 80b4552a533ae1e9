//! Claims on results, each with a check, a number and a verdict.
//!
//! A claim is a table `[[claim]]` in the file of its experiment: a citation, a sentence and one of four checks. A [`Contrast`]
//! compares metrics of methods and needs no code; `theory = "<id>"` is a search for a counterexample; `check = "<name>"` is a
//! function in `experiments`; `not-reproducible = "<why>"` states a reason. The
//! check gives a [`Finding`]: a number, a threshold and a verdict. It abstains if rows are missing, replicates are too few, or
//! the claim cannot be reproduced.

mod contrast;
mod finding;
mod section;
#[cfg(test)]
pub(crate) mod tests;

use serde::Deserialize;

pub use contrast::Contrast;
pub(crate) use finding::{Columns, ENOUGH, LEVEL, greatest, least, mean, median};
pub use finding::{Finding, Verdict};
pub use section::claims;

use crate::experiments::examined;
use crate::results::Results;

/// A finding, or what is missing for one.
pub type Checked = Result<Finding, String>;

/// Check of a claim in Rust.
pub type Check = fn(&Results) -> Checked;

/// A claim, with its source and its check.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Citation: `CW, Fig. 6`.
    pub citation: String,
    /// The claim in our words.
    pub sentence: String,
    /// Check against results.
    pub basis: Basis,
    /// Reason of a disagreement.
    pub reason: Option<Reason>,
}

/// Reason of a disagreement, as written in `reason = { cause = "paper", why = "...", by = "..." }`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// Its cause.
    pub cause: Cause,
    /// Explanation.
    pub why: String,
    /// Experiment, test or claim that decides it; absent if the cause is open.
    pub by: Option<String>,
}

/// Cause of a disagreement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
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
    /// Name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "the paper",
            Self::Code => "its code",
            Self::Reading => "our reading",
            Self::Ours => "our code or data",
            Self::Open => "open",
        }
    }
}

/// Check of a claim.
#[derive(Debug, Clone)]
pub enum Basis {
    /// Comparison of metrics of methods.
    Contrast(Contrast),
    /// Comparison by a published formula, and the same by the correct formula.
    Corrected {
        /// By the published formula.
        published: Contrast,
        /// By the correct formula.
        corrected: Contrast,
    },
    /// Search for a counterexample to the claim of this id in [`mcsa_theory::claims`].
    Theory(String),
    /// Function in Rust, with its name.
    Check(String, Check),
    /// Reason why the claim cannot be reproduced.
    NotReproducible(String),
}

impl Claim {
    /// Checks the claim by `longer` results, those of the published length, where it names what it compares and they have a number for it,
    /// even if that decides nothing; else by `results`.
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

    /// Checks the claim. Abstains if results are of other code or have too few replicates. An exhibit needs no replicates,
    /// because it has no randomness. A verdict on synthetic stand-ins is marked.
    pub fn find(&self, results: &Results) -> Finding {
        let finding = match &self.basis {
            Basis::Contrast(contrast) => contrast.find(results),
            Basis::Corrected { published, corrected } => {
                published.find(results).beside(corrected.find(results))
            }
            Basis::Theory(id) => examined(id),
            Basis::Check(_, check) => check(results).unwrap_or_else(Finding::too_little),
            Basis::NotReproducible(why) => Finding::not_reproducible(why.as_str()),
        };
        if finding.verdict == Verdict::NotReproducible {
            return finding;
        }
        if results.is_stale {
            return Finding::too_little("all results are of other code; run the experiment again");
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
