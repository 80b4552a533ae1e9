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
use super::planar::Planar;
use super::radial::Radial;

/// Layer of a flow: a bijection whose Jacobian determinant is cheap.
///
/// | layer | `y` | parameters |
/// |---|---|---|
/// | `Coupling` | each moving coordinate by a monotone map whose parameters depend on the others | those of its network |
/// | `Autoregressive` | each coordinate scaled and shifted depending on those before it | those of its network |
/// | `Permutation` | the coordinates in another order | none |
/// | `Linear` | `b + L U x` | `d + d^2`: `[b; L; U]` |
/// | `ActNorm` | `b + s x` | `2 d`: `[b; rho]`, `s = ln(1 + e^rho)` |
/// | `Planar` | `x + u' tanh(w . x + b)` | `2 d + 1`: `[w; u; b]` |
/// | `Radial` | `x + beta' (x - z0) / (alpha + \|x - z0\|)` | `d + 2`: `[z0; a; b]` |
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
    /// Planar layer: it stretches or compresses space along one direction, near one plane.
    ///
    /// ```text
    /// y = x + u' tanh(a),   a = w . x + b,   u' = u + (c - w . u) w / |w|^2,   c = -1 + softplus(w . u)
    /// log |det dy/dx| = log(1 + c sech^2 a) = log(tanh^2 a + softplus(w . u) sech^2 a),   params [w; u; b]
    /// ```
    /// (Rezende & Mohamed 2015, eq. 10 and appendix A.1.) Since `w . u' = c > -1`, the map is a bijection at every lambda, and the
    /// second form of the log-determinant has no cancellation.
    ///
    /// The inverse solves one scalar equation, `a + c tanh a = w . y + b`, monotone in `a`, by Newton's method. It starts on the
    /// side on which every step moves towards the root, and ends when rounding stops it (some 5 steps, at most 100). If `c` is near
    /// -1 the map is nearly flat at its plane and the equation is ill-posed there: it loses as many digits as `sech^2 a` comes near
    /// `-1/c`.
    ///
    /// Refused are `|w|^2 < 1e-200` and a `w . u` whose softplus is not a normal number.
    Planar,
    /// Radial layer: it contracts space towards a centre or expands it.
    ///
    /// ```text
    /// y = x + beta' h (x - z0),   h = 1 / (alpha + r),   r = |x - z0|,   alpha = softplus(a),   beta' = -alpha + softplus(b)
    /// log |det dy/dx| = (d - 1) log(1 + beta' h) + log(1 + beta' h + beta' h' r),               params [z0; a; b]
    /// ```
    /// (Rezende & Mohamed 2015, eq. 14 and appendix A.2.) Since `beta' > -alpha`, the map is a bijection at every lambda. With
    /// `e = softplus(b)` the two factors are `(r + e) / (alpha + r)` and `(r^2 + 2 alpha r + alpha e) / (alpha + r)^2`, without
    /// cancellation.
    ///
    /// The inverse has a closed form: the distance `s = |y - z0|` satisfies `s (alpha + r) = r (r + e)`, a quadratic in `r` with one
    /// nonnegative root. At `r = 0` the log-determinant has a kink; its slope there is taken as 0.
    Radial,
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
    Planar(Planar),
    Radial(Radial),
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
            Layer::Planar => Self::Planar(Planar { dim }),
            Layer::Radial => Self::Radial(Radial { dim }),
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
            Self::Planar(planar) => planar,
            Self::Radial(radial) => radial,
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
