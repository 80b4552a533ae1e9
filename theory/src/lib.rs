//! Verification of Markov kernels: invariance tests by draws, exact transition matrices by enumeration, and convergence rates.
//!
//! A user-defined kernel is tested in three steps; the example `own_kernel` of the package `mcsa` shows them for a correct and a faulty kernel:
//!
//! 1. By draws. [`judge`]`(1e-4).of(&kernel, &target)` starts chains at exact draws of a target with
//!    [`ExactDraws`](mcsa_core::ExactDraws), such as those of `mcsa-models`, and tests that they
//!    stay exact, independent draws. The number is the probability of a false alarm; each law that holds states the error that
//!    it would have detected ([`Power`]). Options declare a kernel that is not reversible or whose chains interact: see
//!    [`Invariance`].
//! 2. Exactly, if the kernel's decisions go through the methods of the stream and its proposals come from the guide.
//!    [`transition_matrix`] runs the unchanged code on a [`Finite`] target along every branch and adds up probabilities; the
//!    resulting [`Transition`] is tested by exact laws, [`closed`] forms and a [`Spectrum`]. There are no false alarms.
//! 3. Exactly, with a changing guide: [`transition_matrix_along`] takes one step per guide and detects a state that remembers an
//!    older guide.
//!
//! Further tools:
//!
//! * A [`Trial`] compares two runs of a kernel that must agree: with a constant added to log p, permuted chains, other coordinates,
//!   or an interruption.
//! * An [`Instance`] is a target, a guide and a statistic on atoms, in doubles or in exact fractions: transition matrices, their
//!   powers, and the bias and variance of every estimator.
//! * [`claims`] tests the papers' claims about bias, variance and rates; [`bounds`] contains their formulas as functions.
//! * [`dais`] computes bound, gap and last distribution of an annealed chain on a linear Gaussian model in closed form.
//! * A [`Matrix`] tabulates which of these checks detects which mistake.
//!
//! Every test returns a [`Check`] or a [`Report`], printed as one line per law.
//!
//! Deliberately absent: kernels, families and models. A kernel under test comes from outside.

pub mod bounds;
pub mod claims;
pub mod closed;
pub mod curves;
pub mod dais;
mod disguise;
mod draws;
mod finite;
pub mod fixed_point;
mod instance;
mod invariance;
mod laws;
mod matrix;
mod number;
mod p_value;
mod pair;
mod power;
mod sequential;
mod spectrum;
mod spread;
mod square;
mod statistic;
mod step;
mod transition;
mod trial;

pub use mcsa_core::law::{Check, Measured, Power, Report};

pub use disguise::Shifted;
pub use finite::{Finite, FiniteGuide};
pub use instance::{Conditional, Instance, Moments, Parts, SelfNormalised};
pub use invariance::{Invariance, judge};
pub use matrix::{Cell, Matrix};
pub use number::{Number, Rational, dot, rational, total};
pub use pair::Pair;
pub use sequential::{Sequential, Smallest};
pub use spectrum::{Spectrum, decay, mixing_time};
pub use spread::Spread;
pub use square::{Square, total_variation};
pub use step::{Chain, Step};
pub use transition::{Transition, transition_matrix, transition_matrix_along};
pub use trial::Trial;
