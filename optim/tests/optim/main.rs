//! Tests of the optimisers.

mod deterministic;
mod laws;
