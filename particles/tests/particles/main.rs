//! Tests of particle methods, state-space models and path families.

mod enumeration;
mod paths;
mod smc;
mod state_space;
