//! Markov kernels that leave a target density p invariant.
//!
//! A kernel is an immutable config, such as [`Imh`], with a small serialisable state, such as [`ImhState`]. It uses the
//! variational family q_lambda only as a proposal distribution, at a fixed lambda. So one code runs under every family, and tests
//! can run it under finite families along every branch of its random decisions.
//!
//! * Independent proposals from q: [`Imh`], [`Cis`]; [`WasteRecycling`] also averages over rejected proposals.
//! * Proposals from a pushforward, such as an annealed path, with the same kernels on an extended space: [`ExtendedSpace`].
//! * Proposals around the chain's state: [`Rwm`], [`Mala`], [`Hmc`], [`Nuts`], [`Elliptical`]; [`warm_up`] learns
//!   step size and mass of the first four, and [`Sampling`] is a whole run: warm-up, draws, diagnostics.
//! * Some rows of the data per step: [`Hmcecs`], whose target is a [`PerturbedPosterior`].
//! * Combinations of kernels: [`Repeat`], [`Cycle`], [`Mixture`]; [`DelayedAcceptance`] of a [`Reversible`] kernel.
//!
//! One dependency is enough for chains:
//!
//! ```
//! use mcsa_kernels::{Error, Nuts, Sampling, Seed, from_fn};
//! let target = from_fn(2, |z| -0.5 * (z[0] * z[0] + z[1] * z[1]))
//!     .with_gradient(|z, gradient| (gradient[0], gradient[1]) = (-z[0], -z[1]));
//! let draws = Sampling::new(4, 500).run(&Nuts::new(0.5)?, &target, Seed::new(1))?;
//! println!("{draws}");
//! # assert!(draws.mean()[0].abs() < 0.2);
//! # Ok::<(), Error>(())
//! ```
//!
//! The target's log density at the chains is cached. The proposal's log density is not, because lambda changes between steps.
//!
//! Deliberately absent: averages of scores, and updates of lambda.

mod adaptation;
mod cis;
mod compose;
mod delayed_acceptance;
mod elliptical;
mod extended_space;
mod hmc;
mod hmcecs;
mod imh;
mod leapfrog;
mod nuts;
mod rwm;
mod sampling;
mod weights;

pub use adaptation::{Adaptation, StepSize, Tunable, WindowAdaptation, warm_up};
pub use cis::Cis;
pub use compose::{Composed, Cycle, Mixture, Repeat, RepeatState, Reversible, Tally};
pub use delayed_acceptance::{DelayedAcceptance, DelayedInfo, DelayedState};
pub use elliptical::{Elliptical, EllipticalInfo, GaussianPrior};
pub use extended_space::{ExtendedSpace, ExtendedState, ExtendedTarget};
pub use hmc::{Hmc, HmcInfo, Mala, Selection};
pub use hmcecs::{DifferenceEstimate, Hmcecs, HmcecsState, PerturbedPosterior, TaylorExpansion};
pub use imh::{Acceptance, Imh, ImhState, WasteRecycling};
pub use leapfrog::{GradientEnsemble, Leapfrog, Mass};
pub use mcsa_core::{Error, Seed, from_fn};
pub use nuts::{Nuts, NutsInfo};
pub use rwm::{Rwm, RwmInfo};
pub use sampling::{NoProposal, Sample, Sampling};
pub use weights::{ImportanceInfo, WeightedState, log_weight};
