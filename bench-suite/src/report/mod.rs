//! Report: one self-contained page with every figure, table and verdict, which opens without a server.

mod comparison;
mod html;
mod page;
mod scoreboard;
mod section;
mod splits;

pub(crate) use comparison::Tally;
pub(crate) use html::{document, escape};
pub use page::write;
pub use section::ExperimentSection;
