//! Tests of annealed paths, their surrogates and bounds, and of sparse Gaussian processes.

#[path = "../../../families/tests/families/altered.rs"]
mod altered;
mod dais;
mod families;
mod fits;
mod kernels;
mod points;
mod replay;
mod sparse_gp;
mod surrogates;
