//! Tests of particle methods: edge cases, models, twisted families, and score climbing of paths.

mod enumeration;
mod paths;
mod smc;
mod state_space;
mod twisted;
