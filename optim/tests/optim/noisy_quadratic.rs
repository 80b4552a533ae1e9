//! Tests on a quadratic with noisy directions, for which the distribution of the last point is known.

use mcsa_core::{Optimizer, Seed, Stream};
use mcsa_optim::{AdaGrad, Adam, Averaged, Averaging, Dog, Momentum, Nesterov, RmsProp, Schedule, Sgd};

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

fn error(params: &[f64]) -> f64 {
    params.iter().zip(OPTIMUM).map(|(param, optimum)| (param - optimum).abs()).fold(0.0, f64::max)
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

/// Every rule reaches the optimum, with one seed, up to about five times the standard deviation expected for its steps. Negative
/// control: with the wrong sign of the direction lambda diverges.
#[test]
fn every_rule_arrives() {
    let power = |gamma| Schedule::power(gamma, 10.0, 0.75).unwrap();
    let root = || Schedule::power(0.5, 0.0, 0.5).unwrap();
    assert!(error(&run(&Sgd::new(power(0.5)).unwrap(), STEPS).1) < 0.1);
    assert!(error(&run(&Momentum::new(power(0.05)).unwrap(), STEPS).1) < 0.1);
    assert!(error(&run(&Nesterov::new(power(0.05)).unwrap(), STEPS).1) < 0.1);
    assert!(error(&run(&Adam::new(root()).unwrap(), STEPS).1) < 0.3);
    assert!(error(&run(&RmsProp::new(root()).unwrap(), STEPS).1) < 0.3);
    assert!(error(&run(&AdaGrad::new(1.0).unwrap(), STEPS).1) < 0.3);
    let averaging = Averaging::polynomial(8.0).unwrap();
    let (state, _) = run(&Averaged { averaging, optimizer: Dog::default() }, STEPS);
    assert!(error(state.average().unwrap()) < 0.1, "{:?}", state.average());

    let sgd = Sgd::new(power(0.5)).unwrap();
    let mut noise = Seed::new(5).stream(0, 0);
    let (mut state, mut params) = (sgd.init(2), [0.0; 2]);
    for _ in 0..50 {
        let direction = direction(&params, &mut noise).map(|g| -g);
        sgd.ascend(&mut state, &mut params, &direction);
    }
    assert!(error(&params) > 10.0);
}
