//! Families of different shape: divergence, acceptance and draws.

mod claims;
mod figures;
mod table;

pub(super) use claims::CHECKS;
pub(super) use figures::figures;
pub(super) use table::tables;
