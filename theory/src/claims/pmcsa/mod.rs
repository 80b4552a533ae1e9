//! The claims of pMCSA. `|s| <= L` throughout; candidates include the retained one.

use super::Claim;

/// Every claim of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    Vec::new()
}
