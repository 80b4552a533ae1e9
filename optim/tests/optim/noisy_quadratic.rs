//! Tests on a quadratic with noisy directions, for which the distribution of the last point is known.

use mcsa_core::{Optimizer, Seed, Stream};
use mcsa_optim::{
    AdaGrad, Adam, Averaged, AveragedState, Averaging, Clip, Clipped, Dog, Momentum, Nesterov, RmsProp,
    Schedule, Sgd,
};

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

fn average<S>(state: &AveragedState<S>) -> &[f64] {
    state.average().expect("averaging has begun")
}

/// With curvature 1 and the rate 1/t, the last point is the mean of `optimum + noise`: its error is normal with deviation
/// `NOISE / sqrt(STEPS)`. False alarm: 1e-4 (3.9 deviations).
#[test]
fn the_rate_one_over_t_has_the_law_of_a_mean() {
    let sgd = Sgd::new(Schedule::inverse(1.0).unwrap()).unwrap();
    let (_, params) = run(&sgd, STEPS);
    assert!((params[0] - OPTIMUM[0]).abs() < 3.9 * NOISE / (STEPS as f64).sqrt(), "{params:?}");
}

/// With a constant rate the last point has standard deviation `NOISE sqrt(rate / (h (2 - rate h)))`; the average over
/// n steps has deviation about `NOISE / (h sqrt(n))`. False alarm: 1e-4 for both coordinates together, with 4.1 deviations.
#[test]
fn the_average_has_the_variance_of_the_best_rule() {
    let averaging = Averaging::tail(STEPS / 10).unwrap();
    let (state, _) = run(&Averaged { averaging, optimizer: Sgd::new(0.05).unwrap() }, STEPS);
    for (k, mean) in average(&state).iter().enumerate() {
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

/// Every rule reaches the optimum, with one seed, up to about five times the standard deviation expected for its steps.
#[test]
fn every_rule_arrives() {
    let root = || Schedule::inverse_root(0.5).unwrap();
    let power = || Schedule::power(0.5, 10.0, 0.75).unwrap();
    assert!(error(&run(&Sgd::new(power()).unwrap(), STEPS).1) < 0.1);
    assert!(error(&run(&Momentum::new(Schedule::power(0.05, 10.0, 0.75).unwrap()).unwrap(), STEPS).1) < 0.1);
    assert!(error(&run(&Nesterov::new(Schedule::power(0.05, 10.0, 0.75).unwrap()).unwrap(), STEPS).1) < 0.1);
    assert!(error(&run(&Adam::new(root()).unwrap(), STEPS).1) < 0.3);
    assert!(error(&run(&RmsProp::new(root()).unwrap(), STEPS).1) < 0.3);
    assert!(error(&run(&AdaGrad::new(1.0).unwrap(), STEPS).1) < 0.3);
    let averaging = Averaging::polynomial(8.0).unwrap();
    let (state, _) = run(&Averaged { averaging, optimizer: Dog::default() }, STEPS);
    assert!(error(average(&state)) < 0.1, "{:?}", state.average());
}

/// Negative control: with the wrong sign of the direction, descent instead of ascent, lambda diverges.
#[test]
fn the_wrong_sign_is_noticed() {
    let sgd = Sgd::new(Schedule::power(0.5, 10.0, 0.75).unwrap()).unwrap();
    let mut noise = Seed::new(5).stream(0, 0);
    let (mut state, mut params) = (sgd.init(2), [0.0; 2]);
    for _ in 0..50 {
        let direction = direction(&params, &mut noise).map(|g| -g);
        sgd.ascend(&mut state, &mut params, &direction);
    }
    assert!(error(&params) > 10.0);
}

/// If one direction in a hundred is very large, a clipped run reaches the optimum and an unclipped run with the same rate does not.
#[test]
fn clipping_survives_wild_directions() {
    let end = |clip: f64| {
        let optimizer = Sgd::new(0.01).unwrap();
        let rule = Clipped { clip: Clip::norm(clip).unwrap(), optimizer };
        let mut noise = Seed::new(5).stream(0, 0);
        let (mut state, mut params) = (rule.init(2), [0.0; 2]);
        let mut worst = 0.0_f64;
        for t in 0..5_000 {
            let wild = if noise.uniform() < 0.01 { 1e4 * noise.normal() } else { 0.0 };
            let direction = direction(&params, &mut noise).map(|g| g + wild);
            rule.ascend(&mut state, &mut params, &direction);
            worst = if t < 2_000 { 0.0 } else { worst.max(error(&params)) };
        }
        (worst, state.times())
    };
    let (worst, times) = end(20.0);
    assert!(worst < 2.0 && (20..100).contains(&times), "{worst} {times}");
    assert!(end(1e300).0 > 20.0);
}
