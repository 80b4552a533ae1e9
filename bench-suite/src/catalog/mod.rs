//! Catalogue of targets, methods, optimisers and families: maps names to types, and is the only place that does so.
//!
//! | by name | file | to add one |
//! |---|---|---|
//! | target | [`target`](Target) | a variant, an arm of `build`, a line of `Target::ALL` |
//! | method | [`method`](Method) | a variant, an arm of `meet`, a line of `Method::ALL`, a line in `look.rs` |
//! | optimiser | [`OptimizerConfig`] | a variant, an arm of each verb |
//! | family | [`FamilyConfig`] | a variant, an arm of `build`, a line of `FamilyConfig::ALL` |
//! | initial parameters | [`Start`] | a variant, an arm of `draw` |

mod annealed;
mod case;
mod evaluator;
mod family_config;
mod made_up;
mod method;
mod optimizer_config;
mod prior;
mod reference;
mod regression;
mod rows;
mod size;
mod start;
mod synthetic_logistic;
mod target;
mod title;
mod volatility;
mod weights;

pub(crate) use annealed::Pushed;
pub use annealed::{AnnealedConfig, Ansatz};
pub use case::{Built, Case, Fault, Truth};
pub(crate) use case::{HEAD, Known};
pub use evaluator::{Evaluator, Measures};
pub use family_config::{BuiltFamily, FamilyConfig};
pub use made_up::correlated_gaussian;
pub use method::{CountedFamily, CountedTarget, Method, WithEstimator};
pub use optimizer_config::{OptimizerConfig, OptimizerState};
pub use reference::Reference;
pub(crate) use regression::of_labels;
pub(crate) use rows::LogisticRows;
pub use start::Start;
pub use target::{Posterior, Problem, Target};
pub use volatility::First;
