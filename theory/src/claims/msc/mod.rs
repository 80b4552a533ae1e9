//! Claims of MSC.

mod batches;
mod candidates;
mod fixed_point;
mod flow;
mod skew_normal;

use super::Claim;

/// All claims of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    [candidates::claims(), flow::claims(), fixed_point::claims(), skew_normal::claims()]
        .into_iter()
        .flatten()
        .collect()
}
