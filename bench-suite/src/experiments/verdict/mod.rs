//! Error rates of the verdict on a fit: tallies of runs, figures, table and checks.

mod claims;
mod figures;
mod table;
mod tally;

pub(crate) use claims::CHECKS;
pub(crate) use figures::figures;
pub(crate) use table::tables;
pub(crate) use tally::{Rates, rates};
