//! Conformance of the mean-field Gaussian.

use mcsa_families::{Link, MeanField};
use mcsa_testing::family::Case;

use crate::altered::meter;

fn cases() -> Vec<Case<MeanField>> {
    let spread = |dim: usize, link| {
        let params = (0..2 * dim).map(|k| (k as f64 * 1.3).sin()).collect();
        Case::new(MeanField::new(dim).with_link(link), params)
    };
    let mut cases: Vec<_> = [0, 1, 2, 3, 17, 100].map(|dim| spread(dim, Link::Softplus)).into();
    cases.extend([1, 2, 5].map(|dim| spread(dim, Link::Exp)));
    cases
}

mcsa_testing::family_suite!(laws, cases(), meter, reparameterised);
