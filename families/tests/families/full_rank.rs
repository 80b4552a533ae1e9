//! Conformance of the full-rank Gaussian.

use mcsa_core::Parametric;
use mcsa_families::{FullRank, Link, MultivariateT};
use mcsa_testing::family::{self, Case};

use crate::altered::meter;

fn cases() -> Vec<Case<FullRank>> {
    let spread = |dim: usize, link| {
        let q = FullRank::new(dim).with_link(link);
        let size = 1.0 / (dim as f64).sqrt();
        Case::new(q, (0..q.num_params()).map(|k| size * (k as f64 * 1.3).sin()).collect())
    };
    let mut cases: Vec<_> = [0, 1, 2, 3, 4, 5, 9, 21].map(|dim| spread(dim, Link::Softplus)).into();
    cases.extend([1, 2, 6].map(|dim| spread(dim, Link::Exp)));
    cases
}

mcsa_testing::family_suite!(laws, cases(), meter, reparameterised);

/// More rows than a tile of the gradient has, and not a multiple of any block size.
#[test]
fn tiles_do_not_show() {
    let q = FullRank::new(263);
    let case = Case::new(q, (0..q.num_params()).map(|k| 0.05 * (k as f64 * 1.3).sin()).collect());
    assert_eq!(family::batch_equals_columns(&case), Ok(()));
    assert_eq!(family::score_is_gradient(&case), Ok(()));
    assert_eq!(family::draws_know_their_density(&case), Ok(()));
    assert_eq!(family::pullback_is_gradient(&case), Ok(()));
}

/// A covariance that is not diagonal is refused in place of a factor, by [`FullRank`] and by families with its factor.
#[test]
fn a_covariance_is_not_taken_for_a_factor() {
    let covariance = faer::mat![[2.0, 0.5], [0.5, 1.0]];
    let q = FullRank::new(2);
    let error = q.at(&[0.0; 2], covariance.as_ref()).unwrap_err().to_string();
    assert!(
        error.starts_with("factor[0, 1] is 0.5, above the diagonal: expected the lower Cholesky"),
        "{error}"
    );
    assert!(error.ends_with("of a covariance take the factor first"), "{error}");
    assert!(MultivariateT::fixed(2, 3.0).unwrap().at(&[0.0; 2], covariance.as_ref()).is_err());
    assert!(q.at(&[0.0; 2], faer::mat![[1.0, f64::NAN], [0.0, 1.0]].as_ref()).is_err());
    let error = q.at(&[0.0; 2], faer::mat![[1.0, 0.0]].as_ref()).unwrap_err().to_string();
    assert_eq!(error, "rows of the factor has length 1, expected 2");
    // Negative control: its Cholesky factor is accepted, also with a negative zero above the diagonal.
    let factor = faer::mat![[2.0_f64.sqrt(), -0.0], [0.5 / 2.0_f64.sqrt(), 0.875_f64.sqrt()]];
    assert!(q.at(&[0.0; 2], factor.as_ref()).is_ok());
}
