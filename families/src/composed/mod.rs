//! Bijections in a row, around a location and scale.

mod composition;
mod inverse;
mod layer;
mod planar;
mod radial;

pub use composition::Composed;
pub use layer::{Invertible, Layer};
pub use planar::{Planar, PlanarFlow};
pub use radial::{Radial, RadialFlow};
