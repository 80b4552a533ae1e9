//! Targets: unnormalised log densities on unconstrained space, with their gradients.
//!
//! A model defines a distribution and knows nothing of how it is approximated. The transforms from `R^d` to its parameters and
//! their log-Jacobians are part of the model ([`Transform`], [`Constrained`]).
//!
//! * Targets with ground truth (moments, normaliser, exact draws; [`GroundTruth`]): [`Gaussian`], [`SkewNormal`], [`Student`],
//!   [`Banana`], [`Funnel`], [`Mixture`].
//! * Hierarchical models with exact evidence: [`EightSchools`], [`Radon`].
//! * Classification: [`LogisticRegression`], [`ProbitRegression`], [`HierarchicalLogistic`],
//!   [`GaussianProcessClassification`].
//! * Regression: [`LinearRegression`] (with exact draws and evidence), [`UnknownNoiseRegression`] (with exact marginals), [`StudentRegression`] and [`LocalRobustRegression`] (heavy
//!   tails), [`NeuralRegression`], [`RobustGaussianProcess`].
//! * Tempering of any target: [`Tempered`]; posteriors of some weighted rows: [`WeightedRows`].
//! * Predictions for held-out data: [`log_odds_from_moments`], [`log_odds_from_draws`] and methods of the models; their accuracy:
//!   [`accuracy`], [`log_predictive_density`], [`root_mean_squared_error`], [`normal_log_predictive_density`].
//! * Latent factor models with learnable parameters: [`FactorAnalysis`].
//! * Time series: [`StockVolatility`]. State-space models are in the crate `mcsa-particles`.
//!
//! The crate `mcsa-testing` tests these models, and your own.
//!
//! The log density of a column is bit-identical whatever the other columns of the batch: products with data run in kernels
//! with a fixed order of operations, written with `pulp`.
//!
//! Deliberately absent: automatic differentiation. Gradients are written by hand and checked against differences and
//! dual numbers.

mod banana;
mod binary;
mod constrained;
mod eight_schools;
mod factor_analysis;
mod funnel;
mod gaussian;
mod gaussian_process;
mod held_out;
mod learnable;
mod linear;
mod mixture;
mod network;
mod prior;
mod radon;
mod robust;
mod skew_normal;
mod stock_volatility;
mod student;
pub mod support;
mod tempered;
mod transform;
mod truth;
mod unknown_noise;
mod weighted_rows;

pub use banana::Banana;
pub use binary::{
    BinaryRegression, HierarchicalLogistic, Link, Logistic, LogisticRegression, Probit, ProbitRegression,
    ScalePrior, log_odds_from_draws, log_odds_from_moments,
};
pub use constrained::Constrained;
pub use eight_schools::{Centring, EightSchools};
pub use factor_analysis::{FactorAnalysis, FactorBlocks};
pub use funnel::Funnel;
pub use gaussian::Gaussian;
pub use gaussian_process::{GaussianProcessClassification, RobustGaussianProcess};
pub use held_out::{
    accuracy, log_predictive_density, normal_log_predictive_density, root_mean_squared_error,
};
pub use learnable::{Blocks, Learnable};
pub use linear::LinearRegression;
pub use mcsa_core::{Error, Gradient, LogDensity, Seed};
pub use mixture::Mixture;
pub use network::NeuralRegression;
pub use radon::Radon;
pub use robust::student_errors;
pub use robust::{LocalRobustRegression, LocalTerm, StudentNoise, StudentRegression};
pub use skew_normal::SkewNormal;
pub use stock_volatility::StockVolatility;
pub use student::Student;
pub use tempered::Tempered;
pub use transform::Transform;
pub use truth::GroundTruth;
pub use unknown_noise::{Marginals, NoisePrior, UnknownNoiseRegression, WeightPrior};
pub use weighted_rows::WeightedRows;
