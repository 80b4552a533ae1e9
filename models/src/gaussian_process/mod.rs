//! Regression with a Gaussian process on the latent side.

mod classification;
mod field;
mod matern;
mod prediction;
mod robust;

pub use classification::GaussianProcessClassification;
pub(crate) use field::{Field, Scales};
pub use robust::RobustGaussianProcess;
