//! Claims of CW. Its conditional importance sampling counts fresh candidates, so its N is one less than the number
//! of candidates of a case.

mod bias;
mod rejection;
mod variance;

use super::{Atoms, Claim};

/// All claims of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    let mut all = bias::claims();
    all.extend(variance::claims());
    all.extend(rejection::claims());
    all
}

/// Number of fresh candidates of a case.
fn fresh(case: &Atoms) -> usize {
    case.samples - 1
}

/// Weight of the atom at which the chain is.
fn weight(case: &Atoms) -> f64 {
    case.problem.w()[case.start]
}

/// Score of the atom at which the chain is.
fn value(case: &Atoms) -> f64 {
    case.problem.s()[case.start]
}
