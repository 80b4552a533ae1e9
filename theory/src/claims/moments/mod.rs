//! Claims on running moments, the natural-gradient ascent without a learning rate: statements of this workspace, not of a paper.

mod ascent;
mod convergence;
mod fixed_point;
mod line;

use super::Claim;

/// All claims, in the order of their names.
pub(super) fn all() -> Vec<Claim> {
    [fixed_point::claims(), ascent::claims(), convergence::claims()].into_iter().flatten().collect()
}
