//! Claims of SL-DAIS, in one dimension with Gaussian distributions. The available text lacks its displayed equations; the
//! statements are reconstructed from its sentences.

mod batch;
mod linear;
mod surrogate;

use super::Claim;

/// All claims of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    let mut all = surrogate::bounds();
    all.extend(batch::claims());
    all.push(surrogate::limit());
    all
}
