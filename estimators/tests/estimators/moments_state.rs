//! States of running moments: those of another estimator, or with impossible counts, are refused.

use mcsa_core::{Estimator, Seed};
use mcsa_estimators::{Moments, MomentsState, pmcsa};
use mcsa_families::FullRank;
use mcsa_models::Gaussian;

/// A state belongs to its number of chains, and counts of accepted draws are finite and not negative.
#[test]
fn states_of_others_are_refused() {
    let (target, family) = (Gaussian::standard(1), FullRank::new(1));
    let of = |chains| Moments::new(pmcsa(chains), 2.0);
    let state = of(2).init(&target, &family, &[0.0, 0.0], &mut Seed::new(1).streams(2, 0)).unwrap();
    let told = |chains, state: &MomentsState<_>| {
        of(chains).check(&target, &family, state).map_err(|e| e.to_string())
    };
    assert_eq!(told(2, &state), Ok(()));
    assert!(told(3, &state).is_err());
    for number in [-1.0, f64::NAN, f64::INFINITY] {
        let error = told(2, &MomentsState { accepted: number, ..state.clone() }).unwrap_err();
        assert!(error.starts_with("Moments: accepted is"), "{error}");
        let error = told(2, &MomentsState { recent: number, ..state.clone() }).unwrap_err();
        assert!(error.starts_with("Moments: recent is"), "{error}");
    }
    let estimator = of(2);
    let chains = Estimator::<Gaussian, FullRank>::chains(&estimator, &state).unwrap();
    assert_eq!(chains.len(), 2);
}
