//! State-space models with exact answers.

mod hidden_markov;
mod kalman;
mod linear_gaussian;

pub use hidden_markov::HiddenMarkov;
pub use kalman::{Moments, Smoothed};
pub use linear_gaussian::{LinearGaussian, LinearGaussianSeries, LinearGaussianTheta};
