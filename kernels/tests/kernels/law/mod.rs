//! Laws of the gradient kernels: exact ones first, then one-step invariance, each with twins that must fail.

mod integrator;
mod orbit;
mod robustness;
mod sampling;
pub(crate) mod targets;
mod textbook;
mod trajectory;
mod twins;
mod warm_up;
