//! Tests of particle methods, state-space models and path families.

mod enumeration;
mod paths;
mod smc;
mod state_space;

use mcsa_particles::Lineage;

const LINEAGES: [Lineage; 3] = [Lineage::Traced, Lineage::Ancestors, Lineage::Backward];
