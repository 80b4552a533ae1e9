//! Tests of the kernels: laws, metrics, and pinned first numbers.

mod laws;
mod orbits;
mod proposing;
mod runs;
mod steps;
mod subsampling;
mod targets;
mod trajectories;
