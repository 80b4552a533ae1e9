//! Checks of the papers' claims on bias, variance and rates, shown in a terminal, as JSON and as a page.

mod command;
mod formula;
mod listing;
mod page;

pub use command::Command;
