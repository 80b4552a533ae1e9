//! Whole runs: equality with a hand-written loop, moments, and what the diagnostics tell of a run that failed.

use faer::{Mat, mat};
use mcsa_core::{Address, ChainState, Error, Kernel, Seed, from_fn};
use mcsa_kernels::{DualAveraging, Hmc, NoProposal, Nuts, Rwm, Sampling, WindowAdaptation, warm_up};
use mcsa_models::{Gaussian, Mixture};

fn gaussian() -> Gaussian {
    Gaussian::diagonal(vec![1.0, -20.0], vec![0.01, 100.0]).unwrap()
}

#[test]
fn a_run_equals_a_hand_written_loop() {
    let (target, seed, starts) = (gaussian(), Seed::new(7), mat![[0.9, 1.1, 1.0], [-30.0, -10.0, 0.0]]);
    let run = Sampling::new(3, 20).warm_up(60).acceptance(0.9);
    let sample = run.run_from(&Nuts::new(0.1).unwrap(), &target, starts.clone(), seed).unwrap();
    let (nuts, proposal) = (Nuts::new(0.1).unwrap(), &mut NoProposal { dim: 2 });
    let mut state = nuts.init(&target, starts).unwrap();
    let plan = WindowAdaptation::new(60, DualAveraging::new(0.9).unwrap());
    let mut progress = plan.init(0.1, 2);
    let warm = seed.named("warm");
    let nuts = warm_up(&nuts, &target, proposal, &mut state, &plan, &mut progress, warm, 60).unwrap();
    let (mut lanes, mut work) = (seed.streams(3, 0), vec![0.0; nuts.work_len(&target, 3)]);
    for step in 0..20 {
        for (lane, stream) in (0..).zip(&mut lanes) {
            stream.go_to(Address::of(lane, step as u64));
        }
        nuts.step(&target, proposal, &mut state, &mut lanes, &mut work);
        for chain in 0..3 {
            let (column, chains) = (chain * 20 + step, state.chains());
            assert_eq!(sample.draws.col_as_slice(column), chains.positions.col_as_slice(chain));
            assert_eq!(sample.log_p[column], chains.log_p[chain]);
        }
    }
    assert_eq!((sample.kernel, sample.positions), (nuts, state.chains().positions.clone()));
}

/// At a fixed seed; each deviation of a mean exceeds five standard errors with probability 6e-7.
#[test]
fn moments_are_those_of_the_target() {
    let target = gaussian();
    let sample = Sampling::new(4, 2_000).run(&Nuts::new(0.1).unwrap(), &target, Seed::new(8)).unwrap();
    let (mean, errors, variance) = (sample.mean(), sample.standard_errors(), sample.variance());
    assert!((mean[0] - 1.0).abs() < 5.0 * errors[0] && (mean[1] + 20.0).abs() < 5.0 * errors[1]);
    assert!((variance[0] / 1e-4 - 1.0).abs() < 0.15 && (variance[1] / 1e4 - 1.0).abs() < 0.15);
    assert!(sample.r_hat().iter().all(|r_hat| *r_hat < 1.01), "{sample}");
    assert!(sample.sample_sizes().iter().all(|size| *size > 1_000.0), "{sample}");
    assert_eq!((sample.divergences, sample.non_finite), (0, 0));
    let hmc = Sampling::new(4, 500).run(&Hmc::new(0.1, 8).unwrap(), &target, Seed::new(9)).unwrap();
    assert!(hmc.r_hat().iter().all(|r_hat| *r_hat < 1.05), "{hmc}");
}

#[test]
fn chains_in_different_modes_are_told() {
    let one = |at: f64| Gaussian::diagonal(vec![at], vec![1.0]).unwrap();
    let target = Mixture::new(&[0.5, 0.5], vec![one(-20.0), one(20.0)]).unwrap();
    let starts = mat![[-20.0, -19.0, 20.0, 21.0]];
    let sample =
        Sampling::new(4, 200).run_from(&Rwm::new(1.0).unwrap(), &target, starts, Seed::new(1)).unwrap();
    assert!(sample.r_hat()[0] > 1.5 && sample.sample_sizes()[0] < 20.0, "{sample}");
}

#[test]
fn impossible_runs_are_refused_by_name() {
    let nuts = Nuts::new(0.1).unwrap();
    let told =
        |result: Result<_, Error>| result.map(|_: mcsa_kernels::Sample<Nuts>| ()).unwrap_err().to_string();
    let nowhere = from_fn(2, |_| f64::NAN).with_gradient(|_, gradient| gradient.fill(f64::NAN));
    let none = told(Sampling::new(2, 5).run(&nuts, &nowhere, Seed::new(1)));
    assert_eq!(
        none,
        "Sampling: no starting point of chain 0 in (-2, 2)^2 has a finite log density: give points with `run_from`"
    );
    let run = |run: Sampling, starts: Mat<f64>| told(run.run_from(&nuts, &gaussian(), starts, Seed::new(1)));
    assert!(run(Sampling::new(0, 5), Mat::zeros(2, 0)).contains("chains"));
    assert!(run(Sampling::new(2, 5), Mat::zeros(2, 3)).contains("starting points has length 3, expected 2"));
    assert!(run(Sampling::new(2, 5), Mat::zeros(1, 2)).contains("a starting point has length 1, expected 2"));
    assert!(run(Sampling::new(1, 5), mat![[f64::NAN], [0.0]]).contains("a starting point"));
    assert!(run(Sampling::new(1, usize::MAX), Mat::zeros(2, 1)).contains("draws"));
    assert!(
        run(Sampling::new(1, 5).acceptance(1.5), Mat::zeros(2, 1)).contains("DualAveraging: target is 1.5")
    );
}
