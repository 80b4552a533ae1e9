//! What trying a statement has found.

use std::fmt;

use serde::Serialize;

use super::{Relation, Sides};

/// What the numbers say of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// No case refuted it. Evidence, not a proof.
    Holds,
    /// It held, and a case came within a thousandth of refuting it: no better constant is possible there.
    Tight,
    /// Some case refutes it.
    Violated,
    /// It has no two sides that are numbers.
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

/// A case and what its two sides were.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Witness {
    /// The left-hand side.
    pub lhs: f64,
    /// The right-hand side.
    pub rhs: f64,
    /// [`Sides::badness`]: the ratio of the sides, or the difference in an identity. JSON has no infinity and says null.
    pub badness: f64,
    /// Whether this case refutes the statement.
    pub refutes: bool,
    /// Whether the statement is an identity.
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

/// What trying a statement has found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// What the numbers say.
    pub standing: Standing,
    /// The worst case that the search has found by itself.
    pub worst: Option<Witness>,
    /// The cases given with the claim, worked out.
    pub examples: Vec<Witness>,
    /// Random cases judged.
    pub tried: usize,
}

/// A ratio from here on is as good as 1.
const TIGHT: f64 = 0.999;

impl Finding {
    /// Decides from the witnesses.
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

    /// Whether nothing was found against the statement, and something was tried.
    pub fn holds(&self) -> bool {
        matches!(self.standing, Standing::Holds | Standing::Tight)
    }

    /// Whether the search, without the given examples, refuted the statement.
    pub fn search_refutes(&self) -> bool {
        self.worst.as_ref().is_some_and(|witness| witness.refutes)
    }

    /// The case to show: a given example that refutes, else the worst.
    pub fn shown(&self) -> Option<&Witness> {
        self.examples.iter().find(|witness| witness.refutes).or(self.worst.as_ref()).or(self.examples.first())
    }

    /// The largest badness over all witnesses.
    pub fn worst_badness(&self) -> Option<f64> {
        self.worst.iter().chain(&self.examples).map(|witness| witness.badness).reduce(f64::max)
    }
}
