//! The judge: is it a Markov kernel for this target, and how fast does it forget?
//!
//! A kernel of one's own is judged in three steps, which `examples/own_kernel.rs` shows with a right kernel and a wrong one:
//!
//! 1. By draws. [`judge`]`(1e-4).of(&kernel, &target)` starts chains at exact draws of a target from [`exact`] and tests that they
//!    stay exact, independent draws. The number is the probability of a false alarm; each law that holds states the error that
//!    it would have seen ([`Power`]). A kernel that is not reversible, or whose chains interact, says so: see [`Invariance`].
//! 2. Exactly, if its decisions go through the verbs of the stream and its proposals come from the guide.
//!    [`transition_matrix`] runs the same code on a [`Finite`] target along every branch and adds up probabilities; the
//!    [`Transition`] then answers with exact laws, [`closed`] forms and a [`Spectrum`]. There are no false alarms.
//! 3. Exactly, while the guide moves: [`transition_matrix_along`] takes one step per guide and shows what a state wrongly
//!    remembers of older guides.
//!
//! Further tools:
//!
//! * A [`Trial`] runs a kernel twice with one thing changed that must not matter: a constant, labels, coordinates,
//!   an interruption.
//! * An [`Instance`] is a target, a guide and a statistic on atoms, in doubles or in exact fractions: kernels, their
//!   powers, and the bias and variance of every estimator.
//! * [`claims`] tries what the papers say about bias, variance and rates; [`bounds`] are those formulas as functions.
//! * A [`Matrix`] shows which of these checks catches which mistake.
//! * [`diagnostics`] read weights, chains and draws of a fit whose truth is unknown.
//!
//! Every check returns a [`Verdict`] or a [`Report`], which print as one line per law.
//!
//! Deliberately absent: kernels, families and models. A kernel under judgement comes from outside.

pub mod bounds;
pub mod claims;
pub mod closed;
pub mod curves;
pub mod dais;
pub mod diagnostics;
mod disguise;
mod draws;
pub mod exact;
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
mod quadrature;
mod sequential;
mod spectrum;
mod spread;
mod square;
mod statistic;
mod step;
mod transition;
mod trial;
mod verdict;

pub use disguise::{Affine, Moved, Shifted};
pub use finite::{Finite, FiniteGuide};
pub use instance::{Conditional, Instance, Moments, Parts, SelfNormalised};
pub use invariance::{Invariance, judge};
pub use matrix::{Cell, Matrix};
pub use number::{Number, Rational, dot, rational, total};
pub use pair::Pair;
pub use quadrature::{Integral, integrate};
pub use sequential::{Sequential, Smallest};
pub use spectrum::{Spectrum, decay, mixing_time, total_variation};
pub use spread::Spread;
pub use square::{Square, distance};
pub use step::{Chain, Step};
pub use transition::{Transition, transition_matrix, transition_matrix_along};
pub use trial::Trial;
pub use verdict::{Evidence, Power, Report, Verdict};
