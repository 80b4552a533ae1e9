//! Verdict on a fit: yes, or no with reasons.
//!
//! `look.rs` makes the checks of q and its draws in order: `checks.rs` compares q with starts and with chains of another kernel (`witness.rs`),
//! `wider_proposals.rs` with stretched copies of q, `tails.rs` looks at the density far out, and `outside.rs` at mass beyond the draws. `mending.rs`
//! takes q on to a mixture where a check fails. `objection.rs` has the words, `rates.rs` and `measured.rs` the error rates.

pub(crate) mod checks;
pub(crate) mod look;
pub(crate) mod measured;
pub(crate) mod mending;
pub(crate) mod objection;
pub(crate) mod outside;
pub(crate) mod rates;
pub(crate) mod tails;
pub(crate) mod wider_proposals;
pub(crate) mod witness;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::posterior::{MEASURED, MEASURED_BY_CHAINS, MEASURED_BY_DENSITY, Objection};

/// Verdict on a fit: yes if every check passes. Most checks do not rest on draws of q alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Objections; none means yes.
    pub objections: Vec<Objection>,
    /// True if chains are the answer; the verdict on them has error rates of its own.
    pub by_chains: bool,
    /// False if the fit used the log density alone; the verdict then has error rates of its own.
    pub has_gradient: bool,
}

impl Verdict {
    /// True if all checks passed.
    pub fn is_yes(&self) -> bool {
        self.objections.is_empty()
    }

    /// What to do about the objections, each advice once. Where the model is at fault, or a limit ended the fit, other objections may follow
    /// from that.
    fn advice(&self) -> Vec<&'static str> {
        let causes = [Objection::is_to_model, Objection::is_limit];
        let cause = causes.iter().find(|is_cause| self.objections.iter().any(is_cause));
        let mut found: Vec<&str> = Vec::new();
        for objection in self.objections.iter().filter(|found| cause.is_none_or(|is_cause| is_cause(found))) {
            if !found.contains(&objection.advice()) {
                found.push(objection.advice());
            }
        }
        found
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rates = match self.has_gradient {
            _ if self.by_chains => MEASURED_BY_CHAINS,
            true => MEASURED,
            false => MEASURED_BY_DENSITY,
        };
        if self.is_yes() {
            return write!(f, "yes, all checks passed; {}", rates.of_yes());
        }
        f.write_str("no")?;
        self.objections.iter().try_for_each(|objection| write!(f, "\n  - {objection}"))?;
        write!(f, "\nWhat to do: {}.\n{}", self.advice().join("; "), rates.of_no())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_no_says_what_to_do() {
        let no = |objections: &[Objection]| {
            Verdict { objections: objections.to_vec(), has_gradient: true, by_chains: false }.to_string()
        };
        let slow = Objection::Slow { name: "tau".into(), sample_size: 90.0 };
        let tail = |fall| Objection::Tail { name: "tau".into(), fall };
        let more = "raise the budget of evaluations, or write the model in other parameters";
        let words = no(&[slow.clone(), Objection::Mixing { name: "tau".into(), r_hat: 2.0 }, tail(2.5)]);
        assert!(words.contains(&format!("\nWhat to do: {more}; {}.\n", tail(2.5).advice())), "{words}");
        // A limit, or an improper posterior, may be the cause of the other objections.
        for (cause, advice) in
            [(Objection::Budget, "the limit of evaluations"), (tail(0.5), "a proper prior")]
        {
            let words = no(&[slow.clone(), cause]);
            assert!(!words.contains(more) && words.contains(advice), "{words}");
        }
    }
}
