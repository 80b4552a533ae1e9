//! Gap of a chain with a surrogate likelihood, in its parts.

use crate::claims::Sides;
use crate::dais::{LinearDais, Quadratic};

/// Parts of the gap of a chain under a surrogate.
pub(super) struct Gap {
    /// The gap `log p(D) - L`.
    pub(super) whole: f64,
    /// `KL(surrogate posterior || posterior)`.
    pub(super) limit: f64,
    /// The gap under the surrogate itself.
    pub(super) own: f64,
    /// Difference `E_surrogate - E_(z_K)` of the surrogate's error.
    pub(super) error: f64,
}

impl Gap {
    /// Closed form for a linear Gaussian model.
    pub(super) fn of(chain: &LinearDais, likelihood: &Quadratic) -> Option<Self> {
        let (surrogate, _) = chain.prior.posterior(&chain.surrogate).ok()?;
        let (posterior, _) = chain.prior.posterior(likelihood).ok()?;
        let error = likelihood.minus(&chain.surrogate);
        Some(Self {
            whole: chain.gap(&posterior),
            limit: surrogate.divergence(&posterior),
            own: chain.gap(&surrogate),
            error: error.mean(&surrogate) - error.mean(&chain.end().law().ok()?),
        })
    }

    /// `log p(D) - L = KL(p_S || p) + gap_S(K) + (E_(p_S) - E_(z_K))[log l - log l_S]`.
    pub(super) fn sides(&self) -> Sides {
        Sides::equal(self.whole, self.limit + self.own + self.error)
    }

    /// The identity without its last term.
    pub(super) fn without_error(&self) -> Sides {
        Sides::equal(self.whole, self.limit + self.own)
    }
}
