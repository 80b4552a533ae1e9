//! Claims of MCMC-SE. `|s| <= L / 2` throughout.

mod bias;
mod divergence;
mod kernel;
mod variance;

use super::Claim;

/// All claims of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    [kernel::claims(), bias::claims(), divergence::claims(), variance::claims()]
        .into_iter()
        .flatten()
        .collect()
}
