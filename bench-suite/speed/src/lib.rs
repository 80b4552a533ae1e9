//! Benchmarks of the hot paths of all crates: `cargo xtask bench`, or `cargo bench -p mcsa-speed --bench steps`.
//!
//! They are a package of their own, so that a test run does not build criterion.
