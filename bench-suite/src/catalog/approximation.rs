//! Variational families by name, and initial parameters of fits in them.

use mcsa_core::{Error, Stream};
use mcsa_families::{FullRank, GaussianFamily, Link, LowRank, MeanField, Rho, Start};
use serde::{Deserialize, Serialize};

/// A family by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Approximation {
    /// Gaussian with independent coordinates, the family of the papers.
    MeanField {
        /// Map from parameters to scales.
        #[serde(default = "softplus")]
        link: Link,
    },
    /// Gaussian with a dense covariance factor.
    FullRank,
    /// Gaussian with a covariance that is diagonal plus low rank.
    LowRank {
        /// Rank of the low-rank part.
        rank: usize,
    },
}

fn softplus() -> Link {
    Link::Softplus
}

impl Approximation {
    /// The family in `dim` dimensions, behind one pointer: a virtual call per batch.
    pub fn build(&self, dim: usize) -> Box<dyn GaussianFamily> {
        match *self {
            Self::MeanField { link } => Box::new(MeanField::new(dim).with_link(link)),
            Self::FullRank => Box::new(FullRank::new(dim)),
            Self::LowRank { rank } => Box::new(LowRank::new(dim, rank)),
        }
    }
}

/// Initial parameters of a fit. Names refer to the published experiments that use them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Beginning {
    /// Mean 0 and scale 1, not random.
    Standard,
    /// Random, near mean 0 and rho 0.
    Jittered,
    /// Means from a standard normal, scales about 1.1: see [`Start::twice_softplus`].
    TwiceSoftplus,
    /// Means from a standard normal, scale 1.
    UnitScale,
    /// Means from a standard normal, all rho equal.
    FixedRho {
        /// Value of rho.
        rho: f64,
    },
    /// Near mean 0 and rho 0.5.
    Probit,
    /// Random means, given scale.
    At {
        /// Scale of every coordinate.
        scale: f64,
        /// The standard deviation of the means.
        spread: f64,
    },
    /// Equal means and equal scales, not random.
    Placed {
        /// Mean of every coordinate.
        mean: f64,
        /// Scale of every coordinate.
        scale: f64,
    },
}

impl Beginning {
    /// Initial parameters lambda.
    ///
    /// # Errors
    /// If the family refuses the parameters.
    pub fn draw(&self, family: &dyn GaussianFamily, stream: &mut Stream) -> Result<Vec<f64>, Error> {
        let start = match *self {
            Self::Standard => Start::standard(),
            Self::Jittered => Start::jittered(),
            Self::TwiceSoftplus => Start::twice_softplus(),
            Self::UnitScale => Start::unit_scale(),
            Self::FixedRho { rho } => Start::fixed_rho(rho),
            Self::Probit => Start::probit(),
            Self::At { scale, spread } => {
                Start { mean_spread: spread, rho: Rho::Scale(scale), factor_spread: 0.1 }
            }
            Self::Placed { scale, .. } => {
                Start { mean_spread: 0.0, rho: Rho::Scale(scale), factor_spread: 0.1 }
            }
        };
        let mut params = start.draw(family, stream)?;
        if let Self::Placed { mean, .. } = *self {
            // In every family of this catalogue the first parameters are the means.
            params[..family.dim()].fill(mean);
        }
        Ok(params)
    }
}
