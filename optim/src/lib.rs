//! Optimisers: what moves lambda along an estimated direction.
//!
//! An optimiser is an immutable config, [`Adam`], beside a small serialisable state, [`AdamState`].
//! All of them ascend; none knows what the direction is an estimate of.
//!
//! Deliberately absent: line searches and convergence tests, which noise makes meaningless.

mod adam;

pub use adam::{Adam, AdamState};
