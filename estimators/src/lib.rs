//! Estimators of the score's expectation, and the one loop that moves the state.
//!
//! [`ScoreClimb`] is the engine of the papers' algorithms: a kernel moves chains, and the scores at its points are
//! averaged. [`pmcsa`] and [`jsa`] name its settings. [`Ascent`] says what stays fixed in a fit, [`Fit`] is what
//! moves, and an [`Observer`] watches without touching.
//!
//! Deliberately absent: files, clocks, printing. A [`Fit`] can be serialised; where it is kept is the caller's business.

mod ascent;
mod observer;
mod score_climb;

pub use ascent::{Ascent, Ended, Fit};
pub use observer::{Observer, Stop, View};
pub use score_climb::{Average, ScoreClimb, jsa, pmcsa};
