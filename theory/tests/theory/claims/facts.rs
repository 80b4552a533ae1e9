//! Two facts on independent Metropolis-Hastings behind nearly all counterexamples.

use faer::Mat;
use mcsa_core::Seed;
use mcsa_theory::Spectrum;
use mcsa_theory::claims::{Atoms, Searchable, Setting};

fn cases() -> impl Iterator<Item = Atoms> {
    let settings = Setting::grid(&[2, 3, 4], &[1], &[1, 2, 5]);
    settings.into_iter().enumerate().flat_map(|(index, setting)| {
        (0..100).map(move |draw| Atoms::draw(&setting, &mut Seed::new(7).stream(index as u64, draw)))
    })
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
    for case in cases() {
        let mode = case.problem.mode();
        assert!(error(&case, mode) < 1e-14, "{case}");
        elsewhere = elsewhere.max(error(&case, (mode + 1) % case.problem.len()));
    }
    assert!(elsewhere > 0.1);
}

/// No eigenvalue is negative, and the second largest is `r`, if every atom has positive target probability.
#[test]
fn the_spectrum() {
    for case in cases().filter(|case| case.problem.pi().iter().all(|p| *p > 1e-9)) {
        let (p, kernel) = (&case.problem, case.problem.imh());
        let matrix = Mat::from_fn(p.len(), p.len(), |z, y| kernel.row(z)[y]);
        let spectrum = Spectrum::new(&matrix, p.pi()).unwrap();
        assert!((spectrum.second() - p.rate()).abs() < 1e-9, "{case}");
        // The trace is the sum of the eigenvalues: equal to the sum of moduli, if none is negative.
        let trace: f64 = (0..p.len()).map(|z| kernel.row(z)[z]).sum();
        assert!((spectrum.moduli.iter().sum::<f64>() - trace).abs() < 1e-9, "{case}");
    }
}
