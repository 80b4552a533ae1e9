//! Families by name, and where a fit in them begins.

use mcsa::{Error, Stream};
use mcsa_families::{FullRank, Gaussian, Link, LowRank, MeanField, Rho, Start};
use serde::{Deserialize, Serialize};

/// A family by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Approximation {
    /// Independent Gaussians, the family of the papers.
    MeanField {
        /// From parameters to scales.
        #[serde(default = "softplus")]
        link: Link,
    },
    /// A Gaussian with a dense factor.
    FullRank,
    /// A Gaussian whose covariance is diagonal plus low rank.
    LowRank {
        /// The rank.
        rank: usize,
    },
}

fn softplus() -> Link {
    Link::Softplus
}

impl Approximation {
    /// The family in `dim` dimensions, behind one pointer: a virtual call per batch.
    pub fn build(&self, dim: usize) -> Box<dyn Gaussian> {
        match *self {
            Self::MeanField { link } => Box::new(MeanField::new(dim).with_link(link)),
            Self::FullRank => Box::new(FullRank::new(dim)),
            Self::LowRank { rank } => Box::new(LowRank::new(dim, rank)),
        }
    }
}

/// Where a fit begins, named after the published experiments that begin there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Beginning {
    /// Mean 0, scale 1, without chance.
    Standard,
    /// Near mean 0 and rho 0.
    Jittered,
    /// Means from a standard normal, scales about 1.1: see [`Start::twice_softplus`].
    TwiceSoftplus,
    /// Means from a standard normal, scale 1.
    UnitScale,
    /// Means from a standard normal, every rho the same.
    FixedRho {
        /// The rho.
        rho: f64,
    },
    /// Near mean 0 and rho 0.5.
    Probit,
    /// Every mean and every scale as given.
    At {
        /// The scale.
        scale: f64,
        /// The standard deviation of the means.
        spread: f64,
    },
    /// Every mean the same and every scale the same, without chance.
    Placed {
        /// The mean.
        mean: f64,
        /// The scale.
        scale: f64,
    },
}

impl Beginning {
    /// Params to begin with.
    ///
    /// # Errors
    /// If the family refuses them.
    pub fn draw(&self, family: &dyn Gaussian, stream: &mut Stream) -> Result<Vec<f64>, Error> {
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
            // Means are the first parameters of every family here.
            params[..family.dim()].fill(mean);
        }
        Ok(params)
    }
}
