//! Leapfrog integrator: reversible, volume-preserving, of second order. The twin is a step without its last half kick.

use mcsa_core::Gradient;
use mcsa_kernels::{Leapfrog, Mass};
use proptest::prelude::*;

use super::targets::{Banana, Funnel, correlated};

const MASSES: [f64; 2] = [0.7, 1.9];

/// `steps` leapfrog steps on `(z, p)`, for `direction` 1 or -1.
fn flow<P: Gradient>(target: &P, eps: f64, direction: f64, steps: usize, state: [f64; 4]) -> [f64; 4] {
    let leapfrog = Leapfrog::new(eps, Mass::diagonal(MASSES.to_vec()).unwrap()).unwrap();
    let [a, b, c, d] = state;
    let (mut z, mut p, mut gradient) = ([a, b], [c, d], [0.0; 2]);
    target.gradient_into(&z, &mut gradient, &mut [0.0; 8]);
    for _ in 0..steps {
        leapfrog.step(target, direction, &mut z, &mut p, &mut gradient, &mut [0.0; 8]);
    }
    [z[0], z[1], p[0], p[1]]
}

/// The twin: a step whose second half kick is missing.
fn halved<P: Gradient>(target: &P, eps: f64, direction: f64, steps: usize, state: [f64; 4]) -> [f64; 4] {
    let [a, b, c, d] = state;
    let (mut z, mut p, mut gradient) = ([a, b], [c, d], [0.0; 2]);
    for _ in 0..steps {
        target.gradient_into(&z, &mut gradient, &mut [0.0; 8]);
        for i in 0..2 {
            p[i] += 0.5 * direction * eps * gradient[i];
            z[i] += direction * eps * p[i] / MASSES[i];
        }
    }
    [z[0], z[1], p[0], p[1]]
}

/// The other twin: kicks and drifts both from the old point (Euler), which changes volume.
fn euler<P: Gradient>(target: &P, eps: f64, direction: f64, steps: usize, state: [f64; 4]) -> [f64; 4] {
    let [a, b, c, d] = state;
    let (mut z, mut p, mut gradient) = ([a, b], [c, d], [0.0; 2]);
    for _ in 0..steps {
        target.gradient_into(&z, &mut gradient, &mut [0.0; 8]);
        for i in 0..2 {
            z[i] += direction * eps * p[i] / MASSES[i];
            p[i] += direction * eps * gradient[i];
        }
    }
    [z[0], z[1], p[0], p[1]]
}

const START: [f64; 4] = [0.4, -0.8, 0.9, 0.3];

