//! The judge: is it a Markov kernel for this target, and how fast does it forget?
//!
//! * On finitely many points nothing is sampled. [`transition_matrix`] leads the production code along every
//!   branch of its decisions and adds up probabilities; a [`Transition`] then answers with exact laws,
//!   [`closed`] forms and a [`Spectrum`]. There are no false alarms.
//! * An [`Instance`] is a target, a guide and a statistic on atoms, in doubles or in exact fractions: kernels, their
//!   powers, and the bias and variance of every estimator.
//! * On continuous targets that can be drawn from exactly ([`exact`]), [`Invariance`] tests what a kernel makes
//!   of exact draws, with a false-alarm probability for the whole suite ([`judge`]).
//! * A [`Trial`] runs a kernel twice with one thing changed that must not matter: a constant, labels, coordinates,
//!   an interruption.
//! * [`claims`] tries what the papers say about bias, variance and rates; [`bounds`] are those formulas as functions.
//! * A [`Matrix`] shows which of these checks catches which mistake.
//! * [`diagnostics`] read weights, chains and draws of a fit whose truth is unknown.
//!
//! `examples/judge_my_kernel.rs` judges a kernel written by a stranger, right and wrong.
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
pub use verdict::{Evidence, Report, Verdict};
