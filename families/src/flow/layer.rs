//! Layers of a flow: configuration, and bijections with log-determinants and derivatives.

use mcsa_core::{Error, Stream};
use serde::{Deserialize, Serialize};

use super::act_norm::ActNorm;
use super::coupling::{Coupling, CouplingLayer};
use super::linear::Linear;
use super::mask::Permutation;

/// Layer of a flow: a bijection whose Jacobian determinant is cheap.
///
/// | layer | `y` | parameters |
/// |---|---|---|
/// | `Coupling` | each moving coordinate by a monotone map whose parameters depend on the others | those of its network |
/// | `Permutation` | the coordinates in another order | none |
/// | `Linear` | `b + L U x` | `d + d^2`: `[b; L; U]` |
/// | `ActNorm` | `b + s x` | `2 d`: `[b; rho]`, `s = ln(1 + e^rho)` |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Layer {
    /// Coupling: a network of some coordinates gives the maps of the others.
    Coupling(Coupling),
    /// Permutation of the coordinates.
    Permutation(Permutation),
    /// Invertible matrix by its triangular factors, and a shift (Kingma & Dhariwal 2018): `L` lower triangular by columns, packed
    /// as in [`FullRank`](crate::FullRank); `U` upper triangular by rows, without its diagonal of ones.
    Linear,
    /// Location and scale of each coordinate (Kingma & Dhariwal 2018), packed as in [`MeanField`](crate::MeanField).
    ActNorm,
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

/// Record of a sweep that a reverse sweep reads.
#[derive(Clone, Copy)]
pub(super) struct Sweep<'a> {
    pub(super) direction: Direction,
    pub(super) tape: &'a [f64],
    /// Cotangent of `ln |det df/dx|` of each point, for either direction.
    pub(super) weights: &'a [f64],
}

/// Bijection `y = f(x)` on batches, points one after the other in a slice. The arithmetic of one point does not depend on the
/// others.
pub(super) trait Bijection {
    fn num_params(&self) -> usize;

    /// Length of tape per point, which a sweep writes for the reverse sweep.
    fn tape_len(&self) -> usize;

    /// Length of the quantities that depend on lambda alone.
    fn prepared_len(&self) -> usize;

    fn work_len(&self, columns: usize) -> usize;

    /// Refuses finite parameters at which the layer cannot be represented.
    fn check(&self, params: &[f64]) -> Result<(), Error>;

    /// Writes the quantities that depend on lambda alone; also those of backward sweeps if `backward`.
    fn prepare(&self, params: &[f64], prepared: &mut [f64], backward: bool);

    /// `x <- f(x)`, `log_det += ln |det df/dx|`.
    fn forward(&self, at: At<'_>, x: &mut [f64], log_det: &mut [f64], tape: &mut [f64], work: &mut [f64]);

    /// `y <- f^-1(y)`, `log_det += ln |det df/dx|` at the result.
    fn inverse(&self, at: At<'_>, y: &mut [f64], log_det: &mut [f64], tape: &mut [f64], work: &mut [f64]);

    /// Reverse-mode derivative: replaces cotangents of a sweep's output by those of its input; `gradient += ..` in the order of
    /// points.
    ///
    /// With `l = ln |det df/dx|` of cotangent `v`: after `forward` it is `dx = f_x^T dy + v l_x` and
    /// `dlambda = f_lambda^T dy + v l_lambda`. After `inverse`, `l` is still a function of `x`, which is then the output: with
    /// `g = dx + v l_x` it is `dy = f_x^-T g` and `dlambda = -f_lambda^T dy + v l_lambda`.
    fn backward(
        &self,
        at: At<'_>,
        sweep: Sweep<'_>,
        d: &mut [f64],
        gradient: Option<&mut [f64]>,
        work: &mut [f64],
    );
}

/// A layer in a given dimension.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Coupling(CouplingLayer),
    Permutation(Order),
    Linear(Linear),
    ActNorm(ActNorm),
}

impl Part {
    pub(super) fn new(layer: &Layer, dim: usize) -> Result<Self, Error> {
        Ok(match layer {
            Layer::Coupling(coupling) => Self::Coupling(CouplingLayer::new(coupling, dim)?),
            Layer::Permutation(permutation) => Self::Permutation(Order { sources: permutation.sources(dim) }),
            Layer::Linear => Self::Linear(Linear { dim }),
            Layer::ActNorm => Self::ActNorm(ActNorm { dim }),
        })
    }

