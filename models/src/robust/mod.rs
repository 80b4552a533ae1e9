//! Linear regression with Student t errors.

mod local;
mod regression;
pub mod student_errors;

pub use local::{LocalRobustRegression, LocalTerm};
pub use regression::{StudentNoise, StudentRegression};
