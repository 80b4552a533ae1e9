//! From names to types: the only place that matches on them.
//!
//! | name of a | file | to add one |
//! |---|---|---|
//! | target | [`target`](Target) | a variant, an arm of `build`, a line of `Target::ALL` |
//! | method | [`method`](Method) | a variant, an arm of `meet`, a line of `Method::ALL`, a line in `look.rs` |
//! | optimiser | [`Rule`] | a variant, an arm of each verb |
//! | family | [`Approximation`] | a variant, an arm of `build` |

mod approximation;
mod judge;
mod method;
mod regression;
mod rule;
mod target;
mod title;
mod weights;

pub use approximation::{Approximation, Beginning};
pub use judge::{Judge, Measures};
pub use method::{CountedFamily, CountedTarget, Method, WithEstimator};
pub use rule::{Rule, RuleState};
pub use target::{Posterior, Problem, Target, correlated_gaussian};
pub(crate) use weights::PLACES;
