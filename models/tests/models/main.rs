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
mod twins;
mod unknown_noise;
mod volatility;
mod weighted_rows;

use mcsa_models::{Constrained, GroundTruth};
use mcsa_testing::model::{Case, Formula, Truth};

/// The case with the formula of the model's paper.
fn printed<P: Constrained>(case: Case<P>) -> Case<P> {
    case.with_formula(Formula {
        constrain: P::constrain_into,
        unconstrain: P::unconstrain_into,
        log_jacobian: P::log_jacobian,
        log_density: P::log_density_at,
    })
}

/// The case with the model's normaliser and moments.
fn known<P: GroundTruth>(case: Case<P>) -> Case<P> {
    let truth = Truth {
        log_normaliser: case.target.log_normaliser(),
        mean: case.target.mean(),
        covariance: case.target.covariance(),
    };
    case.with_truth(truth)
}
