//! Estimators of the score expectation `E_p[d/dlambda log q_lambda(z)]`, and the optimisation loop that runs them.
//!
//! [`ChainScore`] is the estimator behind the papers' algorithms: a kernel moves chains, and the scores at their points are
//! averaged. [`pmcsa`], [`jsa`], [`msc`] and [`msc_rb`] are its named settings. An [`Ascent`] holds the fixed parts of a
//! fit, a [`AscentState`] is its state, and an [`Observer`] sees every step without changing it. Every run ends with an
//! [`Outcome`], the reason for its end. [`Stationary`] is a stopping rule that ends a run at a required accuracy, and
//! [`Health`] holds diagnostics of the result.
//!
//! [`Moments`] needs no learning rate: it is natural-gradient ascent as running moments of a kernel's points, for Gaussians,
//! Student t families and mixtures of these.
//!
//! Other estimators are for comparison. [`BatchMatch`] matches scores at draws of q, [`ScoreWeights`] is importance sampling such
//! as [`snis`], and [`Elbo`] and [`FlowElbo`] ascend the evidence lower bound. [`FlowElbo`] is for families that have samples but
//! no density at arbitrary points, annealed paths among them. [`Joint`] learns parameters of the model jointly with lambda.
//!
//! A [`Run`] takes the stopping rule, observers, checkpoints to a file and a progress bar. Nothing else here reads or writes files, and
//! no number depends on a clock.
//!
//! A flow is warmed up in stages: the book's page on flows has their order, and the example `warming_up` shows them.

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
pub use baselines::{Interleaved, InterleavedState, ScoreWeights, ScoreWeightsInfo, Weighting, rws, snis};
pub use batch_match::{BatchMatch, BatchMatchInfo, BatchMatchState};
pub use bound::{Elbo, ElboInfo, Entropy, FlowElbo};
pub use chain_score::{
    Average, ChainScore, Controllable, Controlled, ControlledState, Guard, jsa, msc, msc_rb, pmcsa, pmcsa_rb,
    single,
};
pub use checkpoint::StateFile;
pub use draws::Draws;
pub use erased::{DynEstimator, DynInfo, DynState};
pub use health::{Health, ParamsOrigin, TailWeight};
pub use joint::{Joint, ScanInfo, ScanScore, ScanState, ThetaGradient, jsa_scan};
pub use mcsa_core::{Error, Seed, from_fn};
pub use moments::{Moments, MomentsInfo, MomentsState};
pub use outcome::{Accuracy, Obstacle, Outcome, Stop};
pub use statistics::RunStatistics;
pub use stopping::Stationary;
