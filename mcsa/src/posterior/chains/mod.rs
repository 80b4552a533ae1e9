//! Chains as the answer: No-U-turn chains in coordinates that they learn, where q does not fit the posterior.

pub(crate) mod attempt;
pub(crate) mod bridge;
pub(crate) mod judge;
pub(crate) mod metric;
pub(crate) mod mixing;
pub(crate) mod round;
pub(crate) mod sampler;
