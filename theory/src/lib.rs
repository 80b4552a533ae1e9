//! Claims of the papers on bias, variance and rates, as tests that can fail; exact finite problems; convergence rates.
//!
//! * An [`Instance`] is a target, a guide and a statistic on atoms, in doubles or in exact fractions: transition matrices, their
//!   powers, and the bias and variance of every estimator.
//! * [`claims`] tests the papers' claims about bias, variance and rates; [`bounds`] contains their formulas as functions.
//! * [`dais`] computes bound, gap and last distribution of an annealed chain on a linear Gaussian model in closed form.
//! * [`Square::spectrum`] is the rate at which a transition matrix converges.
//!
//! Lengths or shapes that differ and indices out of range panic in methods that return no `Error`.
//!
//! Tests of a kernel's code, by draws and by exact transition matrices, are in the crate `mcsa-testing`.

pub mod bounds;
pub mod claims;
pub mod curves;
pub mod dais;
pub mod fixed_point;
mod instance;
mod number;
mod square;

pub use instance::{Conditional, Instance, Moments, Parts, SelfNormalised};
pub use number::{Number, Rational, dot, rational, total};
pub use square::{Square, total_variation};
