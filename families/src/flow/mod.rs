//! Normalizing flows: [`Flow`], its layers and its base distributions.

mod act_norm;
mod affine;
mod autoregressive;
mod base;
mod bijection;
mod block_neural;
mod blocks;
mod coupling;
mod family;
mod file;
mod layer;
mod linear;
mod made;
mod mask;
mod model;
mod monotone;
mod network;
mod permutation;
mod push;
mod spline;
mod start;
mod sweep;

pub use affine::Affine;
pub use autoregressive::Autoregressive;
pub use base::{Base, BaseConfig, FixedBase, Gauss};
pub use block_neural::BlockNeural;
pub use coupling::{Coupling, Map as CouplingMap};
pub use layer::Layer;
pub use mask::Mask;
pub use model::{Bnaf, Flow, FlowConfig};
pub use network::Activation;
pub use permutation::Permutation;
pub use spline::Spline;
