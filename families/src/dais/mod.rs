//! Differentiable annealed importance sampling (DAIS): the evidence bound of a short Hamiltonian chain, and its gradient.
//!
//! A base draws `z_0`, K steps of drift, kick, drift move it along a path of densities, and the log weight of the path is an
//! unbiased estimate of a lower bound of the log evidence (SL-DAIS, Sec. 3 and Lemma 1). The chain is moved by a [`Guide`],
//! the bound is evaluated on a [`Target`]:
//!
//! | method | guide | target |
//! |---|---|---|
//! | DAIS | log posterior | log posterior |
//! | NS-DAIS | log posterior of a minibatch, fixed along the path | log posterior of an independent minibatch |
//! | SL-DAIS | log prior and a learned surrogate likelihood | log posterior of a minibatch |
//!
//! [`Dais::log_weight`] is the forward sweep, [`Dais::add_gradient`] the exact reverse sweep for every parameter.

mod base;
mod chain;
mod guide;
mod path;
mod reverse;

pub use base::{Base, Shape};
pub use chain::{Dais, Mass};
pub use guide::{Guide, Target};
pub use path::{Path, StepSizes};
pub use reverse::DaisGradient;
