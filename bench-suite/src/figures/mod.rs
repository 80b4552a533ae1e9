//! Figures: pure functions from rows to drawings.

mod descent;

pub use descent::descent;
