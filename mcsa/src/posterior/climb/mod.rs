//! The climb: q of one family follows the moments of parallel chains, in rounds, and larger families follow where it does not fit.

pub(crate) mod enlargement;
pub(crate) mod moments;
pub(crate) mod refinement;
pub(crate) mod shape;
