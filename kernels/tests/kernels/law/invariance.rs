//! One-step invariance: chains that start at exact draws remain exact draws.
//!
//! 20,000 chains start at independent draws of the target and take five steps. The statistics are means of powers and
//! products of the standard normal noise behind the draws, each squeezed into `(-1, 1)` so that no single chain dominates;
//! their changes have expectation zero. Alarm at 5 standard errors: below 6e-7 for each of about 170 statistics, hence
//! about 1e-4 in all, at fixed seeds.

use mcsa_core::{Address, Cloud, Columns, Gradient, Kernel, LogDensity, Seed, from_fn};
use mcsa_kernels::{
    Elliptical, GaussianPrior, GradientEnsemble, Hmc, Leapfrog, Mala, Mass, Nuts, Rwm, Selection, Unguided,
};

use super::orbit::leapfrog;
use super::targets::{Banana, Exact, Funnel, correlated};
use super::twins::{Careless, Flaw};

const CHAINS: usize = 20_000;
const STEPS: u64 = 5;

/// The largest change of a statistic, in standard errors.
fn alarm<P: Exact, K: Kernel<P>>(kernel: &K, target: &P) -> f64 {
    alarm_if_told(kernel, target, target)
}

/// As `alarm`, with draws of one target and steps for another.
fn alarm_if_told<P: Exact, Q: Gradient, K: Kernel<Q>>(kernel: &K, target: &P, told: &Q) -> f64 {
    let before = target.draws(CHAINS, Seed::new(11));
    let mut state = kernel.init(told, before.clone()).unwrap();
    let mut work = vec![0.0; kernel.work_len(told, CHAINS)];
    let mut lanes = Seed::new(12).streams(CHAINS, 0);
    for step in 0..STEPS {
        for (lane, stream) in (0..).zip(&mut lanes) {
            stream.go_to(Address::of(lane, step));
        }
        kernel.step(told, &mut Unguided { dim: 2 }, &mut state, &mut lanes, &mut work);
    }
    let statistics = |z: &[f64]| {
        let [a, b] = target.whiten(z);
        let bounded = |x: f64| x / (1.0 + x.abs());
        [a, b, a * a, b * b, a * b, a * a * b, (2.0 * a).sin() * b].map(bounded)
    };
    let (mut sums, mut squares) = ([0.0; 7], [0.0; 7]);
    for j in 0..CHAINS {
        let (old, new) = (before.as_ref().column(j), state.chains().positions.as_ref().column(j));
        for (k, (old, new)) in statistics(old).into_iter().zip(statistics(new)).enumerate() {
            sums[k] += new - old;
            squares[k] += (new - old).powi(2);
        }
    }
    let error = |(sum, square): (&f64, &f64)| sum.abs() / square.sqrt();
    sums.iter().zip(&squares).map(error).fold(0.0, f64::max)
}

/// Asserts that the kernel leaves all three targets invariant.
fn keeps<K: Kernel<Banana> + Kernel<Funnel> + Kernel<mcsa_models::Gaussian>>(kernel: &K) {
    let alarms = [alarm(kernel, &Banana), alarm(kernel, &Funnel), alarm(kernel, &correlated())];
    assert!(alarms.iter().all(|&alarm| alarm < 5.0 && alarm > 0.0), "{alarms:?}");
}

#[test]
fn random_walks_keep_the_target() {
    keeps(&Rwm::with(1.0, vec![0.8, 1.5]).unwrap());
    keeps(&Rwm::new(2.0).unwrap());
}

#[test]
fn langevin_keeps_the_target() {
    keeps(&Mala::with(0.9, Mass::diagonal(vec![0.7, 1.9]).unwrap()).unwrap());
}

#[test]
fn hamiltonian_trajectories_keep_the_target() {
    keeps(&Hmc::with(leapfrog(0.7, 2), 3, Selection::EndPoint).unwrap());
    keeps(&Hmc::with(leapfrog(0.7, 2), 3, Selection::Multinomial).unwrap());
}

#[test]
fn nuts_keeps_the_target() {
    keeps(&Nuts::with(leapfrog(0.7, 2), 4).unwrap());
}

#[test]
fn elliptical_slices_keep_the_target_whatever_their_prior() {
    let prior = GaussianPrior::new(vec![0.5, -0.3], vec![vec![1.5], vec![0.6, 2.0]]).unwrap();
    keeps(&Elliptical::new(prior.clone()));
    keeps(&Elliptical::with(prior, 1).unwrap());
}

