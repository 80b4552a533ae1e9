//! Where a fit begins: ascents from spread points to modes, or tempering from a wide Gaussian.

pub(crate) mod ascent;
pub(crate) mod mode_search;
pub(crate) mod starts;
pub(crate) mod tempering;
