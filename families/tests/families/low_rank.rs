//! Conformance of the low-rank plus diagonal Gaussian.

use mcsa_core::Parametric;
use mcsa_families::{Link, LowRank};
use mcsa_testing::family::Case;

use crate::altered::meter;

fn cases() -> Vec<Case<LowRank>> {
    let spread = |dim: usize, rank, link| {
        let q = LowRank::new(dim, rank).with_link(link);
        let params = (0..q.num_params()).map(|k| (k as f64 * 1.3).sin()).collect();
        Case::new(q, params).with_draws(1 << 15)
    };
    let mut cases: Vec<_> = [(0, 0), (0, 2), (1, 0), (1, 1), (2, 1), (2, 3), (3, 1), (7, 3), (30, 5)]
        .map(|(dim, rank)| spread(dim, rank, Link::Softplus))
        .into();
    cases.extend([(1, 1), (2, 2), (6, 2)].map(|(dim, rank)| spread(dim, rank, Link::Exp)));
    cases
}

mcsa_testing::family_suite!(laws, cases(), meter, reparameterised);
