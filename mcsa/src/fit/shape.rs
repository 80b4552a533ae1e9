//! Families among which a fit chooses.

use mcsa_core::{Error, Family, MomentMatched};
use mcsa_families::{GaussianFamily, Learned, LowRank, Mixture, MultivariateT};
use mcsa_optim::deterministic::Gaussian;
use serde::{Deserialize, Serialize};

use super::flow::flow;
use super::low_rank::DENSE;

/// Family of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Gaussian with a low-rank plus diagonal covariance.
    LowRank {
        /// Number of factors.
        rank: usize,
    },
    /// Multivariate Student t with a dense scale matrix and learned degrees of freedom.
    StudentT,
    /// Mixture of such Student t.
    Mixture {
        /// Number of components.
        components: usize,
    },
    /// RealNVP flow: affine couplings of a Gaussian.
    Flow,
}

/// Lower bound of the degrees of freedom: with it the covariance is finite.
const FLOOR: f64 = 2.0;
/// Components of the first mixture for a posterior that is no Student t.
pub(crate) const BENT: usize = 4;
/// Most components.
pub(crate) const COMPONENTS: usize = 16;

impl Shape {
    /// The Student t in `dim` dimensions.
    pub(crate) fn student_t(dim: usize) -> Result<MultivariateT<Learned>, Error> {
        MultivariateT::learned(dim, FLOOR)
    }

    /// The mixture of `components` Student t in `dim` dimensions.
    pub(crate) fn mixture(dim: usize, components: usize) -> Result<Mixture<MultivariateT<Learned>>, Error> {
        Mixture::new(Self::student_t(dim)?, components)
    }

    /// The next larger family; `None` if there is none, or none whose moments chains determine in `dim` dimensions.
    pub(crate) const fn larger(self, dim: usize) -> Option<Self> {
        match self {
            Self::LowRank { .. } => Some(Self::StudentT),
            _ if dim > DENSE => None,
            Self::StudentT => Some(Self::Mixture { components: BENT }),
            Self::Mixture { components } if 2 * components <= COMPONENTS => {
                Some(Self::Mixture { components: 2 * components })
            }
            Self::Mixture { .. } | Self::Flow => None,
        }
    }

    /// Mean and covariance of a family that is not a mixture.
    pub(crate) fn moments(self, dim: usize, params: &[f64]) -> Result<Option<Gaussian>, Error> {
        let covariance = match self {
            Self::LowRank { rank } => Some(LowRank::new(dim, rank).moments(params)?.covariance()),
            Self::StudentT => Self::student_t(dim)?.covariance(params)?,
            Self::Mixture { .. } | Self::Flow => None,
        };
        Ok(covariance.map(|covariance| Gaussian { mean: params[..dim].to_vec(), covariance }))
    }

    /// The family in `dim` dimensions.
    pub(crate) fn build(self, dim: usize) -> Result<Box<dyn Family>, Error> {
        Ok(match self.matched(dim)? {
            Some(family) => family,
            None => Box::new(flow(dim)?),
        })
    }

    /// The family in `dim` dimensions, if it is fitted by running moments.
    pub(crate) fn matched(self, dim: usize) -> Result<Option<Box<dyn MomentMatched>>, Error> {
        Ok(Some(match self {
            Self::LowRank { rank } => Box::new(LowRank::new(dim, rank)),
            Self::StudentT => Box::new(Self::student_t(dim)?),
            Self::Mixture { components } => Box::new(Self::mixture(dim, components)?),
            Self::Flow => return Ok(None),
        }))
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::LowRank { rank } => write!(f, "a Gaussian of rank {rank}"),
            Self::StudentT => f.write_str("a Student t"),
            Self::Flow => f.write_str("a flow"),
            Self::Mixture { components } => write!(f, "a mixture of {components} Student t"),
        }
    }
}
