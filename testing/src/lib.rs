//! Tests for Markov kernels, variational families and target densities of your own.
//!
//! | part under test | start at | result |
//! |---|---|---|
//! | kernel, by draws | [`judge`]`(1e-4).of(&kernel, &target)` | a [`Report`] with a stated false-alarm level |
//! | kernel, exactly | [`transition_matrix`] on a [`Finite`] target | a [`Transition`] and its laws |
//! | family | [`family::report`], or one test per law by [`family_suite!`] | a [`Report`] |
//! | target density | [`model::report`], or one test per law by [`model_suite!`] | a [`Report`] |
//!
//! The example `own_kernel` of the package `mcsa` tests a correct and a faulty kernel, by draws and exactly. [`transition_matrix_along`]
//! takes one step per proposal and detects a state that depends on an older proposal. A kernel may be a closure, [`Step`]. A [`Trial`]
//! compares two runs of a kernel that must agree: with a constant added to log p, permuted chains, or an interruption. The parts of
//! which all these tests are made are in [`law`], for a suite of your own.
//!
//! Deliberately absent: kernels, families and models. What is under test comes from outside.

pub mod family;
mod kernel;
pub mod law;
pub mod model;

pub use kernel::closed;
pub use kernel::{
    Chain, Finite, FiniteProposal, Invariance, Shifted, Spread, Step, Transition, Trial, judge,
    transition_matrix, transition_matrix_along,
};
pub use law::{Check, Measured, Power, Report};
