//! Warm-ups and whole runs: learnt step sizes and masses, equality with parts and with hand-written loops, moments, and what the
//! diagnostics of a failed run say.

use faer::{Mat, mat};
use mcsa_core::{ChainState, Error, Kernel, Metric, Record, Seed, Stream, from_fn};
use mcsa_kernels::{
    Adaptation, GradientEnsemble, Hmc, Leapfrog, Mala, Mass, NoProposal, Nuts, Rwm, Sampling, Tunable,
    WindowAdaptation, warm_up,
};
use mcsa_models::{Gaussian, Mixture};

/// Three coordinates of standard deviation 0.1, 1 and 10.
fn scaled() -> Gaussian {
    let covariance = Mat::from_fn(3, 3, |i, j| if i == j { 100.0_f64.powi(i as i32 - 1) } else { 0.0 });
    Gaussian::new(vec![0.0; 3], covariance.as_ref()).unwrap()
}

/// The kernel after a warm-up, its mean acceptance in 200 more steps, and the masses learnt.
fn warmed<K>(kernel: &K, goal: f64) -> (K, f64, Vec<f64>)
where
    K: Kernel<Gaussian> + Tunable,
{
    let (target, proposal, chains) = (scaled(), &mut NoProposal { dim: 3 }, 4);
    let mut state = kernel.init(&target, Mat::zeros(3, chains)).unwrap();
    let plan = WindowAdaptation::new(1000, goal).unwrap();
    let mut progress = plan.init(kernel.step_size(), 3);
    let seed = Seed::new(31);
    let kernel = warm_up(kernel, &target, proposal, &mut state, &plan, &mut progress, seed, 5000).unwrap();
    assert_eq!(progress.step(), 1000);
    let mut work = vec![0.0; kernel.work_len(&target, chains)];
    let mut acceptance = 0.0;
    for step in 1000..1200 {
        let mut lanes = seed.streams(chains, step);
        let info = kernel.step(&target, proposal, &mut state, &mut lanes, &mut work);
        info.record(&mut |metric, value| {
            acceptance += if metric.is(Metric::ACCEPTANCE) { value / 200.0 } else { 0.0 };
        });
    }
    (kernel, acceptance, progress.mass().unwrap().unwrap().masses().to_vec())
}

#[test]
fn step_size_and_mass_find_their_values() {
    fn check<K>(name: &str, kernel: &K, goal: f64)
    where
        K: Kernel<Gaussian> + Tunable,
    {
        let (_, acceptance, masses) = warmed(kernel, goal);
        assert!((acceptance - goal).abs() < 0.1, "{name}: acceptance {acceptance}");
        for (mass, exact) in masses.iter().zip([100.0, 1.0, 0.01]) {
            assert!((mass / exact).ln().abs() < 0.7, "{name}: masses {masses:?}");
        }
    }
    check("Nuts", &Nuts::new(1.0).unwrap(), 0.8);
    check("Hmc", &Hmc::new(1.0, 7).unwrap(), 0.8);
    check("Mala", &Mala::new(1.0).unwrap(), 0.574);
    check("Rwm", &Rwm::new(1.0).unwrap(), 0.3);
}

#[test]
fn a_warm_up_in_parts_equals_one_in_one_part() {
    let (target, proposal, seed) = (scaled(), &mut NoProposal { dim: 3 }, Seed::new(32));
    let (nuts, plan) = (Nuts::new(0.5).unwrap(), WindowAdaptation::new(200, 0.8).unwrap());
    let mut whole = (nuts.init(&target, Mat::zeros(3, 2)).unwrap(), plan.init(0.5, 3));
    let mut parts = whole.clone();
    let once = warm_up(&nuts, &target, proposal, &mut whole.0, &plan, &mut whole.1, seed, 200).unwrap();
    warm_up(&nuts, &target, proposal, &mut parts.0, &plan, &mut parts.1, seed, 110).unwrap();
    let text = serde_json::to_string(&parts).unwrap();
    let mut restored: (GradientEnsemble, Adaptation) = serde_json::from_str(&text).unwrap();
    let twice = warm_up(&nuts, &target, proposal, &mut restored.0, &plan, &mut restored.1, seed, 90).unwrap();
    assert_eq!((once, &whole), (twice, &restored));
}

/// HMC tuned as in the published experiments: step size alone, mass unchanged.
#[test]
fn a_kernel_keeps_its_mass_where_none_is_learnt() {
    let (target, proposal) = (scaled(), &mut NoProposal { dim: 3 });
    let mass = Mass::diagonal(vec![90.0, 1.2, 0.01]).unwrap();
    let nuts = Nuts::with(Leapfrog::new(0.01, mass.clone()).unwrap(), 8).unwrap();
    let mut plan = WindowAdaptation::new(300, 0.8).unwrap();
    plan.learns_mass = false;
    let (mut state, mut progress) =
        (nuts.init(&target, Mat::zeros(3, 2)).unwrap(), plan.init(nuts.step_size(), 3));
    let tuned =
        warm_up(&nuts, &target, proposal, &mut state, &plan, &mut progress, Seed::new(34), 300).unwrap();
    assert_eq!(tuned, Nuts::with(Leapfrog::new(tuned.step_size(), mass).unwrap(), 8).unwrap());
    assert!(tuned.step_size() > 0.5 && progress.mass().unwrap().is_none());
    let rwm = Rwm::with(1.0, vec![0.1, 1.0]).unwrap();
    assert_eq!(rwm.tuned(2.0, None).unwrap(), Rwm::with(2.0, vec![0.1, 1.0]).unwrap());
    let halved = rwm.tuned(2.0, Some(Mass::diagonal(vec![4.0, 4.0]).unwrap())).unwrap();
    assert_eq!(halved, Rwm::with(2.0, vec![0.5, 0.5]).unwrap());
}

#[test]
fn foreign_progress_is_refused_and_a_finished_one_changes_nothing() {
    let (target, proposal, seed) = (scaled(), &mut NoProposal { dim: 3 }, Seed::new(33));
    let (mala, plan) = (Mala::new(0.5).unwrap(), WindowAdaptation::new(0, 0.6).unwrap());
    let mut state = mala.init(&target, Mat::zeros(3, 1)).unwrap();
    let mut foreign = plan.init(0.5, 2);
    let error = warm_up(&mala, &target, proposal, &mut state, &plan, &mut foreign, seed, 1).unwrap_err();
    assert_eq!(error.to_string(), "warm_up: Adaptation: means has length 2, expected 3");
    let before = state.chains().clone();
    let mut progress = plan.init(0.5, 3);
    let same = warm_up(&mala, &target, proposal, &mut state, &plan, &mut progress, seed, 9).unwrap();
    assert_eq!((same, state.chains()), (mala, &before));
}

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
    let plan = WindowAdaptation::new(60, 0.9).unwrap();
    let mut progress = plan.init(0.1, 2);
    let warm = seed.named("warm");
    let nuts = warm_up(&nuts, &target, proposal, &mut state, &plan, &mut progress, warm, 60).unwrap();
    let (mut lanes, mut work) = (seed.streams(3, 0), vec![0.0; nuts.work_len(&target, 3)]);
    for step in 0..20 {
        Stream::go_to_step(&mut lanes, step as u64);
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
    assert!(!sample.to_string().contains("may miss"), "{sample}");
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
    assert!(sample.to_string().contains("the draws may miss a part of the target"), "{sample}");
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
        run(Sampling::new(1, 5).acceptance(1.5), Mat::zeros(2, 1))
            .contains("WindowAdaptation: target is 1.5")
    );
}
