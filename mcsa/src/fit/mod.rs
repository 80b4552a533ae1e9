//! Fit of a posterior in one call: starts, climb, draws, and a verdict.
//!
//! ```text
//! start     ascents from spread points to modes, with their curvature; without a gradient tempering, and ascents by differences later
//! climb     running moments of parallel chains: a Student t, or a mixture where there are several modes; beyond 100 dimensions first a
//!           low-rank Gaussian, if one is near; a flow where mixtures do not follow
//! draws     from the frozen q, weighted for p
//! verdict   witnesses that q did not make: other starts, chains of another kernel, stretched copies of q, the tails of the density;
//!           long chains, from which a flow learns where these object
//! ```

mod ascents;
mod bend;
mod call;
mod checkpoint;
mod climb;
mod confirmation;
mod differences;
mod drawn;
mod enlargement;
mod fitted;
mod fitting;
mod flow;
mod gate;
mod gradient_check;
mod handover;
mod interim;
mod landmarks;
mod limits;
mod low_rank;
mod measured;
mod mending;
mod moments;
mod objection;
mod options;
mod pace;
mod progress;
mod rates;
mod run;
mod shape;
mod starts;
mod summary;
mod tails;
mod target;
mod tempering;
mod verdict;
mod white_guide;
mod wider_proposals;
mod witness;

pub use ascents::{Ascents, Mode};
pub use call::{fit, fit_density};
pub use climb::{Climb, Round};
pub use fitted::Fitted;
pub use fitting::{Fitting, Stage};
pub use gate::Gated;
pub use handover::Handover;
pub use measured::{MEASURED, MEASURED_BY_DENSITY};
pub use objection::{Check, Objection};
pub use options::Options;
pub use rates::{RULE, Rates};
pub use shape::Shape;
pub use summary::{Evidence, Parameter};
pub use target::{Evaluations, Target};
pub use verdict::Verdict;
pub use witness::Chains;
