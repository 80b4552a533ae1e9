//! Claims of SL-DAIS, on linear Gaussian models. The available text lacks its displayed equations; the statements are
//! reconstructed from its sentences.

mod batch;
mod chains;
mod linear;
mod logistic;
mod optimum;
mod subsets;
mod surrogate;

use super::Claim;

/// All claims of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    let mut all = surrogate::bounds();
    all.extend(chains::claims());
    all.extend(batch::claims());
    all.extend(subsets::claims());
    all.push(surrogate::limit());
    all.extend([chains::parts(), logistic::parts(), chains::second_order(), surrogate::steps()]);
    all.extend(optimum::claims());
    all
}
