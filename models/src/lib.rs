//! Targets: unnormalised log densities on unconstrained space, with their gradients.
//!
//! A model says what a distribution is and nothing of how it is fitted. Transforms to its own space and
//! their log-Jacobians live inside it.
//!
//! Deliberately absent: automatic differentiation. Gradients are written by hand and checked against differences.

mod gaussian;

pub use gaussian::Gaussian;
