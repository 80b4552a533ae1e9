//! Tests for Markov kernels, variational families and target densities of your own.
//!
//! | part under test | start at | result |
//! |---|---|---|
//! | kernel, by draws | [`judge`]`(1e-4).of(&kernel, &target)` | a [`Report`] with a stated false-alarm level |
//! | kernel, exactly | [`transition_matrix`] on a [`Finite`] target | a [`Transition`] and its laws |
//! | family | [`family::report`], or one test per law by [`family_suite!`] | a [`Report`] |
//! | target density | [`model::report`], or one test per law by [`model_suite!`] | a [`Report`] |
//!
//! A kernel is tested in three steps; the example `own_kernel` of the package `mcsa` shows them for a correct and a faulty kernel:
//!
//! 1. By draws. [`judge`] starts chains at exact draws of a target with [`ExactDraws`](mcsa_core::ExactDraws) and tests that they
//!    stay exact, independent draws. The number is the probability of a false alarm; each law that holds states the error that it
//!    would have detected ([`Power`]). Options declare a kernel that is not reversible or whose chains interact: see [`Invariance`].
//! 2. Exactly, if the kernel's decisions go through the methods of the stream and its proposals come from the proposal.
//!    [`transition_matrix`] runs the unchanged code on a [`Finite`] target along every branch and adds up probabilities; the
//!    resulting [`Transition`] is tested by exact laws and [`closed`] forms. There are no false alarms.
//! 3. Exactly, with a changing proposal: [`transition_matrix_along`] takes one step per proposal and detects a state that depends on an
//!    older proposal.
//!
//! A kernel may be a closure, [`Step`]. A [`Trial`] compares two runs of a kernel that must agree: with a constant added to log p,
//! permuted chains, other coordinates, or an interruption. A [`Matrix`] tabulates which of these checks detects which mistake.
//!
//! The parts of which all these tests are made are in [`law`], for a suite of your own.
//!
//! Deliberately absent: kernels, families and models. What is under test comes from outside.

pub mod family;
mod kernel;
pub mod law;
pub mod model;

pub use kernel::closed;
pub use kernel::{
    Cell, Chain, Finite, FiniteProposal, Invariance, Matrix, Sequential, Shifted, Smallest, Spread, Step,
    Transition, Trial, judge, transition_matrix, transition_matrix_along,
};
pub use law::{Check, Measured, Power, Report};
