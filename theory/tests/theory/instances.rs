//! Exact instances against production code: kernels and estimators are enumerated with a scripted stream. Two facts on independent
//! Metropolis-Hastings behind nearly all counterexamples.

use faer::Mat;
use mcsa_core::{Estimator, Seed, Stream, enumerate};
use mcsa_estimators::{ChainScore, jsa, msc, msc_rb, pmcsa, snis};
use mcsa_families::Atoms as Table;
use mcsa_kernels::{Acceptance, Cis, Imh};
use mcsa_testing::{Finite, FiniteProposal, Transition, closed, transition_matrix};
use mcsa_theory::claims::{Atoms, Searchable, Setting};
use mcsa_theory::{Instance, Spectrum, Square, dot};

const TOLERANCE: f64 = 1e-13;
const LIMIT: usize = 2_000_000;

fn instances() -> Vec<Instance<f64>> {
    let new = |pi: &[f64], q: &[f64], s: &[f64]| Instance::new(pi, q, s).unwrap();
    vec![
        new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0]),
        new(&[0.5, 0.3, 0.2], &[0.2, 0.35, 0.45], &[1.0, -2.0, 0.5]),
        new(&[0.7, 0.1, 0.2], &[0.1, 0.8, 0.1], &[0.0, 3.0, -1.0]),
    ]
}

fn target(instance: &Instance<f64>) -> Finite {
    Finite::on_line(instance.pi()).unwrap()
}

fn enumerated<K: mcsa_core::Kernel<Finite>>(kernel: &K, instance: &Instance<f64>) -> Transition {
    let (target, mut guide) = (target(instance), FiniteProposal::new(Finite::on_line(instance.q()).unwrap()));
    transition_matrix(kernel, &target, &mut guide, target.atoms(), 1, LIMIT).unwrap()
}

