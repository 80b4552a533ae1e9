//! Benchmarks of the hot paths of all crates, `cargo xtask bench`: a package of its own, so that a test run does not build criterion.
