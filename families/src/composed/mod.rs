//! Bijections in a row, around a location and scale.

mod autoregressive;
mod composition;
mod inverse;
mod layer;
mod made;
mod planar;
mod radial;
mod staircase;

pub use autoregressive::{AffineLayer, Autoregressive, Iaf, Maf};
pub use composition::Composed;
pub use layer::{Invertible, Warp};
pub use planar::{Planar, PlanarFlow};
pub use radial::{Radial, RadialFlow};
