//! Kernels with proposals from q: recycled proposals, vanished weights, impossible settings, metrics of weights.

use faer::Mat;
use mcsa_core::{ChainState, FamilyProposal, Kernel, LogDensity, Parametric, Record, Seed, from_fn};
use mcsa_families::MeanField;
use mcsa_kernels::{Acceptance, Cis, Cycle, DelayedAcceptance, Imh, Mixture, Repeat, Rwm, WasteRecycling};
use mcsa_models::Gaussian;

use crate::laws::Run;

const DIM: usize = 2;
const CHAINS: usize = 3;

fn starts() -> Mat<f64> {
    Mat::zeros(DIM, CHAINS)
}

/// A target on a half plane, with NaN beyond a line.
fn faulty() -> impl LogDensity {
    from_fn(DIM, |z| match z[0] {
        x if x > 1.0 => f64::NAN,
        x if x > 0.9 => f64::INFINITY,
        x if x < -0.5 => f64::NEG_INFINITY,
        x => -x * x,
    })
}

/// The chains of waste recycling are those of the kernel inside, and its cloud is finite where proposals are not.
#[test]
fn recycled_chains_are_those_of_the_kernel_inside() {
    let target = faulty();
    for imh in [Imh::default(), Imh { acceptance: Acceptance::Barker, sweeps: 3 }] {
        let recycled = WasteRecycling { imh: imh.clone() };
        let (mut inside, mut outside) =
            (Run::new(&imh, &target, starts()), Run::new(&recycled, &target, starts()));
        for step in 1..40 {
            inside.steps(step..step + 1);
            outside.steps(step..step + 1);
            let (points, weights) = (outside.state.points(), outside.state.weights().unwrap());
            assert_eq!((points.ncols(), weights.len()), (2 * CHAINS * imh.sweeps, points.ncols()));
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            assert!((0..points.ncols()).all(|k| points.col(k).iter().all(|x| x.is_finite())));
        }
        assert_eq!(inside.state.chains(), outside.state.chains());
        assert_eq!(inside.totals, outside.totals);
        let error = recycled.init(&target, Mat::zeros(DIM + 1, 1)).map(drop).unwrap_err().to_string();
        assert_eq!(error, "WasteRecycling: Imh: a starting point has length 3, expected 2");
    }
}

/// A chain leaves a point without a finite density, whatever the surrogate is there.
#[test]
fn delayed_acceptance_leaves_a_point_without_a_density() {
    for here in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for surrogate in [0.0, f64::NEG_INFINITY] {
            let on_half =
                |beyond: f64| from_fn(DIM, move |z| if z[0] < 0.0 { beyond } else { -z[0] - z[1] * z[1] });
            let (target, surrogate) = (on_half(here), on_half(surrogate));
            let kernel = DelayedAcceptance { inner: Rwm::new(0.5).unwrap(), surrogate };
            let mut run = Run::new(&kernel, &target, Mat::from_fn(DIM, CHAINS, |_, _| -0.1));
            run.steps(1..200);
            let end = run.state.chains();
            assert!((0..CHAINS).all(|j| end.positions[(0, j)] >= 0.0 && end.log_p[j].is_finite()), "{here}");
        }
    }
}

/// If all weights vanish the retained point stays with the whole weight, and the chain is counted.
#[test]
fn vanished_weights_keep_the_retained_point() {
    let kernel = Cis::with_candidates(4);
    let nowhere = from_fn(DIM, |_| f64::NEG_INFINITY);
    let mut run = Run::new(&kernel, &nowhere, starts());
    let before = run.state.chains().clone();
    run.steps(1..11);
    assert_eq!(*run.state.chains(), before);
    assert_eq!(run.total("vanished"), 10.0 * CHAINS as f64);
    let weights = run.state.weights().unwrap();
    assert_eq!(weights.iter().filter(|&&w| w > 0.0).count(), CHAINS);
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-15);
}

