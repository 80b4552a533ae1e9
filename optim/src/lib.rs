//! Optimisers: what moves lambda along an estimated direction.
//!
//! An optimiser is an immutable config, [`Adam`], beside a small serialisable state, [`AdamState`].
//! All of them ascend; none knows what the direction is an estimate of.
//!
//! * Steps of a given length: [`Sgd`], [`Momentum`], [`Nesterov`]; their lengths over time: [`Schedule`].
//! * Steps per coordinate: [`Adam`], [`RmsProp`], [`AdaGrad`].
//! * Steps without a rate: [`Dog`].
//! * Around any of them: [`Clipped`] bounds the direction, [`Averaged`] averages the path.
//! * Any of them run by argmin: [`Stochastic`].
//! * Without noise: modes, Gaussian starts and ground truth, in [`deterministic`].
//!
//! # Directions that are not finite
//!
//! An optimiser does not look for NaN or infinities: the caller refuses such a direction before it arrives. A rule with
//! memory that was shown one stays faulty, and its `check` refuses the state that results.
//!
//! Deliberately absent: line searches and convergence tests on noisy directions, which noise makes meaningless.

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
mod stochastic;

pub use ada_grad::{AdaGrad, AdaGradState};
pub use adam::{Adam, AdamState};
pub use averaged::{Averaged, AveragedState, Averaging};
pub use clipped::{Clip, Clipped, ClippedState};
pub use dog::{Dog, DogState};
pub use momentum::{Momentum, MomentumState};
pub use nesterov::{Nesterov, NesterovState};
pub use rms_prop::{RmsProp, RmsPropState};
pub use schedule::{IntoSchedule, Schedule};
pub use sgd::{Sgd, SgdState};
pub use stochastic::Stochastic;
