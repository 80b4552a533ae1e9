//! Transition matrices used by the claims, against those of the production kernels and the closed forms.

use faer::Mat;
use mcsa_core::{Kernel, Seed};
use mcsa_kernels::{Cis, Imh};
use mcsa_testing::{Finite, FiniteGuide, closed, transition_matrix};
use mcsa_theory::claims::{Atoms, Searchable, Setting};
use mcsa_theory::{Instance, Square};

/// Transition matrix of the production kernel, by enumeration.
fn enumerated<K: Kernel<Finite>>(kernel: &K, problem: &Instance<f64>) -> Mat<f64> {
    let target = Finite::on_line(problem.pi()).unwrap();
    let mut guide = FiniteGuide::new(Finite::on_line(problem.q()).unwrap());
    transition_matrix(kernel, &target, &mut guide, target.atoms(), 1, 1_000_000).unwrap().matrix
}

fn apart(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (0..a.nrows())
        .flat_map(|j| a.col_as_slice(j).iter().zip(b.col_as_slice(j)))
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max)
}

fn matrix(kernel: &Square<f64>) -> Mat<f64> {
    Mat::from_fn(kernel.len(), kernel.len(), |z, y| kernel.row(z)[y])
}

/// Largest difference between three computations of one matrix, over the cases that a search draws.
fn largest_difference(imh: impl Fn(&Instance<f64>) -> Square<f64>) -> f64 {
    let mut largest: f64 = 0.0;
    for (index, setting) in Setting::grid(&[2, 3, 4], &[2, 3, 4], &[1]).iter().enumerate() {
        for draw in 0..40 {
            let case = Atoms::draw(setting, &mut Seed::new(11).stream(index as u64, draw));
            let (p, n) = (&case.problem, case.samples);
            let production = enumerated(&Imh::default(), p);
            largest = largest.max(apart(&production, &matrix(&imh(p))));
            largest = largest.max(apart(&production, &closed::imh(p.pi(), p.q())));
            let production = enumerated(&Cis { candidates: n }, p);
            largest = largest.max(apart(&production, &matrix(&p.cis(n).transition)));
            largest = largest.max(apart(&production, &closed::cis(p.pi(), p.q(), n)));
        }
    }
    largest
}

#[test]
fn production_closed_and_generic_matrices_agree() {
    let found = largest_difference(Instance::imh);
    assert!(found < 1e-14, "{found:e}");
}

/// Barker's rule in place of Metropolis's must be detected.
#[test]
fn another_rule_is_seen() {
    assert!(largest_difference(Instance::barker) > 0.1);
}