fn distance(a: [f64; 4], b: [f64; 4]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn irreversibility(flow: impl Fn(f64, [f64; 4]) -> [f64; 4]) -> f64 {
    let [a, b, c, d] = flow(1.0, START);
    let flipped = flow(1.0, [a, b, -c, -d]);
    let flipped = [flipped[0], flipped[1], -flipped[2], -flipped[3]];
    distance(flow(-1.0, [a, b, c, d]), START).max(distance(flipped, START))
}

#[test]
fn backward_undoes_forward_and_so_does_a_flip_of_the_momentum() {
    assert!(irreversibility(|direction, state| flow(&Banana, 0.1, direction, 20, state)) < 1e-13);
    assert!(irreversibility(|direction, state| flow(&Funnel, 0.1, direction, 20, state)) < 1e-13);
    assert!(irreversibility(|direction, state| flow(&correlated(), 0.1, direction, 20, state)) < 1e-13);
}

#[test]
fn a_missing_half_kick_is_not_undone() {
    assert!(irreversibility(|direction, state| halved(&Banana, 0.1, direction, 20, state)) > 1e-2);
}

proptest! {
    /// A step backward undoes a step forward from any state.
    #[test]
    fn backward_undoes_forward_from_anywhere(
        z in [-2.0..2.0f64, -2.0..2.0f64],
        p in [-2.0..2.0f64, -2.0..2.0f64],
        eps in 0.001..0.5f64,
        steps in 1..10_usize,
    ) {
        let start = [z[0], z[1], p[0], p[1]];
        let end = flow(&correlated(), eps, 1.0, steps, start);
        prop_assert!(distance(flow(&correlated(), eps, -1.0, steps, end), start) < 1e-11);
    }
}

/// The determinant of the Jacobian, by differences that are exact to fourth order.
fn volume(flow: impl Fn([f64; 4]) -> [f64; 4]) -> f64 {
    let h = 1e-3;
    let mut rows = [[0.0; 4]; 4];
    for (i, row) in rows.iter_mut().enumerate() {
        let at = |t: f64| {
            let mut state = START;
            state[i] += t * h;
            flow(state)
        };
        let (near, far) = ([at(1.0), at(-1.0)], [at(2.0), at(-2.0)]);
        for k in 0..4 {
            row[k] = (8.0 * (near[0][k] - near[1][k]) - (far[0][k] - far[1][k])) / (12.0 * h);
        }
    }
    let jacobian = faer::Mat::from_fn(4, 4, |i, j| rows[i][j]);
    jacobian.determinant()
}

#[test]
fn volume_is_kept() {
    assert!((volume(|state| flow(&Banana, 0.2, 1.0, 10, state)) - 1.0).abs() < 1e-8);
    assert!((volume(|state| flow(&Funnel, 0.2, 1.0, 10, state)) - 1.0).abs() < 1e-8);
    assert!((volume(|state| flow(&correlated(), 0.2, -1.0, 10, state)) - 1.0).abs() < 1e-8);
}

#[test]
fn euler_stretches_volume() {
    assert!((volume(|state| euler(&Banana, 0.2, 1.0, 10, state)) - 1.0).abs() > 1e-2);
}

/// Factor by which the energy error over a fixed time falls when the step size is halved: `2^order`.
fn shrinkage(flow: impl Fn(f64, usize) -> [f64; 4]) -> f64 {
    let target = correlated();
    let energy = |[a, b, c, d]: [f64; 4]| {
        let mut gradient = [0.0; 2];
        let log_p = target.gradient_into(&[a, b], &mut gradient, &mut [0.0; 8]);
        0.5 * (c * c / MASSES[0] + d * d / MASSES[1]) - log_p
    };
    let error = |eps, steps| (energy(flow(eps, steps)) - energy(START)).abs();
    error(0.02, 60) / error(0.01, 120)
}

#[test]
fn the_energy_error_is_of_second_order() {
    let ratio = shrinkage(|eps, steps| flow(&correlated(), eps, 1.0, steps, START));
    assert!((ratio - 4.0).abs() < 0.02, "{ratio}");
}

#[test]
fn without_a_half_kick_or_with_euler_it_is_not() {
    let halved = shrinkage(|eps, steps| halved(&correlated(), eps, 1.0, steps, START));
    let euler = shrinkage(|eps, steps| euler(&correlated(), eps, 1.0, steps, START));
    assert!(halved < 3.0 && euler < 3.0, "{halved} {euler}");
}

/// On the standard Gaussian a step is a linear map.
#[test]
fn a_step_on_a_gaussian_is_the_known_linear_map() {
    let eps = 0.7;
    let leapfrog = Leapfrog::new(eps, Mass::unit()).unwrap();
    let target = mcsa_models::Gaussian::standard(1);
    let (mut z, mut p, mut gradient) = ([0.3], [-1.1], [-0.3]);
    leapfrog.step(&target, 1.0, &mut z, &mut p, &mut gradient, &mut []);
    let half = 1.0 - eps * eps / 2.0;
    assert!((z[0] - (half * 0.3 + eps * -1.1)).abs() < 1e-15);
    assert!((p[0] - (-eps * (1.0 - eps * eps / 4.0) * 0.3 + half * -1.1)).abs() < 1e-15);
    assert_eq!(gradient[0], -z[0]);
}
