//! Bijections in a row, around a location and scale.

mod autoregressive;
mod block_neural;
mod blocks;
mod composition;
mod inverse;
mod layer;
mod made;
mod planar;
mod radial;
mod staircase;

pub use autoregressive::{AffineLayer, Autoregressive, Iaf, Maf};
pub use block_neural::{BlockLayer, BlockNeural, Bnaf};
pub use composition::Composed;
pub use layer::{Invertible, Layer};
pub use planar::{Planar, PlanarFlow};
pub use radial::{Radial, RadialFlow};
