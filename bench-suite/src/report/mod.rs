//! Report: a folder of pages with every figure, table and verdict, which open without a server.

mod comparison;
mod html;
mod order;
mod page;
mod pages;
mod part;
mod scoreboard;
mod section;
mod splits;

pub(crate) use comparison::Tally;
pub(crate) use html::{document, escape};
pub use page::write;
pub(crate) use pages::{assemble, navigation_of_theory};
pub use section::ExperimentSection;
