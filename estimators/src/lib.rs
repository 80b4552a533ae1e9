//! Estimators of the score's expectation, and the one loop that moves the state.
//!
//! [`ScoreClimb`] is the engine of the papers' algorithms: a kernel moves chains, and the scores at its points are
//! averaged. [`pmcsa`], [`jsa`], [`msc`] and [`msc_rb`] name its settings. [`Ascent`] says what stays fixed in a fit, [`Fit`] is what
//! moves, and an [`Observer`] watches without touching. Every run ends with an [`Outcome`] that says why; [`Stationary`] is the rule
//! that ends one when its accuracy is reached, and [`Health`] says whether to believe it.
//!
//! Along paths: [`PathClimb`]. Parameters of the model beside lambda: [`Joint`].
//!
//! For comparison, without a chain: [`ScoreWeights`] ([`snis`] and its kin), [`Elbo`], and [`FlowElbo`] for what is known by its
//! draws alone.
//!
//! Deliberately absent: files, clocks, printing. A [`Fit`] can be serialised; where it is kept is the caller's business.

mod ascent;
mod controlled;
mod dimension;
mod elbo;
mod flow_elbo;
mod health;
mod interleaved;
mod iterates;
mod joint;
mod observer;
mod outcome;
mod path_climb;
mod proposals;
mod scan_climb;
mod score_climb;
mod score_weights;
mod stationary;
mod watch;

pub use ascent::{Ascent, Fit};
pub use controlled::{Controllable, Controlled, ControlledState};
pub use elbo::{Elbo, ElboInfo, Entropy};
pub use flow_elbo::FlowElbo;
pub use health::Health;
pub use interleaved::{Interleaved, InterleavedInfo, InterleavedState, rws};
pub use joint::Joint;
pub use observer::{Observer, Stop, View};
pub use outcome::{Accuracy, Obstacle, Outcome};
pub use path_climb::{PathClimb, msc_paths, smc_paths};
pub use scan_climb::{ScanClimb, jsa_scan};
pub use score_climb::{Average, ScoreClimb, jsa, msc, msc_rb, pmcsa, single};
pub use score_weights::{ScoreWeights, ScoreWeightsInfo, Weighting, snis};
pub use stationary::Stationary;
pub use watch::Watch;
