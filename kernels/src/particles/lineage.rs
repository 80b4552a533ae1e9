//! Where the chosen path comes from.

use serde::{Deserialize, Serialize};

/// How the past of a path is found in conditional SMC. Tracing alone is valid, but all paths share their early states with the
/// retained one; the other two let go of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lineage {
    /// From each particle to its ancestor.
    Traced,
    /// Traced; but whenever particles are resampled, the retained path chooses an ancestor anew (Lindsten, Jordan & Schön 2014):
    ///
    /// ```text
    /// P(j) ∝ w_{t-1}^j  p(x_{t-1} | z_{t-1}^j) / psi_{t-1}(z_{t-1}^j)  p(z'_t | z_{t-1}^j)
    /// ```
    ///
    /// Unlike the paper, whose weight is `w_{t-1}^j q(z'_t | z_{t-1}^j)` (MSC, Alg. 4): with that one the posterior is not
    /// invariant.
    #[default]
    Ancestors,
    /// Every state is chosen anew on the way back, with the same weights, wherever particles were resampled (Whiteley 2010).
    /// It takes memory for the weights of all times.
    Backward,
}
