//! Published rules that are wrong, kept as exhibits.
//!
//! The libraries hold only the correct rule. What the papers' own scripts computed instead stands here, each beside a
//! test that shows the difference, so that a published number can be compared with what produced it.

mod ancestor_weight;
mod predictive_variance;

pub use ancestor_weight::{Ancestry, TwoStates};
pub use predictive_variance::{kernel, predictive_variance};
