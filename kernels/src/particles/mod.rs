//! Particles: many candidates for a path, weighed and multiplied as they go.

mod bootstrap;
mod conditional_smc;
mod lineage;
mod pivotal;
mod relative;
mod resampling;
mod smc;
mod swarm;

pub use bootstrap::{Bootstrap, Untwisted};
pub use conditional_smc::{ConditionalSmc, ConditionalSmcInfo, Paths};
pub use lineage::Lineage;
pub use resampling::Resampling;
pub use smc::Smc;
