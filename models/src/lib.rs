//! Targets: unnormalised log densities on unconstrained space, with their gradients.
//!
//! A model says what a distribution is and nothing of how it is fitted. Transforms to its own space and
//! their log-Jacobians live inside it ([`Transform`], [`Constrained`]).
//!
//! * Ground truth, with exact draws, moments and normaliser ([`GroundTruth`]): [`Gaussian`], [`SkewNormal`], [`Student`],
//!   [`Banana`], [`Funnel`], [`Mixture`], [`Atoms`].
//! * Hierarchies, with exact evidence: [`EightSchools`], [`Radon`].
//! * Regression of labels: [`LogisticRegression`], [`ProbitRegression`], [`HierarchicalLogistic`],
//!   [`GaussianProcessClassification`].
//! * Regression of responses: [`LinearRegression`] (with exact draws and evidence), [`NeuralRegression`],
//!   [`RobustGaussianProcess`].
//! * Any of them made flatter: [`Tempered`].
//! * What a fit says of data held out: [`log_odds_from_moments`], [`log_odds_from_draws`] and methods of the models; how well:
//!   [`accuracy`], [`log_predictive_density`], [`root_mean_squared_error`], [`normal_log_predictive_density`].
//! * Factors behind every datum, to be learned: [`FactorAnalysis`].
//! * Time series: [`StockVolatility`], and state-space models for kernels that move along a path: [`FxVolatility`], and with
//!   exact answers [`LinearGaussian`] and [`HiddenMarkov`].
//! * The laws that every model keeps, ours or yours: [`conformance`].
//!
//! The value of a column never depends, to the last bit, on the columns that go with it: products with data run in kernels
//! of fixed order, written over `pulp`.
//!
//! Deliberately absent: automatic differentiation. Gradients are written by hand and checked against differences and
//! dual numbers.

mod atoms;
mod banana;
mod binary;
pub mod conformance;
mod constrained;
mod design;
mod eight_schools;
mod factor_analysis;
mod funnel;
mod gaussian;
mod gaussian_process;
mod held_out;
mod linear;
mod mixture;
mod network;
mod prior;
mod quadrature;
mod radon;
mod skew_normal;
mod state_space;
mod student;
mod support;
mod tempered;
mod transform;
mod truth;
mod volatility;

pub use atoms::Atoms;
pub use banana::Banana;
pub use binary::{
    BinaryRegression, HierarchicalLogistic, Link, Logistic, LogisticRegression, Probit, ProbitRegression,
    ScalePrior, log_odds_from_draws, log_odds_from_moments,
};
pub use constrained::Constrained;
pub use eight_schools::{Centring, EightSchools};
pub use factor_analysis::FactorAnalysis;
pub use funnel::Funnel;
pub use gaussian::Gaussian;
pub use gaussian_process::{GaussianProcessClassification, RobustGaussianProcess};
pub use held_out::{
    accuracy, log_predictive_density, normal_log_predictive_density, root_mean_squared_error,
};
pub use linear::LinearRegression;
pub use mixture::Mixture;
pub use network::NeuralRegression;
pub use radon::Radon;
pub use skew_normal::SkewNormal;
pub use state_space::{
    HiddenMarkov, LinearGaussian, LinearGaussianSeries, LinearGaussianTheta, Moments, Smoothed,
};
pub use student::Student;
pub use tempered::Tempered;
pub use transform::Transform;
pub use truth::GroundTruth;
pub use volatility::{FirstState, FxStates, FxVolatility, StockVolatility, Theta};