/// A target with a missing or repeated factor of the density.
fn mistaken(log_density: impl Fn(&[f64]) -> f64 + Send + Sync) -> impl Gradient {
    from_fn(2, log_density).with_gradient(|_, gradient| gradient.fill(0.0))
}

/// The twins: a random walk without an acceptance test, and slices of the posterior instead of the likelihood.
#[test]
fn a_forgotten_test_and_a_prior_counted_twice_are_caught() {
    let without_test = alarm_if_told(&Rwm::new(0.8).unwrap(), &Banana, &mistaken(|_| 0.0));
    let twice = |z: &[f64]| Banana.log_density(z, &mut []) - 0.5 * (z[0] * z[0] + z[1] * z[1]);
    let elliptical = Elliptical::new(GaussianPrior::standard(2));
    let prior_twice = alarm_if_told(&elliptical, &Banana, &mistaken(twice));
    assert!(without_test > 10.0 && prior_twice > 10.0, "{without_test} {prior_twice}");
}

/// The flaw `AlwaysForward` passes this test: at three steps and 20,000 chains its alarm is below 4 on each target. The
/// test of one orbit detects that flaw exactly.
#[test]
fn careless_twins_do_not() {
    let twin = |flaw| Careless { leapfrog: leapfrog(0.7, 2), steps: 1, flaw };
    let right = alarm(&twin(None), &Banana);
    assert!(right < 5.0, "{right}");
    for flaw in [Flaw::NoTest, Flaw::NoHalfKick, Flaw::KineticSign] {
        let alarm = alarm(&twin(Some(flaw)), &Banana);
        assert!(alarm > 10.0, "{flaw:?}: {alarm}");
    }
}

/// The mean acceptance of end-point HMC on the line, from exact draws, is `(4/pi) atan(1/s)` with `s` the
/// largest singular value of the linear map of the trajectory: the energy error is
/// `((s^2 - 1) a^2 - (1 - s^-2) b^2) / 2` for standard normal `a, b`, and by the symmetry of the test the
/// mean is twice the probability that it is negative.
fn exact_acceptance(step: faer::Mat<f64>, steps: u32) -> f64 {
    let mut map = faer::Mat::<f64>::identity(2, 2);
    (0..steps).for_each(|_| map = &step * &map);
    let squares: f64 = map.as_ref().squared_norm_l2(); // s^2 + s^-2
    let largest = (0.5 * (squares + (squares * squares - 4.0).sqrt())).sqrt();
    4.0 / std::f64::consts::PI * (1.0 / largest).atan()
}

#[test]
fn the_acceptance_on_a_gaussian_is_known() {
    let (eps, steps): (f64, u32) = (1.3, 3);
    let half = 1.0 - eps * eps / 2.0;
    let leap = faer::mat![[half, eps], [-eps * (1.0 - eps * eps / 4.0), half]];
    let missing_half_kick = faer::mat![[half, eps], [-eps / 2.0, 1.0]];
    let target = mcsa_models::Gaussian::standard(1);
    let leapfrog = Leapfrog::new(eps, Mass::unit()).unwrap();
    let hmc = Hmc::with(leapfrog, steps as usize, Selection::EndPoint).unwrap();
    let chains = 40_000;
    let mut stream = Seed::new(13).stream(0, 0);
    let start = faer::Mat::from_fn(1, chains, |_, _| stream.normal());
    let mut state: GradientEnsemble = hmc.init(&target, start).unwrap();
    let mut work = vec![0.0; hmc.work_len(&target, chains)];
    let mut lanes = Seed::new(14).streams(chains, 0);
    let info = hmc.step(&target, &mut Unguided { dim: 1 }, &mut state, &mut lanes, &mut work);
    // 5 standard errors, each at most 1/2 over the root of the number of chains: false alarm below 6e-7.
    let error = 5.0 * 0.5 / (chains as f64).sqrt();
    let (found, exact) = (info.acceptance, exact_acceptance(leap, steps));
    assert!((found - exact).abs() < error, "{found} {exact}");
    assert!((info.moved as f64 / chains as f64 - exact).abs() < error);
    assert!((found - exact_acceptance(missing_half_kick, steps)).abs() > 3.0 * error);
    assert!(exact > 0.3 && exact < 0.95, "{exact}");
}
