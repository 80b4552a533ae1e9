//! Tests of runs within budgets: accuracy on easy targets, budgets, failures.

use std::sync::Arc;

use mcsa_core::{Gradient, LogDensity, Seed};
use mcsa_data::Catalogue;

use super::answer::Known;
use super::row;
use crate::catalog::{Built, Case, Entrant, FamilyConfig, Moment, Truth};

fn entrants() -> Vec<Entrant> {
    let families = [Moment::MeanField, Moment::LowRank, Moment::FullRank, Moment::StudentT, Moment::Mixture];
    let flow = FamilyConfig::AffineFlow { couplings: 2, width: 4, freedom: None };
    let mut all: Vec<Entrant> = families.map(|family| Entrant::Moments { family }).into();
    all.extend([
        Entrant::Pmcsa { chains: 10, rate: 0.02, laplace: false },
        Entrant::Pmcsa { chains: 10, rate: 0.02, laplace: true },
        Entrant::Flow { family: flow.clone(), chains: 10, rate: 0.02 },
        Entrant::Elbo { family: flow.clone(), samples: 10, rate: 0.02, laplace: false },
        Entrant::Elbo { family: flow, samples: 10, rate: 0.02, laplace: true },
        Entrant::Elbo { family: FamilyConfig::FullRank, samples: 10, rate: 0.02, laplace: false },
        Entrant::Elbo { family: FamilyConfig::FullRank, samples: 10, rate: 0.02, laplace: true },
        Entrant::BatchMatch { samples: 5, laplace: false },
        Entrant::BatchMatch { samples: 5, laplace: true },
        Entrant::Pathfinder,
        Entrant::Nuts,
        Entrant::Fit,
    ]);
    all
}

fn value(row: &[(&'static str, f64)], name: &str) -> f64 {
    row.iter().find(|(known, _)| *known == name).map_or(f64::NAN, |(_, value)| *value)
}

/// A Gaussian in two dimensions with a correlation is easy for every method: means within a quarter of a standard deviation, which is
/// over ten standard errors of the draws, log standard deviations within a third; the budget holds, but for the witnesses of `fit`.
#[test]
fn every_method_finds_a_gaussian_within_its_budget() {
    let known = Known::of(Case::Wishart { dim: 2 }.build(&Catalogue::new(None)).unwrap());
    for entrant in entrants() {
        let name = entrant.title();
        let found = row(&entrant, &known, (20_000, 2.0), Seed::new(5));
        assert_eq!(value(&found, "failed"), 0.0, "{name}");
        assert!(value(&found, "answer_error") < 0.25, "{name}: {found:?}");
        assert!(value(&found, "spread_error") < 0.33, "{name}: {found:?}");
        assert!(value(&found, "wasserstein") < 0.2, "{name}: {found:?}");
        let log_z = value(&found, "evidence_error");
        assert!(log_z < 0.1 || log_z.is_nan() && entrant == Entrant::Nuts, "{name}: {log_z}");
        assert!(value(&found, "answer_median") <= value(&found, "answer_error"), "{name}");
        let spent = value(&found, "p_evaluations") + value(&found, "p_gradients");
        let most = if entrant == Entrant::Fit { 60_000.0 } else { 21_000.0 };
        assert!((1_000.0..most).contains(&spent), "{name}: {spent}");
        assert_eq!(value(&found, "yes").is_nan(), entrant != Entrant::Fit);
        assert_eq!(value(&found, "k_hat").is_nan(), entrant == Entrant::Nuts, "{name}");
    }
}

/// Counterexample: the moments of another target are missed.
#[test]
fn other_moments_are_missed() {
    let known = Known::of(Case::Wishart { dim: 2 }.build(&Catalogue::new(None)).unwrap());
    let truth = Truth::Moments { means: vec![5.0; 2], sds: vec![0.1; 2] };
    let found = row(&Entrant::Nuts, &Known::of(Built { truth, ..known.built }), (20_000, 2.0), Seed::new(5));
    assert!(value(&found, "answer_error") > 10.0 && value(&found, "spread_error") > 1.0, "{found:?}");
}

/// A method that cannot end is a failure with infinite errors, not an error of the job: here the density is NaN.
#[test]
fn a_failure_is_a_row() {
    struct Nowhere;
    impl LogDensity for Nowhere {
        fn dim(&self) -> usize {
            2
        }
        fn log_density(&self, _: &[f64], _: &mut [f64]) -> f64 {
            f64::NAN
        }
    }
    impl Gradient for Nowhere {
        fn gradient_into(&self, _: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
            gradient.fill(f64::NAN);
            f64::NAN
        }
    }
    let truth = Truth::Moments { means: vec![0.0; 2], sds: vec![1.0; 2] };
    let built = Built {
        posterior: Arc::new(Nowhere),
        truth,
        covariance: None,
        hidden: None,
        log_z: None,
        margins: None,
    };
    let known = Known::of(built);
    for entrant in entrants() {
        let found = row(&entrant, &known, (1_000, 2.0), Seed::new(5));
        assert_eq!(value(&found, "failed"), 1.0, "{}: {found:?}", entrant.title());
        assert_eq!(value(&found, "answer_error"), f64::INFINITY);
    }
}
