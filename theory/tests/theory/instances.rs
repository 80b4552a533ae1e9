//! Exact instances against closed forms, which are those of the production kernels by the tests of `mcsa-kernels`. Two facts on
//! independent Metropolis-Hastings behind nearly all counterexamples.

use faer::Mat;
use mcsa_core::Seed;
use mcsa_testing::closed;
use mcsa_theory::Square;
use mcsa_theory::claims::{Atoms, Searchable, Setting};

/// Cases that a search draws.
fn cases(settings: &[Setting], seed: u64, draws: u64) -> Vec<Atoms> {
    let each = settings.iter().enumerate();
    each.flat_map(|(index, setting)| {
        (0..draws).map(move |draw| Atoms::draw(setting, &mut Seed::new(seed).stream(index as u64, draw)))
    })
    .collect()
}

fn differ(closed: &Mat<f64>, exact: &Square<f64>) -> f64 {
    let n = exact.atoms();
    let cells = (0..n).flat_map(|z| (0..n).map(move |y| (z, y)));
    cells.map(|(z, y)| (closed[(z, y)] - exact.row(z)[y]).abs()).fold(0.0, f64::max)
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Another rule and another number of candidates must be detected.
#[test]
fn matrices_and_rejections_are_the_closed_forms() {
    let (mut largest, mut other): (f64, f64) = (0.0, 0.0);
    for case in cases(&Setting::grid(&[2, 3, 4], &[2, 3, 4], &[1]), 11, 40) {
        let (instance, n) = (&case.problem, case.samples);
        let (p, q, cis) = (instance.pi(), instance.q(), instance.cis(n));
        for difference in [
            differ(&closed::imh(p, q), &instance.imh()),
            differ(&closed::barker(p, q), &instance.barker()),
            differ(&closed::cis(p, q, n), &cis.transition),
            apart(&closed::imh_rejection(p, q), &instance.imh_rejections()),
            apart(&closed::barker_rejection(p, q), &instance.barker_rejections()),
            apart(&closed::cis_rejection(p, q, n), &cis.rejections),
        ] {
            largest = largest.max(difference);
        }
        let rule = differ(&closed::imh(p, q), &instance.barker());
        other = other.max(rule.min(differ(&closed::cis(p, q, n + 1), &cis.transition)));
    }
    assert!(largest < 1e-14 && other > 0.01, "{largest:e} {other:e}");
}

fn steps() -> Vec<Setting> {
    Setting::grid(&[2, 3, 4], &[1], &[1, 2, 5])
}

/// `K^n(z*, .) = (1 - r^n) p + r^n delta_{z*}`, from the atom of the largest weight; from other atoms it differs.
#[test]
fn the_law_at_the_largest_weight() {
    let error = |case: &Atoms, start: usize| {
        let (p, kept) = (&case.problem, case.problem.rate().powi(case.steps as i32));
        let law = p.imh().power(case.steps).row(start).to_vec();
        let expected = |y: usize| (1.0 - kept) * p.pi()[y] + if y == start { kept } else { 0.0 };
        law.iter().enumerate().map(|(y, found)| (found - expected(y)).abs()).fold(0.0, f64::max)
    };
    let mut elsewhere: f64 = 0.0;
    for case in cases(&steps(), 7, 100) {
        let mode = case.problem.mode();
        assert!(error(&case, mode) < 1e-14, "{case}");
        elsewhere = elsewhere.max(error(&case, (mode + 1) % case.problem.atoms()));
    }
    assert!(elsewhere > 0.1);
}

/// No eigenvalue is negative, and the second largest is `r`, if every atom has positive target probability.
#[test]
fn the_spectrum() {
    for case in cases(&steps(), 7, 100).iter().filter(|case| case.problem.pi().iter().all(|p| *p > 1e-9)) {
        let (p, kernel) = (&case.problem, case.problem.imh());
        let moduli = kernel.spectrum(p.pi()).unwrap();
        assert!((moduli[1] - p.rate()).abs() < 1e-9, "{case}");
        // The trace is the sum of the eigenvalues: equal to the sum of moduli, if none is negative.
        let trace: f64 = (0..p.atoms()).map(|z| kernel.row(z)[z]).sum();
        assert!((moduli.iter().sum::<f64>() - trace).abs() < 1e-9, "{case}");
    }
}
