//! Catalogue of targets, methods, optimisers and families: maps names to types, and is the only place that does so.
//!
//! | by name | file | to add one |
//! |---|---|---|
//! | target | [`target`](Target) | a variant, an arm of `build`, a line of `Target::ALL` |
//! | method | [`method`](Method) | a variant, an arm of `build`, a line of `Method::ALL`, a line in `look.rs` |
//! | optimiser | [`OptimizerConfig`] | a variant, an arm of each verb |
//! | family | [`FamilyConfig`] | a variant, an arm of `build` |
//! | initial parameters | [`Start`] | a variant, an arm of `draw` |
//!
//! An error names what is wrong: a setting, data that are absent, or a target of another kind than a function is for.

mod case;
mod family;
mod method;
mod optimizer;
mod problem;
mod processes;
pub mod published_rules;
mod regression;
mod start;
mod target;

pub use case::{Built, Case, Fault, HEAD, Hidden, LEVELS, LongRun, Margins, Shape, Simulated, Truth};
pub use family::{AnnealedConfig, Ansatz, BuiltFamily, FamilyConfig, Pushed, full_rank_at};
pub use mcsa_particles::FirstState;
pub use method::{AnyEstimator, Entrant, KernelConfig, Method, Moment, Views};
pub use optimizer::{OptimizerConfig, OptimizerState};
pub use problem::{Evaluator, Measures, Posterior, Problem, Reference, Vector};
pub use processes::{LocalConfig, SemiConfig, SparseConfig, SparseRows};
pub use regression::{LabelledRows, LogisticRows, correlated_gaussian, of_labels};
pub use start::Start;
pub use target::Target;

/// Returns true for a setting that files leave out.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
