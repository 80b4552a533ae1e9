//! Incorrect published rules, for comparison with published numbers.
//!
//! The libraries have only the correct rules. The rules of the papers' own scripts are here, each with a test that shows the
//! difference, so that a published number can be compared with the rule that produced it.

mod ancestor_weight;
mod label_odds;
mod predictive_variance;

pub use ancestor_weight::{Ancestry, TwoStates};
pub use label_odds::label_odds;
pub use predictive_variance::{kernel, predictive_variance};
