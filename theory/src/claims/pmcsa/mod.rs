//! Claims of pMCSA. `|s| <= L` throughout; candidates include the retained one.

mod averages;
mod candidates;
mod joint;
mod objective;
mod parallel;
mod rao_blackwellised;
mod repository;
mod sequential;
mod sequential_moment;
mod smith_tierney;

use super::Claim;

/// All claims of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    [
        objective::claims(),
        smith_tierney::claims(),
        averages::claims(),
        candidates::claims(),
        rao_blackwellised::claims(),
        sequential::claims(),
        sequential_moment::claims(),
        parallel::claims(),
        repository::claims(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
