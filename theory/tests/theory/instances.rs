//! Exact instances against production code: kernels and estimators are enumerated with a scripted stream.

use faer::Mat;
use mcsa_core::{Estimator, Stream, enumerate};
use mcsa_estimators::{ChainScore, jsa, msc, msc_rb, pmcsa, snis};
use mcsa_families::Atoms;
use mcsa_kernels::{Acceptance, Cis, Imh};
use mcsa_testing::{Finite, FiniteGuide, Transition, transition_matrix};
use mcsa_theory::{Instance, Square, dot};

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
    let (target, mut guide) = (target(instance), FiniteGuide::new(Finite::on_line(instance.q()).unwrap()));
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
fn moments<E: Estimator<Finite, Atoms>>(
    estimator: &E,
    instance: &Instance<f64>,
    state: &dyn Fn() -> E::State,
) -> (f64, f64) {
    let (target, family) = (target(instance), Atoms::on_line(instance.len()).unwrap());
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
