//! Normalizing flows: [`Flow`], its layers and its base distributions.

mod autoregressive;
mod block_neural;
mod coupling;
mod family;
mod layer;
mod linear;
mod model;
mod network;
mod spline;

pub use autoregressive::Autoregressive;
pub use block_neural::BlockNeural;
pub use coupling::{Affine, Coupling, Map as CouplingMap, Mask};
pub use layer::Layer;
pub use model::{Base, Bnaf, Flow, FlowConfig};
pub use spline::Spline;
