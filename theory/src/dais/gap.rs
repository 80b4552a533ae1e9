//! Gap of a chain with a surrogate likelihood, in its parts.

use mcsa_core::Error;

use super::chain::LinearDais;
use super::quadratic::Quadratic;

/// Gap of a chain under a surrogate likelihood, and its three parts (SL-DAIS, Prop. 3).
///
/// ```text
/// log p(D) - L = KL(p_S || p) + gap_S + (E_(p_S) - E_(z_K))[log l - log l_S]
/// ```
/// with the surrogate posterior `p_S`, and the gap `gap_S` of the chain as one for the surrogate itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// The gap `log p(D) - L`, computed without its parts.
    pub whole: f64,
    /// `KL(p_S || p)`, the limit of many steps.
    pub divergence: f64,
    /// The gap under the surrogate itself.
    pub own: f64,
    /// Difference `E_(p_S) - E_(z_K)` of the error of the surrogate.
    pub error: f64,
}

impl Gap {
    /// Closed form for a linear Gaussian model.
    ///
    /// # Errors
    /// If a posterior is not proper, or the chain overflowed.
    pub fn of(chain: &LinearDais, likelihood: &Quadratic) -> Result<Self, Error> {
        let (surrogate, _) = chain.prior.posterior(&chain.surrogate)?;
        let (posterior, _) = chain.prior.posterior(likelihood)?;
        let error = likelihood.minus(&chain.surrogate);
        Ok(Self {
            whole: chain.gap(&posterior),
            divergence: surrogate.divergence(&posterior),
            own: chain.gap(&surrogate),
            error: error.mean(&surrogate) - error.mean(&chain.end().law()?),
        })
    }

    /// The sum of the three parts.
    pub fn sum(&self) -> f64 {
        self.divergence + self.own + self.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dais::Normal;

    #[test]
    fn the_parts_add_up_to_the_gap() {
        let prior = Normal::diagonal(vec![0.3, -0.2], &[0.9, 1.4]).unwrap();
        let likelihood = |slope: f64, bend: f64| Quadratic {
            slope: vec![slope, 0.4],
            curvature: faer::mat![[2.0, bend], [bend, 1.0]],
            constant: -3.0,
        };
        let exact = likelihood(1.0, 0.5);
        for steps in [1, 3, 9] {
            let chain = LinearDais::from_prior(&prior, &likelihood(1.3, 0.2), steps, 0.4);
            let gap = Gap::of(&chain, &exact).unwrap();
            assert!((gap.whole - gap.sum()).abs() < 1e-12, "{gap:?}");
            assert!((gap.whole - gap.divergence - gap.own).abs() > 1e-3, "without the last part: {gap:?}");
        }
        let own = Gap::of(&LinearDais::from_prior(&prior, &exact, 3, 0.4), &exact).unwrap();
        assert!(own.divergence.abs() + own.error.abs() < 1e-14 && (own.whole - own.own).abs() < 1e-14);
    }
}
