//! Ancestor tracing, ancestor sampling and backward sampling.

use serde::{Deserialize, Serialize};

/// Rule for the past of the path drawn by conditional SMC. Tracing alone is valid, but all paths share their early states
/// with the retained path; the other two rules avoid this degeneracy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lineage {
    /// Trace each particle back to its ancestor.
    Traced,
    /// Ancestor sampling: as `Traced`, but whenever particles are resampled, the retained path draws a new ancestor
    /// (Lindsten, Jordan & Schön 2014):
    ///
    /// ```text
    /// P(j) ∝ w_{t-1}^j  p(x_{t-1} | z_{t-1}^j) / psi_{t-1}(z_{t-1}^j)  p(z'_t | z_{t-1}^j)
    /// ```
    ///
    /// Unlike the paper, whose weight is `w_{t-1}^j q(z'_t | z_{t-1}^j)` (MSC, Alg. 4): with that weight the posterior is
    /// not invariant.
    #[default]
    Ancestors,
    /// Backward sampling (Whiteley 2010): a backward pass draws every state anew, with the weights of `Ancestors`, at each
    /// time at which particles were resampled. Needs memory for the weights of all times.
    Backward,
}
