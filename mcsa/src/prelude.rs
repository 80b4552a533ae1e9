//! Names that most fits use: `use mcsa::prelude::*`.

pub use faer::Mat;
pub use mcsa_core::{Error, Gradient, LogDensity, Named, Seed, Stream, from_fn};
pub use mcsa_estimators::{Ascent, Average, ChainScore, Run, Stationary, pmcsa};
pub use mcsa_families::{FullRank, MeanField};
pub use mcsa_kernels::{Hmc, Nuts, Sampling};
pub use mcsa_models::{Bounded, GenericDensity, GenericTerms, Parameters, Real};
pub use mcsa_optim::Adam;
