//! Stochastic gradient optimisers, and deterministic optimisation for starting points.
//!
//! An optimiser consists of an immutable config, such as [`Adam`], and a small serialisable state, such as [`AdamState`]. All
//! optimisers ascend along a direction, usually a noisy estimate of a gradient, and do not depend on its source.
//!
//! * Gradient ascent: [`Sgd`], [`Momentum`], [`Nesterov`].
//! * Adaptive step lengths per coordinate: [`Adam`], [`RmsProp`], [`AdaGrad`].
//! * Gradient ascent without a learning rate: [`Dog`].
//! * Learning rate schedules: [`Schedule`].
//! * Averages of the path of any optimiser: [`Averaged`].
//! * Deterministic optimisation: modes and Gaussian starting points, in [`deterministic`].
//!
//! # Units of the rate
//!
//! A direction is a gradient of `KL` and has units of 1/lambda. The rate of [`Sgd`], [`Momentum`] and [`Nesterov`] is in units of
//! lambda squared. For a mean with posterior standard deviation `s`, a rate of `0.01 s^2` is a small step. So coordinates of
//! different scales need different rates.
//!
//! The rate of [`Adam`], [`RmsProp`] and [`AdaGrad`] is in units of lambda itself and equal for all coordinates: one step moves a
//! mean by up to the rate. With a posterior standard deviation of 0.017, a rate of 0.005 is 0.3 standard deviations per step, and
//! a fit wanders off. Use about 0.01 standard deviations of the narrowest coordinate. One rate serves all coordinates of a
//! [`Whitened`](mcsa_core::Whitened) target, whose standard deviations are about 1.
//!
//! # Directions that are not finite
//!
//! An optimiser does not check directions for NaN or infinities; the caller must do so before each step. Such a direction makes the
//! state of a rule with moments invalid for the rest of the run, and the rule's `check` returns an error for that state.
//!
//! Deliberately absent: line searches and convergence tests for noisy directions, because noise makes their results meaningless.

mod averaged;
pub mod deterministic;
mod rules;
mod schedule;

pub use averaged::{Averaged, AveragedState, Averaging};
pub use mcsa_core::{Error, from_fn};
pub use rules::{
    AdaGrad, AdaGradState, Adam, AdamState, Dog, DogState, Momentum, MomentumState, Nesterov, NesterovState,
    RmsProp, RmsPropState, Sgd, SgdState,
};
pub use schedule::{IntoSchedule, Schedule};
