//! Sequential Monte Carlo (particle methods) for the latent path of a state space model.

mod bootstrap;
mod conditional_smc;
mod fresh_paths;
mod lineage;
mod paths;
mod pieces;
mod pivotal;
mod relative;
mod resampling;
mod smc;
mod swarm;

pub use bootstrap::{Bootstrap, Untwisted};
pub use conditional_smc::{ConditionalSmc, ConditionalSmcInfo};
pub use fresh_paths::{FreshPaths, FreshPathsInfo};
pub use lineage::Lineage;
pub use paths::{PathKernel, Paths};
pub use resampling::Resampling;
pub use smc::Smc;
