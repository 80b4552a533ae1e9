//! The laws of the Gaussian with any covariance.

use mcsa::Family;
use mcsa_families::conformance::Case;
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
