//! Invariance of the kernels: kernels x targets, by exact draws and by exact enumeration.
//!
//! | file | kernels | targets | test |
//! |---|---|---|---|
//! | `drawn` | all with exact draws: independent, random walk, gradient, elliptical, compositions | Gaussians, banana, funnel, mixture, Student t, regression | [`judge`](mcsa_testing::judge), trials |
//! | `enumeration` | independent, candidates, delayed acceptance, extended space, subsampled | random problems on two to five atoms | exact transition matrices |
//!
//! Hamiltonian trajectories are enumerated along their orbits in `tests/kernels/orbits.rs`; conditional SMC and kernels with annealed paths as
//! proposals have their tests in the crates `mcsa-particles` and `mcsa-annealed`, the random scan in `mcsa-estimators`. Each file has negative controls, kernels or
//! targets that are wrong in one way and must fail. Wrong kernels that test the tests themselves are in `mcsa-testing`.

mod drawn;
mod enumeration;
mod targets;
