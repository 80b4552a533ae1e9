//! Gaussian process models: classification, and regression with Student t noise.

mod classification;
mod field;
mod matern;
mod prediction;
mod robust;

pub use classification::GaussianProcessClassification;
pub(crate) use field::{Field, Scales};
pub use robust::RobustGaussianProcess;
