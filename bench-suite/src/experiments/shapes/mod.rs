//! Families of different shape: divergence, acceptance and draws.

mod claims;
mod figures;

pub(super) use claims::CHECKS;
pub(super) use figures::figures;
