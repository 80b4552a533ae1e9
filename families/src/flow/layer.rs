//! Layers of a flow: configuration, and the bijection of each in a given dimension.

use mcsa_core::Error;
use serde::{Deserialize, Serialize};

use super::act_norm::ActNorm;
use super::autoregressive::{Autoregressive, MaskedAffine};
use super::bijection::Bijection;
use super::block_neural::{BlockLayer, BlockNeural};
use super::coupling::{Coupling, CouplingLayer};
use super::linear::Linear;
use super::permutation::{Order, Permutation};

/// Layer of a flow: a bijection whose Jacobian determinant is cheap.
///
/// | layer | `y` | parameters |
/// |---|---|---|
/// | `Coupling` | each moving coordinate by a monotone map whose parameters depend on the others | those of its network |
/// | `Autoregressive` | each coordinate scaled and shifted depending on those before it | those of its network |
/// | `Permutation` | the coordinates in another order | none |
/// | `Linear` | `b + L U x` | `d + d^2`: `[b; L; U]` |
/// | `ActNorm` | `b + s x` | `2 d`: `[b; rho]`, `s = ln(1 + e^rho)` |
/// | `BlockNeural` | a network that is monotone in each coordinate; no inverse | those of its network |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Layer {
    /// Coupling: a network of some coordinates gives the maps of the others.
    Coupling(Coupling),
    /// Masked autoregressive affine map, or its inverse.
    Autoregressive(Autoregressive),
    /// Permutation of the coordinates.
    Permutation(Permutation),
    /// Invertible matrix by its triangular factors, and a shift (Kingma & Dhariwal 2018): `L` lower triangular by columns, packed
    /// as in [`FullRank`](crate::FullRank); `U` upper triangular by rows, without its diagonal of ones.
    Linear,
    /// Location and scale of each coordinate (Kingma & Dhariwal 2018), packed as in [`MeanField`](crate::MeanField).
    ActNorm,
    /// Block neural autoregressive network. Its inverse has no formula: only a [`Bnaf`](super::Bnaf) can have this layer.
    BlockNeural(BlockNeural),
}

impl Layer {
    /// True if the inverse can be evaluated, so that a flow of such layers has a density at every point.
    pub fn has_inverse(&self) -> bool {
        !matches!(self, Self::BlockNeural(_))
    }
}

/// A layer in a given dimension.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Coupling(CouplingLayer),
    Autoregressive(MaskedAffine),
    Permutation(Order),
    Linear(Linear),
    ActNorm(ActNorm),
    BlockNeural(BlockLayer),
}

impl Part {
    pub(super) fn new(layer: &Layer, dim: usize) -> Result<Self, Error> {
        Ok(match layer {
            Layer::Coupling(coupling) => Self::Coupling(CouplingLayer::new(coupling, dim)?),
            Layer::Autoregressive(config) => Self::Autoregressive(MaskedAffine::new(config, dim)?),
            Layer::Permutation(permutation) => Self::Permutation(Order { sources: permutation.sources(dim) }),
            Layer::Linear => Self::Linear(Linear { dim }),
            Layer::ActNorm => Self::ActNorm(ActNorm { dim }),
            Layer::BlockNeural(config) => Self::BlockNeural(BlockLayer::new(config, dim)?),
        })
    }

    pub(super) fn bijection(&self) -> &dyn Bijection {
        match self {
            Self::Coupling(coupling) => coupling,
            Self::Autoregressive(masked) => masked,
            Self::Permutation(order) => order,
            Self::Linear(linear) => linear,
            Self::ActNorm(norm) => norm,
            Self::BlockNeural(block) => block,
        }
    }

    /// Sets `params` such that the layer is `y = location + scales x`.
    pub(super) fn place(&self, location: &[f64], scales: &[f64], params: &mut [f64]) -> Result<(), Error> {
        match self {
            Self::ActNorm(norm) => norm.place(location, scales, params),
            Self::Linear(linear) => {
                let diagonal = |i, j| if i == j { scales[i] } else { 0.0 };
                linear.place(location, faer::Mat::from_fn(linear.dim, linear.dim, diagonal).as_ref(), params)
            }
            _ => Err(Error::invalid("the last layer has no location and scale: end with ActNorm or Linear")),
        }
    }
}
