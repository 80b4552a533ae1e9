//! Linear regression with Student t errors.

mod errors;
mod latents;
mod local;
mod regression;

pub(crate) use errors::{MOST, StudentErrors, freedom};
pub use local::{LocalRobustRegression, LocalTerm};
pub use regression::{StudentNoise, StudentRegression};
