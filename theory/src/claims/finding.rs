//! Results of testing a statement.

use std::fmt;

use serde::Serialize;

use super::{Relation, Sides};

/// Standing of a statement after the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// No case refuted it, which is evidence and not a proof.
    Holds,
    /// No case refuted it, and one came within a thousandth: no better constant is possible there.
    Tight,
    /// At least one case refutes it.
    Violated,
    /// Its two sides cannot be computed.
    NotCheckable,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Holds => "holds",
            Self::Tight => "tight",
            Self::Violated => "VIOLATED",
            Self::NotCheckable => "not checkable",
        })
    }
}

/// A case and the values of the two sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Witness {
    /// The left-hand side.
    pub lhs: f64,
    /// The right-hand side.
    pub rhs: f64,
    /// [`Sides::badness`]: the ratio of the sides, or the difference in an identity. Infinity is written as null in JSON.
    pub badness: f64,
    /// True if this case refutes the statement.
    pub refutes: bool,
    /// True if the statement is an identity.
    pub identity: bool,
    /// The case, in words and numbers.
    pub case: String,
}

impl Witness {
    pub(super) fn new(sides: Sides, case: String) -> Self {
        Self {
            lhs: sides.lhs,
            rhs: sides.rhs,
            badness: sides.badness(),
            refutes: sides.refute(),
            identity: sides.relation == Relation::Equal,
            case,
        }
    }
}

/// Result of testing a statement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Standing that follows from the cases.
    pub standing: Standing,
    /// The worst case found by the search, without the examples.
    pub worst: Option<Witness>,
    /// The examples given with the claim.
    pub examples: Vec<Witness>,
    /// Number of random cases tested.
    pub tried: usize,
}

/// Ratio from which on a bound counts as attained.
const TIGHT: f64 = 0.999;

impl Finding {
    /// The result that follows from the witnesses.
    pub(super) fn of(worst: Option<Witness>, examples: Vec<Witness>, tried: usize) -> Self {
        let all = || worst.iter().chain(&examples);
        let standing = if all().any(|witness| witness.refutes) {
            Standing::Violated
        } else if all().any(|witness| !witness.identity && witness.badness >= TIGHT) {
            Standing::Tight
        } else if all().next().is_some() {
            Standing::Holds
        } else {
            Standing::NotCheckable
        };
        Self { standing, worst, examples, tried }
    }

    /// True if something was tested and nothing refuted the statement.
    pub fn holds(&self) -> bool {
        matches!(self.standing, Standing::Holds | Standing::Tight)
    }

    /// True if the search refuted the statement, the given examples aside.
    pub fn search_refutes(&self) -> bool {
        self.worst.as_ref().is_some_and(|witness| witness.refutes)
    }

    /// The case to print: a given example that refutes, else the worst case.
    pub fn shown(&self) -> Option<&Witness> {
        self.examples.iter().find(|witness| witness.refutes).or(self.worst.as_ref()).or(self.examples.first())
    }

    /// Largest badness over all witnesses.
    pub fn worst_badness(&self) -> Option<f64> {
        self.worst.iter().chain(&self.examples).map(|witness| witness.badness).reduce(f64::max)
    }
}
