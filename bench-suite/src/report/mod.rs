//! Report: one self-contained page with every figure, table and verdict, which opens without a server.

mod base64;
mod board;
mod card;
mod comparison;
mod html;
mod judged;
mod page;
mod records;
mod splits;

pub use card::ExperimentSection;
pub use comparison::{Agreement, Comparison, Tally, compare};
pub(crate) use html::escape;
pub use judged::JudgedClaim;
pub use page::write;
