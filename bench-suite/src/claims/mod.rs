//! Claims on results, each with a check, a number and a verdict.
//!
//! A claim is a table `[[claim]]` in the file of its experiment: a citation, a sentence and one of four checks. A [`Contrast`]
//! compares metrics of methods and needs no code; `theory = "<id>"` is a search for a counterexample; `check = "<name>"` is a
//! function of the experiment's room in `experiments`; `not-reproducible = "<why>"` states a reason. The
//! check gives a [`Finding`]: a number, a threshold and a verdict. It abstains if rows are missing, replicates are too few, or
//! the claim cannot be reproduced.

mod claim;
mod contrast;
mod finding;
pub(crate) mod resampling;
mod section;
#[cfg(test)]
pub(crate) mod tests;

pub use claim::{Basis, Cause, Check, Claim, Reason};
pub use contrast::Contrast;
pub(crate) use finding::{ENOUGH, greatest, least};
pub use finding::{Finding, Verdict};
pub use section::claims;