fn differ(found: &Transition, exact: &Square<f64>) -> f64 {
    let n = exact.len();
    let cells = (0..n).flat_map(|z| (0..n).map(move |y| (z, y)));
    cells.map(|(z, y)| (found.matrix[(z, y)] - exact.row(z)[y]).abs()).fold(0.0, f64::max)
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn matrices_are_those_of_the_kernels() {
    let barker = Imh { acceptance: Acceptance::Barker, sweeps: 1 };
    for instance in instances() {
        let metropolis = instance.imh();
        assert!(differ(&enumerated(&Imh::default(), &instance), &metropolis) < TOLERANCE);
        assert!(differ(&enumerated(&barker, &instance), &instance.barker()) < TOLERANCE);
        // Another acceptance rule and another number of candidates must be detected.
        assert!(differ(&enumerated(&barker, &instance), &metropolis) > 1e-2);
        for candidates in 2..5 {
            let found = enumerated(&Cis::with_candidates(candidates), &instance);
            assert!(differ(&found, &instance.cis(candidates).transition) < TOLERANCE);
            assert!(differ(&found, &instance.cis(candidates + 1).transition) > 1e-3);
        }
        let double = enumerated(&Imh { acceptance: Acceptance::Metropolis, sweeps: 3 }, &instance);
        assert!(differ(&double, &metropolis.power(3)) < TOLERANCE);
    }
}

#[test]
fn rejections_and_candidate_averages_are_those_of_the_kernels() {
    for instance in instances() {
        let acceptance = enumerated(&Imh::default(), &instance);
        let rejected: Vec<f64> =
            acceptance.mean_record("acceptance").unwrap().iter().map(|a| 1.0 - a).collect();
        assert!(apart(&rejected, &instance.imh_rejections()) < TOLERANCE);
        for candidates in 2..5 {
            let (found, exact) =
                (enumerated(&Cis::with_candidates(candidates), &instance), instance.cis(candidates));
            assert!(apart(&found.cloud_means(instance.s()), &exact.means) < TOLERANCE);
            assert!(apart(&found.cloud_variances(instance.s()), &exact.weighted_variances) < TOLERANCE);
            assert!(apart(&found.cloud_variances(instance.s()), &exact.selected_variances) > 1e-3);
            let moved = found.mean_record("acceptance").unwrap();
            let rejected: Vec<f64> = moved.iter().map(|m| 1.0 - m).collect();
            assert!(apart(&rejected, &exact.rejections) < TOLERANCE);
        }
    }
}

/// Mean and variance of `sum_k s_k direction_k + E_q[s]`, which estimates `E_pi[s]`: the score of a table at
/// atom `z` is `1[k = z] - q_k`.
fn moments<E: Estimator<Finite, Table>>(
    estimator: &E,
    instance: &Instance<f64>,
    state: &dyn Fn() -> E::State,
) -> (f64, f64) {
    let (target, family) = (target(instance), Table::on_line(instance.len()).unwrap());
    let logits: Vec<f64> = instance.q().iter().map(|q| q.ln()).collect();
    let guided = dot(instance.q(), instance.s());
    let mut work = vec![0.0; estimator.work_len(&target, &family)];
    let branches = enumerate(estimator.lanes(), LIMIT, |lanes: &mut [Stream]| {
        let mut direction = vec![f64::NAN; instance.len()];
        let mut state = state();
        estimator
            .ascent_direction(&target, &family, &logits, &mut state, lanes, &mut direction, &mut work)
            .unwrap();
        dot(&direction, instance.s()) + guided
    });
    let branches = branches.unwrap();
    let mean: f64 = branches.iter().map(|b| b.probability * b.outcome).sum();
    (mean, branches.iter().map(|b| b.probability * (b.outcome - mean).powi(2)).sum())
}

fn from_atom<K: mcsa_core::Kernel<Finite>>(
    estimator: &ChainScore<K>,
    instance: &Instance<f64>,
    atom: usize,
) -> (f64, f64) {
    let starts = || Mat::from_fn(1, estimator.lanes, |_, _| atom as f64);
    moments(estimator, instance, &|| estimator.kernel.init(&target(instance), starts()).unwrap())
}

fn close(found: (f64, f64), mean: f64, variance: f64) -> bool {
    (found.0 - mean).abs() < TOLERANCE && (found.1 - variance).abs() < TOLERANCE
}

#[test]
fn moments_are_those_of_the_chain_estimators() {
    for instance in instances() {
        let kernel = instance.imh();
        for n in 1..5 {
            let (sequential, parallel) = (instance.sequential(&kernel, n), instance.parallel(&kernel, n));
            for z in 0..instance.len() {
                let found = from_atom(&jsa(n), &instance, z);
                assert!(close(found, sequential.means[z], sequential.variances[z].sum()));
                // Counter-check: the covariances are not negligible.
                assert!(n == 1 || !close(found, sequential.means[z], sequential.variances[z].diagonal));
                let found = from_atom(&pmcsa(n), &instance, z);
                assert!(close(found, parallel.means[z], parallel.variances[z].sum()));
            }
        }
    }
}

#[test]
fn moments_are_those_of_the_candidate_estimators() {
    for instance in instances() {
        for n in 2..5 {
            let (cis, snis_exact) = (instance.cis(n), instance.snis(n));
            for z in 0..instance.len() {
                let found = from_atom(&msc(n), &instance, z);
                assert!(close(found, cis.means[z], cis.selected_variances[z]));
                let found = from_atom(&msc_rb(n), &instance, z);
                assert!(close(found, cis.means[z], cis.weighted_variances[z]));
                assert!(!close(found, cis.means[z], cis.selected_variances[z]));
            }
            assert!(close(moments(&snis(n), &instance, &|| ()), snis_exact.mean, snis_exact.variance));
        }
    }
}

/// Cases that a search draws.
fn cases(settings: &[Setting], seed: u64, draws: u64) -> Vec<Atoms> {
    let each = settings.iter().enumerate();
    each.flat_map(|(index, setting)| {
        (0..draws).map(move |draw| Atoms::draw(setting, &mut Seed::new(seed).stream(index as u64, draw)))
    })
    .collect()
}

/// Largest difference between three computations of one matrix, over the cases that a search draws.
fn largest_difference(imh: impl Fn(&Instance<f64>) -> Square<f64>) -> f64 {
    let mut largest: f64 = 0.0;
    for case in cases(&Setting::grid(&[2, 3, 4], &[2, 3, 4], &[1]), 11, 40) {
        let (p, n) = (&case.problem, case.samples);
        let production = enumerated(&Imh::default(), p);
        largest = largest.max(differ(&production, &imh(p)));
        largest = largest.max((&production.matrix - closed::imh(p.pi(), p.q())).norm_max());
        let production = enumerated(&Cis { candidates: n }, p);
        largest = largest.max(differ(&production, &p.cis(n).transition));
        largest = largest.max((&production.matrix - closed::cis(p.pi(), p.q(), n)).norm_max());
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
        elsewhere = elsewhere.max(error(&case, (mode + 1) % case.problem.len()));
    }
    assert!(elsewhere > 0.1);
}

/// No eigenvalue is negative, and the second largest is `r`, if every atom has positive target probability.
#[test]
fn the_spectrum() {
    for case in cases(&steps(), 7, 100).iter().filter(|case| case.problem.pi().iter().all(|p| *p > 1e-9)) {
        let (p, kernel) = (&case.problem, case.problem.imh());
        let matrix = Mat::from_fn(p.len(), p.len(), |z, y| kernel.row(z)[y]);
        let spectrum = Spectrum::new(&matrix, p.pi()).unwrap();
        assert!((spectrum.second() - p.rate()).abs() < 1e-9, "{case}");
        // The trace is the sum of the eigenvalues: equal to the sum of moduli, if none is negative.
        let trace: f64 = (0..p.len()).map(|z| kernel.row(z)[z]).sum();
        assert!((spectrum.moduli.iter().sum::<f64>() - trace).abs() < 1e-9, "{case}");
    }
}
