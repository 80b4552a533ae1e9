//! Tests of annealed paths, their surrogates and bounds, and of sparse Gaussian processes.

#[path = "../../../families/tests/families/altered.rs"]
mod altered;
mod annealed;
mod dais;
mod dais_dual;
mod joint_bound;
mod kernels;
mod local_minibatched;
mod minibatched;
mod points;
mod replay;
mod semi_dais;
mod sparse_gp;
mod surrogates;
mod with_theta;
