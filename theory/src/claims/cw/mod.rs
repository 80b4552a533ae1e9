//! Claims of CW. Its conditional importance sampling counts fresh candidates, so its N is one less than the number
//! of candidates of a case.

mod bias;
mod rejection;
mod retained;
mod variance;

use super::Claim;

/// All claims of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    let mut all = bias::claims();
    all.extend(variance::claims());
    all.extend(rejection::claims());
    all
}
