//! Single steps: they equal the textbook formulas, number by number, with the same draws; their costs and counts.
//!
//! MALA proves one leapfrog step with a mass; orbits prove that it is reversed.

use std::f64::consts::TAU;

use faer::Mat;
use mcsa_core::{ChainState, Columns, Counted, Gradient, Kernel, Seed, from_fn};
use mcsa_kernels::{Cis, Elliptical, GaussianPrior, Leapfrog, Mala, Mass, NoProposal, Nuts, Rwm, Selection};
use mcsa_models::Gaussian;

use crate::laws::{Run, hmc, start};
use crate::targets::{banana, cliff, correlated, log_p};

const CHAINS: u64 = 50;

/// Position of chain `j`.
fn place(j: u64) -> [f64; 2] {
    [0.12 * j as f64 - 3.0, 0.1 * j as f64 - 1.0]
}

/// A step of the production code: the new position of the chain, and the step's metrics.
fn step<P: Gradient, K: Kernel<P>>(kernel: &K, target: &P, j: u64) -> ([f64; 2], K::Info) {
    let z = place(j);
    let mut state = kernel.init(target, Mat::from_fn(2, 1, |i, _| z[i])).unwrap();
    let mut work = vec![0.0; kernel.work_len(target, 1)];
    let mut lanes = [Seed::new(15).stream(j, 0)];
    let info = kernel.step(target, &mut NoProposal { dim: 2 }, &mut state, &mut lanes, &mut work);
    let found = state.chains().positions.as_ref().column(0);
    assert!((state.chains().log_p[0] - log_p(target, found)).abs() < 1e-12);
    ([found[0], found[1]], info)
}

fn near(a: [f64; 2], b: [f64; 2]) -> bool {
    (a[0] - b[0]).abs() < 1e-12 && (a[1] - b[1]).abs() < 1e-12
}

#[test]
fn rwm_is_the_textbook() {
    let target = banana();
    let rwm = Rwm::with(0.8, vec![1.0, 1.5]).unwrap();
    let mut moves = 0;
    for j in 0..CHAINS {
        let (z, mut stream) = (place(j), Seed::new(15).stream(j, 0));
        let noise = [stream.normal(), stream.normal()];
        let to = [z[0] + 0.8 * noise[0], z[1] + 1.2 * noise[1]];
        let log_ratio = log_p(&target, &to) - log_p(&target, &z);
        let accepted = stream.accept(log_ratio);
        let (found, info) = step(&rwm, &target, j);
        assert!((info.acceptance - log_ratio.min(0.0).exp()).abs() < 1e-12, "{j}");
        assert!(info.moved == u64::from(accepted) && near(found, if accepted { to } else { z }), "{j}");
        moves += info.moved;
    }
    assert!(moves > 10 && moves < CHAINS - 5, "{moves}");
}

/// Murray, Adams & MacKay 2010, Fig. 2, with a likelihood evaluated separately from the prior.
#[test]
fn elliptical_is_the_textbook() {
    let target = banana();
    let (mean, factor) = ([0.5, -0.3], [[1.5, 0.0], [0.6, 2.0]]);
    let prior = GaussianPrior::new(mean.to_vec(), faer::mat![[1.5, 0.0], [0.6, 2.0]].as_ref()).unwrap();
    let elliptical = Elliptical::new(prior);
    let log_likelihood = |z: [f64; 2]| {
        let a = (z[0] - mean[0]) / factor[0][0];
        let b = (z[1] - mean[1] - factor[1][0] * a) / factor[1][1];
        log_p(&target, &z) + 0.5 * (a * a + b * b)
    };
    let mut evaluations = 0;
    for j in 0..CHAINS {
        let (z, mut stream) = (place(j), Seed::new(15).stream(j, 0));
        let noise = [stream.normal(), stream.normal()];
        let nu = [factor[0][0] * noise[0], factor[1][0] * noise[0] + factor[1][1] * noise[1]];
        let log_y = log_likelihood(z) + stream.uniform().ln();
        let mut angle = TAU * stream.uniform();
        let (mut low, mut high, mut tries) = (angle - TAU, angle, 1);
        let to = loop {
            let to = [0, 1].map(|i| mean[i] + (z[i] - mean[i]) * angle.cos() + nu[i] * angle.sin());
            if log_likelihood(to) > log_y {
                break to;
            }
            if angle < 0.0 {
                low = angle;
            } else {
                high = angle;
            }
            angle = low + (high - low) * stream.uniform();
            tries += 1;
        };
        let (found, info) = step(&elliptical, &target, j);
        assert!(near(found, to) && info.evaluations == tries && info.moved == 1, "{j}");
        evaluations += tries;
    }
    assert!(evaluations > CHAINS + 20, "{evaluations}");
}