#[test]
fn impossible_configurations_are_refused() {
    let target = Gaussian::standard(DIM);
    let refused = |result: Result<(), mcsa_core::Error>| result.unwrap_err().to_string();
    assert_eq!(
        refused(Cis { candidates: 1 }.init(&target, starts()).map(drop)),
        "Cis: candidates is 1, expected at least 2, the retained point included"
    );
    let idle = Imh { sweeps: 0, ..Imh::default() };
    assert_eq!(refused(idle.init(&target, starts()).map(drop)), "Imh: sweeps is 0, expected at least 1");
    let idle = Repeat { kernel: Imh::default(), times: 0 };
    assert_eq!(refused(idle.init(&target, starts()).map(drop)), "Repeat: times is 0, expected at least 1");
    assert!(Mixture::new(f64::NAN, Imh::default(), Imh::default()).is_err());
    assert!(Mixture::new(1.5, Imh::default(), Imh::default()).is_err());
    let nan = Mat::from_fn(DIM, CHAINS, |_, j| if j == 1 { f64::NAN } else { 0.0 });
    let error = refused(Imh::default().init(&target, nan).map(drop));
    assert_eq!(error, "Imh: a starting point[0] is NaN, expected a finite number");
}

/// Weight metrics of a step: the mean weight has mean Z, at the lambda of the step and independent of the chains. Weights
/// of `N(0, 1)` under a proposal of twice the scale lie below 2 per dimension, so that 5 standard errors of 4000 steps are
/// below 0.1: false alarm below 1e-5. The largest weight is below `log w* = 2 log 2`, and close to it.
#[test]
fn a_step_tells_mean_and_largest_weight() {
    fn told<K: Kernel<Gaussian>>(kernel: &K, scale: f64) -> (f64, f64) {
        let (target, family) = (Gaussian::standard(DIM), MeanField::new(DIM));
        let params = family.at(&[0.0; DIM], &[scale; DIM]).unwrap();
        let mut state = kernel.init(&target, Mat::zeros(DIM, CHAINS)).unwrap();
        let columns = kernel.columns(CHAINS);
        let mut memory = vec![0.0; family.work_len(columns)];
        let mut work = vec![0.0; kernel.work_len(&target, CHAINS)];
        let (mut mean, mut top) = (0.0, f64::NEG_INFINITY);
        for step in 0..4_000 {
            let mut lanes = Seed::new(6).streams(CHAINS, step);
            let mut proposal = FamilyProposal::new(&family, &params, columns, &mut memory).unwrap();
            let info = kernel.step(&target, &mut proposal, &mut state, &mut lanes, &mut work);
            info.record(&mut |metric, value| match metric.name {
                "log_weight_mean" => mean += value.exp() / 4_000.0,
                "log_weight_top" => top = top.max(value),
                _ => {}
            });
        }
        (mean, top)
    }
    let log_w_star = 2.0 * 2.0_f64.ln();
    for (mean, top) in [
        told(&Imh::default(), 2.0),
        told(&Imh { sweeps: 3, ..Imh::default() }, 2.0),
        told(&Cis::with_candidates(4), 2.0),
    ] {
        assert!((mean - 1.0).abs() < 0.1, "{mean}");
        assert!(top <= log_w_star + 1e-12 && top > log_w_star - 0.1, "{top}");
    }
    // The twin: under a proposal that is too narrow weights are not bounded.
    assert!(told(&Imh::default(), 0.8).1 > 0.8_f64.ln() * -2.0 + 1.0);
}

/// Every transition of a composition counts once, at any depth of nesting: all proposals of four chains are faults.
#[test]
fn a_composition_counts_the_faults_of_its_parts() {
    fn faults<K: Kernel<P>, P: LogDensity>(kernel: &K, broken: &P, step: u64) -> f64 {
        let mut run = Run::new(kernel, broken, Mat::zeros(DIM, 4));
        run.steps(step..step + 1);
        run.total("non_finite")
    }
    let broken = from_fn(DIM, |_| f64::NAN);
    let (once, thrice) = (Imh::default(), Imh { sweeps: 3, ..Imh::default() });
    let repeated = Repeat { kernel: once.clone(), times: 3 };
    assert_eq!([faults(&thrice, &broken, 0), faults(&repeated, &broken, 0)], [12.0; 2]);
    let cycle = Cycle { first: repeated, second: once.clone() };
    assert_eq!(faults(&cycle, &broken, 0), 16.0);
    assert_eq!(faults(&Repeat { kernel: cycle, times: 2 }, &broken, 0), 32.0);
    let mixture = Mixture::new(0.5, once, thrice).unwrap();
    let found: Vec<f64> = (0..50).map(|step| faults(&mixture, &broken, step)).collect();
    for count in [4.0, 12.0] {
        assert!(found.iter().filter(|found| **found == count).count() > 10, "{found:?}");
    }
    assert!(found.iter().all(|found| [4.0, 12.0].contains(found)), "{found:?}");
}
