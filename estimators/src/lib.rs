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
//! # Warming up a flow
//!
//! A family that can bend anywhere can also spike anywhere, and few chains stand at few points: in a trial with ten of them,
//! splines ended farther from three of four targets in ten dimensions than they began. In this order:
//!
//! 1. Begin at a converged Gaussian, `Flow::start_at`: a flow that is no worse than its base has nothing to unlearn.
//! 2. Run more chains: with sixty-four no target of the suite's `flow-families` ends farther away than it began.
//! 3. Guard the proposals: a `Defence` that offers a heavy tail half the time at first, and one time in ten from then on, a stage
//!    being an [`Ascent`] of its own that goes on from the params of the last. Weights are then bounded whatever the flow does.
//! 4. If mass may lie apart, fit a `Tempered` target first. Nothing that looks at draws of q shows a mode that is missing,
//!    [`Health`] included.
//! 5. Let steps shrink, as `Schedule::power` does: with many params the noise of a constant step is most of what remains.
//!
//! `cargo run --release -p mcsa-estimators --example warming_up` does the last four.
//!
//! Deliberately absent: files, clocks, printing. A [`Fit`] can be serialised; where it is kept is the caller's business.

mod ascent;
mod configs;
mod controlled;
mod dimension;
mod elbo;
mod flow_elbo;
mod health;
mod interleaved;
mod iterates;
mod joint;
mod noise;
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
