//! Deterministic optimisation: where a value and its gradient are exact. The one door to argmin's algorithms.
//!
//! * [`Lbfgs`] climbs a smooth function; [`Peak`] says where it ended and why.
//! * [`NelderMead`] climbs one that has kinks, without a gradient.
//! * [`Laplace`] is the Gaussian at a mode, [`Pathfinder`] the best Gaussian on the way to one: starts for a fit.
//! * [`ExpectationPropagation`] is a Gaussian by moments, for probit regression: a baseline.
//! * [`inclusive_optimum`] is the truth a fit should reach, by a [`Quadrature`] of the target.
//! * [`log_weight_supremum`] is `log w*`, on which the rates of independent Metropolis-Hastings depend.
//!
//! What cannot be done is an [`Error`](mcsa::Error) or an [`Outcome`], never a panic; a target that is NaN somewhere is left
//! there. None of it draws, except that `Pathfinder` takes a stream.

mod bisection;
mod expectation_propagation;
mod gaussian;
mod inclusive;
mod laplace;
mod lbfgs;
mod memo;
mod nelder_mead;
mod pathfinder;
mod slopes;
mod supremum;

pub use expectation_propagation::{ExpectationPropagation, Propagated};
pub use gaussian::Gaussian;
pub use inclusive::{Quadrature, inclusive_optimum};
pub use laplace::Laplace;
pub use lbfgs::{Lbfgs, Outcome, Peak};
pub use nelder_mead::{NelderMead, Top};
pub use pathfinder::{Found, Pathfinder, Warning};
pub use supremum::{Supremum, log_weight_supremum};
