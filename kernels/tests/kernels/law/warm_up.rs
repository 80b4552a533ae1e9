//! Warm-up: learnt step sizes and masses, and equality of one warm-up and two parts of it.

use faer::Mat;
use mcsa_core::{ChainState, Kernel, Seed};
use mcsa_kernels::{
    Accepts, Adaptation, DualAveraging, GradientEnsemble, Hmc, Leapfrog, Mala, Mass, NoProposal, Nuts, Rwm,
    Tunable, WindowAdaptation, warm_up,
};

/// Three coordinates of standard deviation 0.1, 1 and 10.
fn scaled() -> mcsa_models::Gaussian {
    let covariance = Mat::from_fn(3, 3, |i, j| if i == j { 100.0_f64.powi(i as i32 - 1) } else { 0.0 });
    mcsa_models::Gaussian::new(vec![0.0; 3], covariance.as_ref()).unwrap()
}

/// The kernel after a warm-up, its mean acceptance in 200 more steps, and the masses learnt.
fn warmed<K>(kernel: &K, goal: f64) -> (K, f64, Vec<f64>)
where
    K: Kernel<mcsa_models::Gaussian> + Tunable,
    K::Info: Accepts,
{
    let (target, proposal, chains) = (scaled(), &mut NoProposal { dim: 3 }, 4);
    let mut state = kernel.init(&target, Mat::zeros(3, chains)).unwrap();
    let plan = WindowAdaptation::new(1000, DualAveraging::new(goal).unwrap());
    let mut progress = plan.init(kernel.step_size(), 3);
    let seed = Seed::new(31);
    let kernel = warm_up(kernel, &target, proposal, &mut state, &plan, &mut progress, seed, 5000).unwrap();
    assert_eq!(progress.step(), 1000);
    let mut work = vec![0.0; kernel.work_len(&target, chains)];
    let mut acceptance = 0.0;
    for step in 1000..1200 {
        let mut lanes = seed.streams(chains, step);
        acceptance += kernel.step(&target, proposal, &mut state, &mut lanes, &mut work).acceptance() / 200.0;
    }
    (kernel, acceptance, progress.mass().unwrap().unwrap().masses().to_vec())
}

#[test]
fn step_size_and_mass_find_their_values() {
    fn check<K>(name: &str, kernel: &K, goal: f64)
    where
        K: Kernel<mcsa_models::Gaussian> + Tunable,
        K::Info: Accepts,
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
    let (nuts, plan) =
        (Nuts::new(0.5).unwrap(), WindowAdaptation::new(200, DualAveraging::new(0.8).unwrap()));
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
    let mut plan = WindowAdaptation::new(300, DualAveraging::new(0.8).unwrap());
    plan.learns_mass = false;
    let (mut state, mut progress) =
        (nuts.init(&target, Mat::zeros(3, 2)).unwrap(), plan.init(nuts.step_size(), 3));
    let tuned =
        warm_up(&nuts, &target, proposal, &mut state, &plan, &mut progress, Seed::new(34), 300).unwrap();
    assert_eq!((tuned.leapfrog().mass(), tuned.max_depth()), (&mass, 8));
    assert!(tuned.step_size() > 0.5 && progress.mass().unwrap().is_none());
    let rwm = Rwm::with(1.0, vec![0.1, 1.0]).unwrap();
    assert_eq!(rwm.tuned(2.0, None).unwrap(), Rwm::with(2.0, vec![0.1, 1.0]).unwrap());
    let halved = rwm.tuned(2.0, Some(Mass::diagonal(vec![4.0, 4.0]).unwrap())).unwrap();
    assert_eq!(halved, Rwm::with(2.0, vec![0.5, 0.5]).unwrap());
}

#[test]
fn foreign_progress_is_refused_and_a_finished_one_changes_nothing() {
    let (target, proposal, seed) = (scaled(), &mut NoProposal { dim: 3 }, Seed::new(33));
    let (mala, plan) = (Mala::new(0.5).unwrap(), WindowAdaptation::new(0, DualAveraging::new(0.6).unwrap()));
    let mut state = mala.init(&target, Mat::zeros(3, 1)).unwrap();
    let mut foreign = plan.init(0.5, 2);
    let error = warm_up(&mala, &target, proposal, &mut state, &plan, &mut foreign, seed, 1).unwrap_err();
    assert_eq!(error.to_string(), "warm_up: Adaptation: means has length 2, expected 3");
    let before = state.chains().clone();
    let mut progress = plan.init(0.5, 3);
    let same = warm_up(&mala, &target, proposal, &mut state, &plan, &mut progress, seed, 9).unwrap();
    assert_eq!((same, state.chains()), (mala, &before));
}
