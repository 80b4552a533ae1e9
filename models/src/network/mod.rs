//! Bayesian neural network with one hidden layer.

mod prediction;
mod rectifier;
mod regression;

pub use regression::NeuralRegression;
