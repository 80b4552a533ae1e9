//! Tests of the optimisers.

mod deterministic;
mod laws;
mod noisy_quadratic;
