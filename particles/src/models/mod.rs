//! State-space models: two with exact answers, and a stochastic volatility model.

mod fx;
mod hidden_markov;
mod kalman;
mod linear_gaussian;
mod states;
mod theta;

pub use fx::FxVolatility;
pub use hidden_markov::HiddenMarkov;
pub use kalman::{Moments, Smoothed};
pub use linear_gaussian::{LinearGaussian, LinearGaussianSeries, LinearGaussianTheta};
pub use states::FxStates;
pub use theta::{FirstState, Theta};
