//! Targets: unnormalised log densities on unconstrained space, with their gradients.
//!
//! A model defines a distribution, whatever method approximates it. The transforms from `R^d` to its parameters and
//! their log-Jacobians are part of the model ([`Transform`]).
//!
//! * Your own model without calculus: [`GenericDensity`] is a formula for every number type ([`Real`]). With declared
//!   [`Parameters`] it makes a target with a gradient, [`Bounded`]. A formula with one term per datum is a [`GenericTerms`]; the
//!   data of its target can be subsampled.
//! * Targets with ground truth (moments, normaliser, exact draws; [`GroundTruth`]): [`Gaussian`], [`SkewNormal`], [`Student`],
//!   [`Banana`], [`Funnel`], [`Mixture`].
//! * Hierarchical models with exact evidence: [`EightSchools`], [`Radon`].
//! * Classification: [`LogisticRegression`], [`ProbitRegression`], [`HierarchicalLogistic`],
//!   [`GaussianProcessClassification`].
//! * Regression: [`LinearRegression`] (with exact draws and evidence),
//!   [`StudentRegression`] and [`LocalRobustRegression`] (heavy tails), [`NeuralRegression`], [`RobustGaussianProcess`].
//! * Tempering of any target: [`Tempered`]; posteriors of some weighted rows: [`WeightedRows`].
//! * Predictions for held-out data: [`log_odds_from_moments`], [`log_odds_from_draws`] and `predict_from_moments` of models; their
//!   accuracy: [`accuracy`], [`log_predictive_density`], [`root_mean_squared_error`], [`normal_log_predictive_density`].
//! * Latent factor models with learnable parameters: [`FactorAnalysis`].
//! * Time series: [`StockVolatility`]. State-space models are in the crate `mcsa-particles`.
//!
//! The crate `mcsa-testing` tests these models, and your own.
//!
//! The log density of a column is bit-identical whatever the other columns of the batch: products with data run in kernels
//! with a fixed order of operations, written with `pulp`.
//!
//! Lengths or shapes that differ and indices out of range panic in methods that return no [`Error`].
//!
//! Gradients of these models are written by hand, checked against differences, and some against [`Bounded`].

use faer::Mat;

mod binary;
mod closed_form;
mod derived;
mod eight_schools;
mod factor_analysis;
mod gaussian;
mod gaussian_process;
mod generic;
mod held_out;
mod learnable;
mod linear;
mod mixture;
mod network;
mod radon;
mod robust;
mod stock_volatility;
pub mod support;
mod transform;

pub use binary::{
    BinaryRegression, Count, Factor, HierarchicalLogistic, HierarchicalWeights, Link, Logistic,
    LogisticRegression, NormalWeights, PoissonRegression, Probit, ProbitRegression, ScalePrior,
    WeightsPosterior, WeightsPrior, log_odds_from_draws, log_odds_from_moments,
};
pub use closed_form::{Banana, Funnel, SkewNormal, Student};
pub use derived::{Tempered, WeightedRows};
pub use eight_schools::{Centring, EightSchools};
pub use factor_analysis::{FactorAnalysis, FactorBlocks};
pub use gaussian::Gaussian;
pub use gaussian_process::{GaussianProcessClassification, RobustGaussianProcess};
pub use generic::{Bounded, GenericDensity, GenericTerms, Parameters, Real};
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
pub use stock_volatility::StockVolatility;
pub use transform::Transform;

/// Target whose normaliser and first two moments are known in closed form.
///
/// The minimiser of `KL(p || q)` over Gaussians has exactly these moments, and over mean-field Gaussians this
/// mean and the diagonal of this covariance. An approximation is compared with them.
pub trait GroundTruth: LogDensity {
    /// `log int p(z) dz`: zero, unless the density is not normalised.
    fn log_normaliser(&self) -> f64 {
        0.0
    }

    /// `E[z]`, or `None` if the integral diverges.
    fn mean(&self) -> Option<Vec<f64>>;

    /// The covariance, or `None` if the integral diverges.
    fn covariance(&self) -> Option<Mat<f64>>;
}
