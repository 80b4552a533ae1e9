//! The claims of CW. Its conditional importance sampling counts fresh candidates: N here is one less than the number
//! of candidates of a case.

mod bias;
mod rejection;
mod variance;

use super::{Atoms, Claim};

/// Every claim of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    let mut all = bias::claims();
    all.extend(variance::claims());
    all.extend(rejection::claims());
    all
}

/// Candidates of a case that are not the retained one.
fn fresh(case: &Atoms) -> usize {
    case.samples - 1
}

/// The weight of the atom where the chain is.
fn weight(case: &Atoms) -> f64 {
    case.problem.w()[case.start]
}

/// The score there.
fn value(case: &Atoms) -> f64 {
    case.problem.s()[case.start]
}
