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
//! The file `plot.rs` has the order of all pieces of work, `rule.rs` the limits of the verdict, `limits.rs` those of evaluations and
//! time. Each stage has a folder: `start`, `climb`, `chains`, `verdict`; `density` evaluates the target, and `answer` is the result.
//! Ascents with a gradient and chains run [side by side](Target::in_batches).

mod answer;
mod call;
mod chains;
mod checkpoint;
mod climb;
mod density;
mod limits;
mod options;
mod plot;
mod rule;
mod start;
mod state;
mod verdict;

pub use answer::comparison::{Candidate, Compared, ComparedLoo, compare};
pub use answer::loo::Loo;
pub use answer::result::{FitResult, SamplerStart};
pub use answer::reuse::{Approximation, mixture_of_moments};
pub use answer::summary::{Evidence, Parameter};
pub use call::{fit, fit_density};
pub use chains::mixing::Mixing;
pub use climb::refinement::{Refinement, Round};
pub use climb::shape::Shape;
pub use density::gate::Gated;
pub use density::prior::{Posterior, PriorLook};
pub use density::{Evaluations, Target};
pub use options::Options;
pub use rule::{RULE, Rule};
pub use start::mode_search::{Mode, ModeSearch};
pub use state::{FitState, Stage};
pub use verdict::Verdict;
pub use verdict::measured::{MEASURED, MEASURED_BY_CHAINS, MEASURED_BY_DENSITY};
pub use verdict::objection::{Check, Objection};
pub use verdict::rates::{Rates, Way};
pub use verdict::witness::Chains;
