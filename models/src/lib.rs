//! Targets: unnormalised log densities on unconstrained space, with their gradients.
//!
//! A model says what a distribution is and nothing of how it is fitted. Transforms to its own space and
//! their log-Jacobians live inside it ([`Transform`], [`Constrained`]).
//!
//! * Ground truth, with exact draws, moments and normaliser ([`GroundTruth`]): [`Gaussian`], [`SkewNormal`], [`Student`],
//!   [`Banana`], [`Funnel`], [`Mixture`], [`Atoms`].
//! * Hierarchies, with exact evidence: [`EightSchools`], [`Radon`].
//! * Time series: [`StockVolatility`], and [`FxVolatility`] for kernels that move along a path.
//! * The laws that every model keeps, ours or yours: [`conformance`].
//!
//! Deliberately absent: automatic differentiation. Gradients are written by hand and checked against differences and
//! dual numbers.

mod atoms;
mod banana;
pub mod conformance;
mod constrained;
mod eight_schools;
mod funnel;
mod gaussian;
mod mixture;
mod prior;
mod quadrature;
mod radon;
mod skew_normal;
mod student;
mod support;
mod transform;
mod truth;
mod volatility;

pub use atoms::Atoms;
pub use banana::Banana;
pub use constrained::Constrained;
pub use eight_schools::{Centring, EightSchools};
pub use funnel::Funnel;
pub use gaussian::Gaussian;
pub use mixture::Mixture;
pub use radon::Radon;
pub use skew_normal::SkewNormal;
pub use student::Student;
pub use transform::Transform;
pub use truth::GroundTruth;
pub use volatility::{FxVolatility, StockVolatility, Theta};
