//! Tests of the models: conformance, formulas and oracles, and twins that must fail.

mod coresets;
mod dual;
mod dual_regressions;
mod factor_analysis;
mod formulas;
mod ground_truth;
mod hierarchies;
mod minnesota;
mod properties;
mod regressions;
mod small_faults;
mod state_space;
mod twins;
mod volatility;
