//! Families among which a fit chooses.

use mcsa_core::{Error, MomentMatched};
use mcsa_families::{Learned, Mixture, MultivariateT};
use serde::{Deserialize, Serialize};

/// Family of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Multivariate Student t with a dense scale matrix and learned degrees of freedom.
    StudentT,
    /// Mixture of such Student t.
    Mixture {
        /// Number of components.
        components: usize,
    },
}

/// Lower bound of the degrees of freedom: with it the covariance is finite.
const FLOOR: f64 = 2.0;

impl Shape {
    /// The Student t in `dim` dimensions.
    pub(crate) fn student_t(dim: usize) -> Result<MultivariateT<Learned>, Error> {
        MultivariateT::learned(dim, FLOOR)
    }

    /// The mixture of `components` Student t in `dim` dimensions.
    pub(crate) fn mixture(dim: usize, components: usize) -> Result<Mixture<MultivariateT<Learned>>, Error> {
        Mixture::new(Self::student_t(dim)?, components)
    }

    /// The family in `dim` dimensions.
    pub(crate) fn build(self, dim: usize) -> Result<Box<dyn MomentMatched>, Error> {
        Ok(match self {
            Self::StudentT => Box::new(Self::student_t(dim)?),
            Self::Mixture { components } => Box::new(Self::mixture(dim, components)?),
        })
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::StudentT => f.write_str("a Student t"),
            Self::Mixture { components } => write!(f, "a mixture of {components} Student t"),
        }
    }
}
