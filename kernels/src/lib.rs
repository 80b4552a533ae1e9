//! Markov kernels: what moves points and leaves the target invariant.
//!
//! A kernel is an immutable config, [`Imh`], beside a small serialisable state, [`ImhState`]. It knows the
//! family only as a guide to propose from, so that the same code runs under any family, and under
//! a finite one along every branch of its decisions.
//!
//! * Proposing from the guide: [`Imh`], [`Cis`].
//!
//! Cached: the target's log density at the chains. Never cached: the guide's, for lambda moves between steps.
//!
//! Deliberately absent: averaging of scores, and anything that moves lambda.

mod cis;
mod imh;
mod weights;

pub use cis::{Cis, CisInfo, CisState};
pub use imh::{Acceptance, Imh, ImhInfo, ImhState};
