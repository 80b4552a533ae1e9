//! Estimators of the score expectation `E_p[d/dlambda log q_lambda(z)]`, and the optimisation loop that runs them.
//!
//! [`ChainScore`] is the estimator behind the papers' algorithms: a kernel moves chains, and the scores at their points are
//! averaged. [`pmcsa`], [`jsa`], [`msc`] and [`msc_rb`] are its named settings. An [`Ascent`] holds the fixed parts of a
//! fit, a [`AscentState`] is its state, and an [`Observer`] sees every step without changing it. Every run ends with an
//! [`Outcome`], the reason for its end. [`Stationary`] is a stopping rule that ends a run at a required accuracy, and
//! [`Health`] holds diagnostics of the result.
//!
//! Without a learning rate, for Gaussians, Student t families and mixtures of Gaussians: [`Moments`], the natural-gradient ascent
//! as running moments of a kernel's points.
//! For comparison, also without a rate and without chains: [`BatchMatch`], which matches scores at draws of q.
//!
//! To learn parameters of the model jointly with lambda: [`Joint`].
//!
//! For comparison, estimators without chains: [`ScoreWeights`] (importance sampling such as [`snis`]), [`Elbo`], and
//! [`FlowElbo`] for families that have samples but no density at arbitrary points, annealed paths among them.
//!
//! # Warming up a flow
//!
//! A flexible family can put a spike of density anywhere, and few chains cover few points: in a trial with ten chains,
//! splines ended farther from three of four targets in ten dimensions than they began. In this order:
//!
//! 1. Begin at a converged Gaussian, with `Flow::start_at`: a flow that is no worse than its base has nothing to unlearn.
//! 2. Run more chains: with sixty-four, no target of the suite's `ours/flow-families` ends farther away than it began.
//! 3. Guard the proposals with a `Defence` that draws from a heavy tail half the time at first, and one time in ten later.
//!    Each stage is an [`Ascent`] of its own that starts from the params of the last. Weights are then bounded at every
//!    lambda.
//! 4. If p may have separated modes, fit a `Tempered` target first. No diagnostic from draws of q shows a mode that q misses,
//!    [`Health`] included.
//! 5. Let steps shrink, with `Schedule::power`: with many params the noise of a constant step is most of the remaining error.
//!
//! `cargo run --release -p mcsa-estimators --example warming_up` demonstrates the last four.
//!
//! A [`Run`] takes the stopping rule, observers, checkpoints to a file ([`Checkpoint`]) and a progress bar
//! ([`Progress`]). Nothing else here reads or writes files, and no number depends on a clock.

mod ascent;
mod baselines;
mod batch_match;
mod bound;
mod chain_score;
mod checkpoint;
mod draws;
mod erased;
mod family_parameters;
mod health;
mod iterates;
mod joint;
mod moments;
mod outcome;
mod statistics;
mod stopping;

pub use ascent::{Ascent, AscentState, Observer, Run, View};
pub use baselines::{
    Interleaved, InterleavedInfo, InterleavedState, ScoreWeights, ScoreWeightsInfo, Weighting, rws, snis,
};
pub use batch_match::{BatchMatch, BatchMatchInfo, BatchMatchState};
pub use bound::{Elbo, ElboInfo, Entropy, FlowElbo};
pub use chain_score::{
    Average, ChainScore, Controllable, Controlled, ControlledState, Guard, jsa, msc, msc_rb, pmcsa, pmcsa_rb,
    single,
};
pub use checkpoint::{Checkpoint, Progress, StateFile};
pub use draws::Draws;
pub use erased::{DynEstimator, DynInfo, DynState};
pub use health::{Health, ParamsOrigin, TailWeight};
pub use joint::{Joint, RandomScan, RandomScanInfo, RandomScanState, Restart, ScanScore, jsa_scan};
pub use mcsa_core::{Error, Seed, from_fn};
pub use moments::{Moments, MomentsInfo, MomentsState};
pub use outcome::{Accuracy, Obstacle, Outcome, Stop};
pub use statistics::RunStatistics;
pub use stopping::Stationary;
