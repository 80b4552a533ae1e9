//! Targets: unnormalised log densities on unconstrained space, with their gradients.
//!
//! A model says what a distribution is and nothing of how it is fitted. Transforms to its own space and
//! their log-Jacobians live inside it.
//!
//! * of known moments: [`Gaussian`];
//! * of labels: [`LogisticRegression`], [`ProbitRegression`], [`HierarchicalLogistic`],
//!   [`GaussianProcessClassification`];
//! * of responses: [`LinearRegression`] (whose evidence is known too), [`NeuralRegression`], [`RobustGaussianProcess`];
//! * of predictions: [`log_odds_from_moments`], [`log_odds_from_draws`], [`accuracy`], [`log_predictive_density`],
//!   [`root_mean_squared_error`], [`normal_log_predictive_density`].
//!
//! The value of a column never depends, to the last bit, on the columns that go with it: products with data run in kernels
//! of fixed order, written over `pulp`.
//!
//! Deliberately absent: automatic differentiation. Gradients are written by hand and checked against differences.

mod binary;
mod design;
mod gaussian;
mod gaussian_process;
mod held_out;
mod linear;
mod network;

pub use binary::{
    BinaryRegression, HierarchicalLogistic, Link, Logistic, LogisticRegression, Probit, ProbitRegression,
    ScalePrior, log_odds_from_draws, log_odds_from_moments,
};
pub use gaussian::Gaussian;
pub use gaussian_process::{GaussianProcessClassification, RobustGaussianProcess};
pub use held_out::{
    accuracy, log_predictive_density, normal_log_predictive_density, root_mean_squared_error,
};
pub use linear::LinearRegression;
pub use network::NeuralRegression;
