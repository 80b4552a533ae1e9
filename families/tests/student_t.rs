//! The laws of the Student t with independent coordinates.

use mcsa_families::conformance::{Case, Map};
use mcsa_families::{Fixed, Learned, Link, StudentT, suite};

fn meter(call: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(call).count_total
}

fn params(count: usize) -> Vec<f64> {
    (0..count).map(|k| (k as f64 * 1.3).sin()).collect()
}

fn fixed() -> Vec<Case<StudentT<Fixed>>> {
    let dofs = [(0, 3.0), (1, 1.0), (1, 0.6), (1, 30.0), (2, 2.5), (3, 5.0), (70, 4.0)];
    let mut cases: Vec<_> =
        dofs.map(|(dim, dof)| Case::new(StudentT::fixed(dim, dof).unwrap(), params(2 * dim))).into();
    cases.push(Case::new(StudentT::fixed(2, 4.0).unwrap().with_link(Link::Exp), params(4)));
    cases.into_iter().map(|case| case.with_map(Map::SinhSinh)).collect()
}

fn learned() -> Vec<Case<StudentT<Learned>>> {
    let floors = [(0, 1.0), (1, 0.5), (1, 1.0), (2, 2.0), (3, 1.0), (70, 4.0)];
    let case = |(dim, floor)| Case::new(StudentT::learned(dim, floor).unwrap(), params(2 * dim + 1));
    floors.map(case).into_iter().map(|case| case.with_map(Map::SinhSinh)).collect()
}

suite!(fixed_laws, fixed(), meter, reparameterised);
suite!(learned_laws, learned(), meter);
