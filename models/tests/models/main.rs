//! Tests of the models: conformance, formulas and oracles, and twins that must fail.

mod dual;
mod dual_regressions;
mod factor_analysis;
mod formulas;
mod ground_truth;
mod hierarchies;
mod minnesota;
mod properties;
mod regressions;
mod robust;
mod small_faults;
mod sparse_gp;
mod state_space;
mod surrogates;
mod twins;
mod unknown_noise;
mod volatility;
mod weighted_rows;
