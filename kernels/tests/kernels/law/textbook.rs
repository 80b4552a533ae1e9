//! Single steps equal the textbook formulas, number by number, with the same draws.

use std::f64::consts::TAU;

use mcsa_core::{ChainState, Columns, Kernel, LogDensity, Seed};
use mcsa_kernels::{Elliptical, GaussianPrior, Mala, Mass, NoProposal, Rwm};

use super::targets::Banana;

const CHAINS: u64 = 50;

/// Position of chain `j`.
fn place(j: u64) -> [f64; 2] {
    [0.12 * j as f64 - 3.0, 0.1 * j as f64 - 1.0]
}

/// A step of the production code: the new position of the chain, and the step's metrics.
fn step<K: Kernel<Banana>>(kernel: &K, j: u64) -> ([f64; 2], K::Info) {
    let z = place(j);
    let mut state = kernel.init(&Banana, faer::Mat::from_fn(2, 1, |i, _| z[i])).unwrap();
    let mut work = vec![0.0; kernel.work_len(&Banana, 1)];
    let mut lanes = [Seed::new(15).stream(j, 0)];
    let info = kernel.step(&Banana, &mut NoProposal { dim: 2 }, &mut state, &mut lanes, &mut work);
    let found = state.chains().positions.as_ref().column(0);
    assert!((state.chains().log_p[0] - Banana.log_density(found, &mut [])).abs() < 1e-12);
    ([found[0], found[1]], info)
}

fn near(a: [f64; 2], b: [f64; 2]) -> bool {
    (a[0] - b[0]).abs() < 1e-12 && (a[1] - b[1]).abs() < 1e-12
}

#[test]
fn rwm_is_the_textbook() {
    let rwm = Rwm::with(0.8, vec![1.0, 1.5]).unwrap();
    let mut moves = 0;
    for j in 0..CHAINS {
        let (z, mut stream) = (place(j), Seed::new(15).stream(j, 0));
        let noise = [stream.normal(), stream.normal()];
        let to = [z[0] + 0.8 * noise[0], z[1] + 1.2 * noise[1]];
        let log_ratio = Banana.log_density(&to, &mut []) - Banana.log_density(&z, &mut []);
        let accepted = stream.accept(log_ratio);
        let (found, info) = step(&rwm, j);
        assert!((info.acceptance - log_ratio.min(0.0).exp()).abs() < 1e-12, "{j}");
        assert!(info.moved == u64::from(accepted) && near(found, if accepted { to } else { z }), "{j}");
        moves += info.moved;
    }
    assert!(moves > 10 && moves < CHAINS - 5, "{moves}");
}

/// Murray, Adams & MacKay 2010, Fig. 2, with a likelihood evaluated separately from the prior.
#[test]
fn elliptical_is_the_textbook() {
    let (mean, factor) = ([0.5, -0.3], [[1.5, 0.0], [0.6, 2.0]]);
    let prior = GaussianPrior::new(mean.to_vec(), vec![vec![1.5], vec![0.6, 2.0]]).unwrap();
    let elliptical = Elliptical::new(prior);
    let log_likelihood = |z: [f64; 2]| {
        let a = (z[0] - mean[0]) / factor[0][0];
        let b = (z[1] - mean[1] - factor[1][0] * a) / factor[1][1];
        Banana.log_density(&z, &mut []) + 0.5 * (a * a + b * b)
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
        let (found, info) = step(&elliptical, j);
        assert!(near(found, to) && info.evaluations == tries && info.moved == 1, "{j}");
        evaluations += tries;
    }
    assert!(evaluations > CHAINS + 20, "{evaluations}");
}

/// The Langevin proposal and its acceptance ratio, without the energy difference.
#[test]
fn mala_is_the_textbook() {
    let (eps, masses) = (0.9, [0.7, 1.9]);
    let mala = Mala::with(eps, Mass::diagonal(masses.to_vec()).unwrap()).unwrap();
    let mut moves = 0;
    for j in 0..CHAINS {
        let (z, mut stream) = (place(j), Seed::new(15).stream(j, 0));
        let gradient_at = |z: [f64; 2]| {
            let mut gradient = [0.0; 2];
            (mcsa_core::Gradient::gradient_into(&Banana, &z, &mut gradient, &mut []), gradient)
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
        let (found, info) = step(&mala, j);
        assert!((info.acceptance - log_ratio.min(0.0).exp()).abs() < 1e-10, "{j}");
        assert!(info.moved == u64::from(accepted) && near(found, if accepted { to } else { z }), "{j}");
        moves += info.moved;
    }
    assert!(moves > 10 && moves < CHAINS - 5, "{moves}");
}
