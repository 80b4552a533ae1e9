//! Markov kernels: what moves points and leaves the target invariant.
//!
//! A kernel is an immutable config, [`Imh`], beside a small serialisable state, [`ImhState`]. It knows the
//! family only as a guide to propose from, so that the same code runs under any family, and under
//! a finite one along every branch of its decisions.
//!
//! * Proposing from the guide: [`Imh`], [`Cis`].
//! * One chain per datum: [`RandomScan`].
//! * Of kernels: [`Repeat`], [`Cycle`], [`Mixture`], [`DelayedAcceptance`].
//!
//! Cached: the target's log density at the chains. Never cached: the guide's, for lambda moves between steps.
//!
//! Deliberately absent: averaging of scores, and anything that moves lambda.

mod cis;
mod compose;
mod delayed_acceptance;
mod imh;
mod random_scan;
mod repeat;
mod tally;
mod weights;

pub use cis::{Cis, CisInfo, CisState};
pub use compose::{Composed, Cycle, Mixture};
pub use delayed_acceptance::{DelayedAcceptance, DelayedInfo, DelayedState};
pub use imh::{Acceptance, Imh, ImhInfo, ImhState};
pub use random_scan::{RandomScan, RandomScanInfo, RandomScanState, Restart};
pub use repeat::{Repeat, RepeatState};
pub use tally::Tally;
