//! Deterministic optimisation, for functions with exact values and gradients: modes, Gaussian approximations.
//!
//! * [`Lbfgs`] maximises a smooth function; its result is a [`Maximum`].
//! * [`NelderMead`] maximises a function with kinks, without a gradient.
//! * [`Laplace`] is the Gaussian approximation at a mode, [`Pathfinder`] the best Gaussian on the path to a mode, and
//!   [`MultiPathfinder`] one of each of several paths, with draws. They are starting points for a fit.
//! * [`ExpectationPropagation`] is a Gaussian approximation by moment matching for probit regression, a baseline.
//!
//! L-BFGS and the Nelder-Mead simplex are argmin's; only this crate uses argmin. A failure is an [`Error`](mcsa_core::Error) or an
//! [`Outcome`], never a panic; points at which the target is NaN are avoided. Only `Pathfinder` and `MultiPathfinder` use random
//! numbers, from a stream or a seed that the caller passes in.

mod expectation_propagation;
mod laplace;
mod lbfgs;
mod nelder_mead;
mod pathfinder;

pub use expectation_propagation::{ExpectationPropagation, Propagated};
pub use laplace::{Gaussian, Laplace};
pub use lbfgs::{Lbfgs, Maximum, Outcome};
pub use nelder_mead::{NelderMead, Top};
pub use pathfinder::{Found, MultiPathfinder, Pathfinder, Paths};