/// The Langevin proposal and its acceptance ratio, without the energy difference.
#[test]
fn mala_is_the_textbook() {
    let target = banana();
    let (eps, masses) = (0.9, [0.7, 1.9]);
    let mala = Mala::with(eps, Mass::diagonal(masses.to_vec()).unwrap()).unwrap();
    let mut moves = 0;
    for j in 0..CHAINS {
        let (z, mut stream) = (place(j), Seed::new(15).stream(j, 0));
        let gradient_at = |z: [f64; 2]| {
            let mut gradient = [0.0; 2];
            (target.gradient_into(&z, &mut gradient, &mut []), gradient)
        };
        let centre = |z: [f64; 2], g: [f64; 2]| [0, 1].map(|i| z[i] + 0.5 * eps * eps / masses[i] * g[i]);
        let log_r = |to: [f64; 2], centre: [f64; 2]| -> f64 {
            (0..2).map(|i| -0.5 * (to[i] - centre[i]).powi(2) * masses[i] / (eps * eps)).sum()
        };
        let (log_p, gradient) = gradient_at(z);
        let from = centre(z, gradient);
        let noise = [stream.normal(), stream.normal()];
        let to = [0, 1].map(|i| from[i] + eps / masses[i].sqrt() * noise[i]);
        let (log_p_to, gradient_to) = gradient_at(to);
        let log_ratio = log_p_to + log_r(z, centre(to, gradient_to)) - log_p - log_r(to, from);
        let accepted = stream.accept(log_ratio);
        let (found, info) = step(&mala, &target, j);
        assert!((info.acceptance - log_ratio.min(0.0).exp()).abs() < 1e-10, "{j}");
        assert!(info.moved == u64::from(accepted) && near(found, if accepted { to } else { z }), "{j}");
        moves += info.moved;
    }
    assert!(moves > 10 && moves < CHAINS - 5, "{moves}");
}

/// One chain has room for its candidates. If q is p all weights are equal, and each candidate counts.
#[test]
fn candidates_of_one_chain_have_equal_weights() {
    let (a, b) = (0.1_f64.exp(), 0.4_f64.exp());
    let target = from_fn(2, move |z| -0.5 * (((z[0] - 0.3) / a).powi(2) + ((z[1] + 0.2) / b).powi(2)));
    let kernel = Cis::with_candidates(4);
    let mut run = Run::new(&kernel, &target, start(1));
    run.steps(0..1);
    let found = [run.total("ess"), run.total("max_weight")];
    assert!((found[0] - 4.0).abs() < 1e-12 && (found[1] - 0.25).abs() < 1e-12, "{found:?}");
}

/// An energy that falls by more than 1000 is a divergence too, counted once per trajectory; the chain moves. Depths are averaged over
/// chains.
#[test]
fn a_fall_of_the_energy_is_a_divergence() {
    for (momentum, divergences) in [(1.0, 1), (0.1, 0)] {
        let (target, nuts) = (cliff(), Nuts::with(Leapfrog::new(1.0, Mass::unit()).unwrap(), 1).unwrap());
        let mut state = nuts.init(&target, Mat::zeros(1, 2)).unwrap();
        let mut work = vec![0.0; nuts.work_len(&target, 2)];
        let mut lanes = Seed::new(1).streams(2, 0);
        let info = nuts.transition(&target, &mut state, &[momentum; 2], &mut lanes, &mut work);
        assert_eq!((info.divergences, info.leapfrogs, info.depth), (2 * divergences, 2, 1.0));
    }
}

#[test]
fn costs_are_as_documented() {
    fn gradients<K: Kernel<Counted<Gaussian>>>(kernel: &K) -> u64 {
        let target = Counted::new(correlated());
        Run::new(kernel, &target, start(3)).steps(0..10);
        assert_eq!(target.counts().log_density, 3);
        target.counts().gradient
    }
    assert_eq!(gradients(&Mala::new(0.2).unwrap()), 3 * (1 + 10));
    assert_eq!(gradients(&hmc(0.2, 4, Selection::EndPoint)), 3 * (1 + 10 * 4));
    // A step in which no chain moves needs no new gradient at its start.
    assert_eq!(gradients(&hmc(0.2, 4, Selection::Multinomial)), 3 * 10 * 5);
}
