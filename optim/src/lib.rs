//! Stochastic gradient optimisers, and deterministic optimisation for starting points and ground truth.
//!
//! An optimiser consists of an immutable config, such as [`Adam`], and a small serialisable state, such as [`AdamState`]. All
//! optimisers ascend along a direction, usually a noisy estimate of a gradient, and do not depend on its source.
//!
//! * Gradient ascent: [`Sgd`], [`Momentum`], [`Nesterov`].
//! * Adaptive step lengths per coordinate: [`Adam`], [`RmsProp`], [`AdaGrad`].
//! * Gradient ascent without a learning rate: [`Dog`].
//! * Learning rate schedules: [`Schedule`].
//! * Wrappers of any optimiser: [`Clipped`] clips directions, [`Averaged`] averages the path.
//! * Deterministic optimisation: modes, Gaussian starting points and ground truth, in [`deterministic`].
//!
//! # Directions that are not finite
//!
//! An optimiser does not check directions for NaN or infinities; the caller must do so before each step. Such a direction makes the
//! state of a rule with moments invalid for the rest of the run, and the rule's `check` returns an error for that state.
//!
//! Deliberately absent: line searches and convergence tests for noisy directions, because noise makes their results meaningless.

mod ada_grad;
mod adam;
mod averaged;
mod clipped;
pub mod deterministic;
mod dog;
mod domain;
mod momentum;
mod nesterov;
mod rms_prop;
mod schedule;
mod sgd;

pub use ada_grad::{AdaGrad, AdaGradState};
pub use adam::{Adam, AdamState};
pub use averaged::{Averaged, AveragedState, Averaging};
pub use clipped::{Clip, Clipped, ClippedState};
pub use dog::{Dog, DogState};
pub use mcsa_core::{Error, from_fn};
pub use momentum::{Momentum, MomentumState};
pub use nesterov::{Nesterov, NesterovState};
pub use rms_prop::{RmsProp, RmsPropState};
pub use schedule::{IntoSchedule, Schedule};
pub use sgd::{Sgd, SgdState};
