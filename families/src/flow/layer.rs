//! Layers of a flow: configuration, and the bijection of each in a given dimension.

use std::sync::Arc;

use mcsa_core::{Error, Stream};
use serde::{Deserialize, Serialize};

use super::autoregressive::{Autoregressive, MaskedAffine};
use super::block_neural::{BlockLayer, BlockNeural};
use super::coupling::{Coupling, CouplingLayer};
use super::linear::{ActNorm, Linear};

/// Layer of a flow: a bijection whose Jacobian determinant is cheap.
///
/// | layer | `y` | parameters |
/// |---|---|---|
/// | `Coupling` | each moving coordinate by a monotone map whose parameters depend on the others | those of its network |
/// | `Autoregressive` | each coordinate scaled and shifted depending on those before it | those of its network |
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

    /// The bijection in dimension `dim`.
    pub(super) fn bijection(&self, dim: usize) -> Result<Arc<dyn Bijection>, Error> {
        Ok(match self {
            Self::Coupling(coupling) => Arc::new(CouplingLayer::new(coupling, dim)?),
            Self::Autoregressive(config) => Arc::new(MaskedAffine::new(config, dim)?),
            Self::Linear => Arc::new(Linear { dim }),
            Self::ActNorm => Arc::new(ActNorm { dim }),
            Self::BlockNeural(config) => Arc::new(BlockLayer::new(config, dim)?),
        })
    }
}

/// Parameters of a layer, and the quantities prepared from them for a batch.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) params: &'a [f64],
    pub(super) prepared: &'a [f64],
}

/// Direction in which a batch passes a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// `y = f(x)`.
    Forward,
    /// `x = f^-1(y)`.
    Inverse,
}

/// A block of points on its way through the layers, and lent memory.
pub(super) struct Block<'a> {
    /// The points, one after the other.
    pub(super) x: &'a mut [f64],
    /// `ln |det df/dx|` of each point, summed over the layers.
    pub(super) log_det: &'a mut [f64],
    pub(super) tape: &'a mut [f64],
    pub(super) work: &'a mut [f64],
}

/// Record of a sweep that a reverse sweep reads.
#[derive(Clone, Copy)]
pub(super) struct Sweep<'a> {
    pub(super) at: At<'a>,
    pub(super) direction: Direction,
    pub(super) tape: &'a [f64],
    /// Cotangent of `ln |det df/dx|` of each point, for either direction.
    pub(super) weights: &'a [f64],
}

/// Bijection `y = f(x)` on batches, points one after the other in a slice. The arithmetic of one point does not depend on the
/// others.
pub(super) trait Bijection: std::fmt::Debug + Send + Sync {
    fn num_params(&self) -> usize;

    /// Length of tape per point, which a sweep writes for the reverse sweep.
    fn tape_len(&self) -> usize;

    /// Length of the quantities that depend on lambda alone.
    fn prepared_len(&self) -> usize {
        0
    }

    fn work_len(&self, _columns: usize) -> usize {
        0
    }

    /// Fails for finite parameters at which the layer cannot be represented, or is no bijection.
    fn check(&self, _params: &[f64]) -> Result<(), Error> {
        Ok(())
    }

    /// Appends parameters at which the layer is the identity, exactly or nearly, up to the order of coordinates.
    fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) -> Result<(), Error>;

    /// Writes the quantities that depend on lambda alone; also those of backward sweeps if `backward`.
    fn prepare(&self, _params: &[f64], _prepared: &mut [f64], _backward: bool) {}

    /// `x <- f(x)` or `x <- f^-1(x)`, and `log_det += ln |det df/dx|` at the argument of `f`. Only flows all of whose layers
    /// [have an inverse](Layer::has_inverse) pass them inversely.
    fn pass(&self, at: At<'_>, direction: Direction, block: Block<'_>);

    /// Reverse-mode derivative: replaces cotangents of a sweep's output by those of its input; `gradient += ..` in the order of
    /// points.
    ///
    /// With `l = ln |det df/dx|` of cotangent `v`: after a forward pass it is `dx = f_x^T dy + v l_x` and
    /// `dlambda = f_lambda^T dy + v l_lambda`. After an inverse pass, `l` is still a function of `x`, which is then the output: with
    /// `g = dx + v l_x` it is `dy = f_x^-T g` and `dlambda = -f_lambda^T dy + v l_lambda`.
    fn backward(&self, sweep: Sweep<'_>, d: &mut [f64], gradient: &mut [f64], work: &mut [f64]);

    /// Sets `params` such that the layer is `y = location + scales x`.
    fn place(&self, _location: &[f64], _scales: &[f64], _params: &mut [f64]) -> Result<(), Error> {
        Err(Error::invalid("the last layer has no location and scale: end with ActNorm or Linear"))
    }
}
