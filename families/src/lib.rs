//! Being laid.

mod atoms;
mod lanes;
mod softmax;

pub use atoms::Atoms;
