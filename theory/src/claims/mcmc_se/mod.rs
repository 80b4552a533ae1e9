//! The claims of MCMC-SE.

mod bias;

use super::Claim;

/// Every claim of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    bias::claims()
}
