//! Normalizing flows composed of bijections: autoregressive, planar, radial and block neural.

mod autoregressive;
mod bijection;
mod block_neural;
mod blocks;
mod composition;
mod inverse;
mod made;
mod planar;
mod radial;
mod staircase;

pub use autoregressive::{Autoregressive, Iaf, Maf, MaskedAffine};
pub use bijection::{Bijection, Invertible};
pub use block_neural::{BlockLayer, BlockNeural, Bnaf};
pub use composition::Composed;
pub use planar::{Planar, PlanarFlow};
pub use radial::{Radial, RadialFlow};
