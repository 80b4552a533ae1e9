//! The laws of the Gaussian with any covariance.

use mcsa::Family;
use mcsa_families::conformance::{self, Case};
use mcsa_families::{FullRank, Link, suite};

fn meter(call: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(call).count_total
}

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

suite!(laws, cases(), meter, reparameterised);

/// More rows than a tile of the gradient has, and not a multiple of anything.
#[test]
fn tiles_do_not_show() {
    let q = FullRank::new(263);
    let case = Case::new(q, (0..q.num_params()).map(|k| 0.05 * (k as f64 * 1.3).sin()).collect());
    assert_eq!(conformance::batch_equals_columns(&case), Ok(()));
    assert_eq!(conformance::score_is_gradient(&case), Ok(()));
    assert_eq!(conformance::draws_know_their_density(&case), Ok(()));
    assert_eq!(conformance::pullback_is_gradient(&case), Ok(()));
}
