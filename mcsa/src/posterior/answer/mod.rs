//! What a fit reports: weighted draws, moments, the log evidence, and what is made of them later.

pub(crate) mod comparison;
pub(crate) mod loo;
pub(crate) mod result;
pub(crate) mod reuse;
pub(crate) mod summary;
