//! Ranks of variational methods over data sets (SL-DAIS, Fig. 2 and 4, Tab. 2 and 7).

mod board;
mod claims;
mod figures;
mod tables;

pub(crate) use claims::CHECKS;
pub(crate) use figures::figures;
pub(crate) use tables::tables;
