//! Catalogue of targets, methods, optimisers and families: maps names to types, and is the only place that does so.
//!
//! | by name | file | to add one |
//! |---|---|---|
//! | target | [`target`](Target) | a variant, an arm of `build`, a line of `Target::ALL` |
//! | method | [`method`](Method) | a variant, an arm of `build`, a line of `Method::ALL`, a line in `look.rs` |
//! | optimiser | [`OptimizerConfig`] | a variant, an arm of each verb |
//! | family | [`FamilyConfig`] | a variant, an arm of `build`, a line of `FamilyConfig::ALL` |
//! | initial parameters | [`Start`] | a variant, an arm of `draw` |

mod annealed;
mod case;
mod entrant;
mod evaluator;
mod family_config;
mod local_regression;
mod made_up;
mod method;
mod optimizer_config;
mod origin;
mod posterior;
mod prior;
mod problem;
mod reference;
mod regression;
mod rows;
mod size;
mod sparse_process;
mod start;
mod subset_logistic;
mod synthetic_logistic;
mod target;
mod target_listing;
mod title;
mod volatility;
mod weights;

pub use annealed::{AnnealedConfig, Ansatz};
pub(crate) use annealed::{Pushed, full_rank_at};
pub use case::{Built, Case, Fault, Margins, Truth};
pub(crate) use case::{HEAD, LongRun};
pub use entrant::{Entrant, Moment};
pub use evaluator::{Evaluator, Measures};
pub use family_config::{BuiltFamily, FamilyConfig};
pub use local_regression::{LocalConfig, SemiConfig};
pub use made_up::correlated_gaussian;
pub use method::{AnyEstimator, Method, Views};
pub use optimizer_config::{OptimizerConfig, OptimizerState};
pub use posterior::Posterior;
pub use problem::{Likelihood, Problem};
pub use reference::Reference;
pub(crate) use regression::of_labels;
pub(crate) use rows::LogisticRows;
pub use sparse_process::SparseConfig;
pub(crate) use sparse_process::SparseRows;
pub use start::Start;
pub use target::Target;
pub use volatility::First;
