//! Tests of the kernels: laws, metrics, and pinned first numbers.

mod boundaries;
mod law;
mod metrics;
mod proposing;
mod random_scan;
mod stability;
mod subsampling;
