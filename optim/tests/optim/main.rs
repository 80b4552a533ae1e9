//! Tests of the optimisers.

mod argmin_users;
mod deterministic;
mod laws;
mod noisy_quadratic;
