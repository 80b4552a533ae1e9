//! Tests on a quadratic with noisy directions, for which the distribution of the last point is known.

use mcsa_core::{Optimizer, Seed, Stream};
use mcsa_optim::{Averaged, Averaging, Sgd};

const OPTIMUM: [f64; 2] = [3.0, -2.0];
const CURVATURE: [f64; 2] = [1.0, 4.0];
const NOISE: f64 = 2.0;
const STEPS: u64 = 20_000;

/// `-h (lambda - optimum) + noise` in each coordinate.
fn direction(params: &[f64], noise: &mut Stream) -> [f64; 2] {
    [0, 1].map(|k| CURVATURE[k] * (OPTIMUM[k] - params[k]) + NOISE * noise.normal())
}

fn run<O: Optimizer>(rule: &O, steps: u64) -> (O::State, [f64; 2]) {
    let mut noise = Seed::new(5).stream(0, 0);
    let (mut state, mut params) = (rule.init(2), [0.0; 2]);
    for _ in 0..steps {
        let direction = direction(&params, &mut noise);
        rule.ascend(&mut state, &mut params, &direction);
    }
    (state, params)
}

/// With a constant rate the last point has standard deviation `NOISE sqrt(rate / (h (2 - rate h)))`; the average over
/// n steps has deviation about `NOISE / (h sqrt(n))`. False alarm: 1e-4 for both coordinates together, with 4.1 deviations.
#[test]
fn the_average_has_the_variance_of_the_best_rule() {
    let averaging = Averaging::tail(STEPS / 10).unwrap();
    let (state, _) = run(&Averaged { averaging, optimizer: Sgd::new(0.05).unwrap() }, STEPS);
    for (k, mean) in state.average().unwrap().iter().enumerate() {
        let deviation = NOISE / (CURVATURE[k] * (0.9 * STEPS as f64).sqrt());
        assert!((mean - OPTIMUM[k]).abs() < 4.1 * deviation, "{k}: {mean}");
    }
}

/// Negative control: without averaging the bound does not hold at most steps.
#[test]
fn without_the_average_the_bound_is_missed() {
    let sgd = Sgd::new(0.05).unwrap();
    let deviation = NOISE / (0.9 * STEPS as f64).sqrt();
    let misses = (0..20).filter(|k| (run(&sgd, 2_000 + 50 * k).1[0] - OPTIMUM[0]).abs() > 4.1 * deviation);
    assert!(misses.count() >= 10);
}
