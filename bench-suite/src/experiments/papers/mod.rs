//! Claims on bias, variance and rates: charts, a table of bounds, and searches for counterexamples.

mod claims;
mod figures;
mod table;

pub(crate) use claims::{examined, judged};
pub(super) use figures::figures;
pub(super) use table::tables;
