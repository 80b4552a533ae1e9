//! Markov chain score ascent: minimisation of the inclusive Kullback-Leibler divergence KL(p||q) with gradients from Markov
//! chains.
//!
//! This crate only re-exports the others under one name, and [faer] for matrices. Depend on a single crate (`mcsa-kernels`,
//! say) if that is all you need.

pub use faer;
pub use mcsa_core as core;
pub use mcsa_diagnostics as diagnostics;
pub use mcsa_estimators as estimators;
pub use mcsa_families as families;
pub use mcsa_kernels as kernels;
pub use mcsa_models as models;
pub use mcsa_optim as optim;
pub use mcsa_theory as theory;
