//! Normalizing flows with an exact inverse: [`Flow`], its layers and its base distributions.

mod act_norm;
mod affine;
mod base;
mod coupling;
mod family;
mod file;
mod layer;
mod linear;
mod mask;
mod model;
pub(crate) mod network;
pub(crate) mod product;
mod push;
mod spline;
mod start;
mod sweep;

pub use affine::Affine;
pub use base::{Base, BaseConfig, FixedBase, Gauss};
pub use coupling::{Coupling, Map as CouplingMap};
pub use layer::Layer;
pub use mask::{Mask, Permutation};
pub use model::{Flow, FlowConfig};
pub use network::Activation;
pub use spline::Spline;