    pub(super) fn bijection(&self) -> &dyn Bijection {
        match self {
            Self::Coupling(coupling) => coupling,
            Self::Permutation(order) => order,
            Self::Linear(linear) => linear,
            Self::ActNorm(norm) => norm,
        }
    }

    /// Appends parameters at which the layer is the identity, up to the order of coordinates.
    pub(super) fn start(&self, stream: &mut Stream, params: &mut Vec<f64>) -> Result<(), Error> {
        match self {
            Self::Coupling(coupling) => coupling.network().start(stream, params),
            Self::Permutation(_) => {}
            Self::Linear(Linear { dim }) | Self::ActNorm(ActNorm { dim }) => {
                let start = params.len();
                params.resize(start + self.bijection().num_params(), 0.0);
                self.place(&vec![0.0; *dim], &vec![1.0; *dim], &mut params[start..])?;
            }
        }
        Ok(())
    }

    /// Sets `params` such that the layer is `y = location + scales x`.
    pub(super) fn place(&self, location: &[f64], scales: &[f64], params: &mut [f64]) -> Result<(), Error> {
        match self {
            Self::ActNorm(norm) => norm.place(location, scales, params),
            Self::Linear(linear) => {
                let diagonal = |i, j| if i == j { scales[i] } else { 0.0 };
                linear.place(location, faer::Mat::from_fn(linear.dim, linear.dim, diagonal).as_ref(), params)
            }
            Self::Coupling(_) | Self::Permutation(_) => {
                Err(Error::invalid("the last layer has no location and scale: end with ActNorm or Linear"))
            }
        }
    }
}

/// Permutation of a given dimension: `y_i = x_source[i]`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Order {
    sources: Vec<usize>,
}

impl Order {
    /// `x_i <- x_source[i]` of each point, or the inverse.
    fn apply(&self, direction: Direction, points: &mut [f64], work: &mut [f64]) {
        let dim = self.sources.len();
        for x in points.chunks_exact_mut(dim) {
            let before = &mut work[..dim];
            before.copy_from_slice(x);
            for (i, &source) in self.sources.iter().enumerate() {
                match direction {
                    Direction::Forward => x[i] = before[source],
                    Direction::Inverse => x[source] = before[i],
                }
            }
        }
    }
}

impl Bijection for Order {
    fn num_params(&self) -> usize {
        0
    }

    fn tape_len(&self) -> usize {
        0
    }

    fn prepared_len(&self) -> usize {
        0
    }

    fn work_len(&self, _: usize) -> usize {
        self.sources.len()
    }

    fn check(&self, _: &[f64]) -> Result<(), Error> {
        Ok(())
    }

    fn prepare(&self, _: &[f64], _: &mut [f64], _: bool) {}

    fn forward(&self, _: At<'_>, x: &mut [f64], _: &mut [f64], _: &mut [f64], work: &mut [f64]) {
        self.apply(Direction::Forward, x, work);
    }

    fn inverse(&self, _: At<'_>, y: &mut [f64], _: &mut [f64], _: &mut [f64], work: &mut [f64]) {
        self.apply(Direction::Inverse, y, work);
    }

    fn backward(&self, _: At<'_>, sweep: Sweep<'_>, d: &mut [f64], _: Option<&mut [f64]>, work: &mut [f64]) {
        let back = match sweep.direction {
            Direction::Forward => Direction::Inverse,
            Direction::Inverse => Direction::Forward,
        };
        self.apply(back, d, work);
    }
}
