//! Linear regression with noise of unknown scale, and its exact posterior.

mod marginals;
mod prior;
mod regression;

pub use marginals::Marginals;
pub use prior::{NoisePrior, WeightPrior};
pub use regression::UnknownNoiseRegression;
