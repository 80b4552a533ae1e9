//! Retained atom of a case and its fresh competitors.

use crate::claims::Atoms;

/// Number of fresh candidates of a case.
pub(super) fn fresh(case: &Atoms) -> usize {
    case.samples - 1
}

/// Weight of the atom at which the chain is.
pub(super) fn weight(case: &Atoms) -> f64 {
    case.problem.w()[case.start]
}

/// Score of the atom at which the chain is.
pub(super) fn value(case: &Atoms) -> f64 {
    case.problem.s()[case.start]
}
