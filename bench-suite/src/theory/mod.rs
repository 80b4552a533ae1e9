//! What the papers claim, tried and shown: in a terminal, as JSON and as a page.

mod command;
mod formula;
mod listing;
mod page;

pub use command::Command;
