//! A claim with its source and its check.

use super::{Contrast, ENOUGH, Finding, Verdict};
use crate::experiments::examined;
use crate::results::Results;

/// Check of a claim in Rust.
pub type Check = fn(&Results) -> Finding;

/// A claim, with its source and its check.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Citation: `CW, Fig. 6`.
    pub citation: String,
    /// The claim in our words.
    pub sentence: String,
    /// Check against results.
    pub basis: Basis,
}

/// Check of a claim.
#[derive(Debug, Clone)]
pub enum Basis {
    /// Comparison of metrics of methods.
    Contrast(Contrast),
    /// Search for a counterexample to the claim of this id in [`mcsa_theory::claims`].
    Theory(String),
    /// Function of the experiment's room, with its name.
    Check(String, Check),
    /// Reason why the claim cannot be reproduced.
    NotReproducible(String),
}

impl Claim {
    /// Checks the claim. Abstains if results are of other code or have too few replicates. An exhibit needs no replicates,
    /// because it has no randomness. A verdict on synthetic stand-ins says so.
    pub fn find(&self, results: &Results) -> Finding {
        let finding = match &self.basis {
            Basis::Contrast(contrast) => contrast.find(results),
            Basis::Theory(id) => examined(id),
            Basis::Check(_, check) => check(results),
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
