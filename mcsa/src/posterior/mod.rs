//! Fit of a posterior in one call: starts, climb, draws, and a verdict.
//!
//! q is the approximation of the posterior p. An ascent maximises log p from one start. A climb fits one family of q from one
//! start, in rounds. The answer is what the result reports: weighted draws of q, or draws of chains. A check of the answer is
//! also called a witness; a check that fails makes an objection.
//!
//! ```text
//! start     ascents from spread points to modes, with their curvature; without a gradient tempering, and ascents by differences later
//! climb     running moments of parallel chains: a Student t, or a mixture where there are several modes; beyond 100 dimensions first a
//!           low-rank Gaussian, if one is near
//! chains    where q does not fit the posterior: No-U-turn chains, which may be the answer; their coordinates are learnt from
//!           their draws and gradients (or differences of the log density); larger mixtures follow where the chains do not agree
//! draws     from the frozen q, weighted for p
//! verdict   checks, most of which do not rest on draws of q alone: other starts, chains of another kernel, stretched copies of
//!           q, the tails of the density
//! ```
//!
//! The file `plot.rs` has the order of all pieces of work. Ascents with a gradient and chains run
//! [side by side](Target::in_batches).

#[cfg(not(target_family = "wasm"))]
mod batches;
mod bridge;
mod by_chains;
mod call;
mod checkpoint;
mod comparison;
mod differences;
mod enlargement;
mod gradient_check;
mod limits;
mod loo;
mod look;
mod measured;
mod mending;
mod metric;
mod mixing;
mod mode_search;
mod moments;
mod objection;
mod options;
mod outside;
mod plot;
mod prior;
mod rates;
mod refinement;
mod result;
mod reuse;
mod rounding;
mod rule;
mod sampler;
mod shape;
mod side_by_side;
mod starts;
mod state;
mod summary;
mod tails;
mod target;
mod tempering;
mod verdict;
mod wider_proposals;
mod witness;

pub use call::{fit, fit_density};
pub use comparison::{Candidate, Compared, ComparedLoo, compare};
pub use limits::Gated;
pub use loo::Loo;
pub use measured::{MEASURED, MEASURED_BY_CHAINS, MEASURED_BY_DENSITY};
pub use mixing::Mixing;
pub use mode_search::{Mode, ModeSearch};
pub use objection::{Check, Objection};
pub use options::Options;
pub use prior::{Posterior, PriorLook};
pub use rates::{Rates, Way};
pub use refinement::{Refinement, Round};
pub use result::{FitResult, SamplerStart};
pub use reuse::{Approximation, mixture_of_moments};
pub use rule::{RULE, Rule};
pub use shape::Shape;
pub use state::{FitState, Stage};
pub use summary::{Evidence, Parameter};
pub use target::{Evaluations, Target};
pub use verdict::Verdict;
pub use witness::Chains;
