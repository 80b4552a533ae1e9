//! Quadratic and neural surrogates and the posterior itself, against differences.

use mcsa_annealed::Surrogate;

use mcsa_annealed::surrogate::{MinibatchSurrogate, NeuralSurrogate, PosteriorSurrogate, QuadraticSurrogate};
use mcsa_core::{Gradient, LogDensity, Seed};
use mcsa_models::LinearRegression;

use super::differences::{Lent, check, dot, matrix, normals};
use super::logistic::logistic_forms;
use super::minibatch::regression;

#[test]
fn quadratic_surrogates_have_their_derivatives() {
    let (a, mean) = (normals(3, 1), normals(3, 2));
    let surrogate = QuadraticSurrogate::new(&a, matrix(3, 3, 3).as_ref(), mean.clone(), 0.8).unwrap();
    let formula = |psi: &[f64], z: &[f64]| {
        let prior: f64 = z.iter().zip(&mean).map(|(z, m)| -0.5 * ((z - m) / 0.8).powi(2)).sum();
        let form: f64 = (0..9).map(|at| psi[3 + at] * z[at % 3] * z[at / 3]).sum();
        prior + dot(&psi[..3], z) - 0.5 * form
    };
    assert_eq!(check(&surrogate, &surrogate.initial(), &formula), Ok(()));
}

/// Linear regression has a quadratic log likelihood: `a = X^T y / sigma^2`, `B = X^T X / sigma^2`.
#[test]
fn a_linear_regression_is_quadratic() {
    let (x, y, z) = (matrix(9, 3, 1), normals(9, 2), normals(3, 3));
    let target = LinearRegression::new(x.as_ref(), &y, 0.7, 1.5).unwrap();
    let mut expected = vec![0.0; 3];
    target.gradient_into(&z, &mut expected, &mut vec![0.0; target.work_len(1)]);
    let differs = |noise: f64| {
        let precision = 1.0 / (noise * noise);
        let a: Vec<f64> = (0..3).map(|k| precision * dot(x.col_as_slice(k), &y)).collect();
        let b = x.transpose() * &x * faer::Scale(precision);
        let surrogate = QuadraticSurrogate::new(&a, b.as_ref(), vec![0.0; 3], 1.5).unwrap();
        let found = Lent::new(&surrogate).gradient(&surrogate.initial(), &[], &z);
        found
            .iter()
            .zip(&expected)
            .any(|(found, expected)| (found - expected).abs() > 1e-12 * expected.abs().max(1.0))
    };
    assert!(!differs(0.7) && differs(0.71));
}

/// Network with few units; at points where no pre-activation is 0, where the second derivative jumps.
#[test]
fn neural_surrogates_have_their_derivatives() {
    let surrogate = NeuralSurrogate::new(3, 0.8).unwrap().with_units(7).unwrap();
    let mut psi = surrogate.initial(&mut Seed::new(2).stream(0, 0));
    psi.iter_mut().zip(normals(105, 4)).for_each(|(psi, normal)| *psi += 0.2 * normal);
    let elu = |a: f64| if a > 0.0 { a } else { a.exp_m1() };
    let formula = |psi: &[f64], z: &[f64]| {
        let layer = |from: usize, x: &[f64]| -> Vec<f64> {
            let width = x.len();
            (0..7).map(|i| elu(dot(&psi[from + i * width..], x) + psi[from + 7 * width + i])).collect()
        };
        let hidden = layer(28, &layer(0, z));
        dot(&psi[84..], &hidden) - 0.5 * dot(z, z) / 0.64
    };
    assert_eq!(check(&surrogate, &psi, &formula), Ok(()));
    let without_prior = |psi: &[f64], z: &[f64]| formula(psi, z) + 0.5 * dot(z, z) / 0.64;
    assert!(check(&surrogate, &psi, &without_prior).unwrap_err().starts_with("gradient"));
}

#[test]
fn posterior_surrogates_have_the_derivatives_of_their_targets() {
    let target = regression(20);
    let formula = |_: &[f64], z: &[f64]| {
        let mut work = vec![0.0; target.work_len(1)];
        target.log_density(z, &mut work)
    };
    assert_eq!(check(&PosteriorSurrogate(&target), &[], &formula), Ok(()));
}

#[test]
fn nothing_is_allocated_on_a_path() {
    let mut all: Vec<(Box<dyn Surrogate>, Vec<f64>)> = logistic_forms(21, 3)
        .into_iter()
        .map(|(surrogate, _)| (Box::new(surrogate.clone()) as Box<dyn Surrogate>, surrogate.initial()))
        .collect();
    let network = NeuralSurrogate::new(3, 1.0).unwrap();
    all.push((Box::new(network), network.initial(&mut Seed::new(1).stream(0, 0))));
    let quadratic = QuadraticSurrogate::new(&[1.0; 3], matrix(3, 3, 1).as_ref(), vec![0.0; 3], 1.0).unwrap();
    all.push((Box::new(quadratic.clone()), quadratic.initial()));
    all.push((Box::new(PosteriorSurrogate(regression(30))), vec![]));
    all.push((Box::new(MinibatchSurrogate::new(regression(30), 8).unwrap()), vec![]));
    for (s, psi) in &all {
        let (mut memory, mut tape) = (vec![0.0; s.memory_len()], vec![0.0; s.tape_len()]);
        let (mut work, mut gradient) = (vec![0.0; s.work_len()], [0.0; 3]);
        let (mut product, mut bar) = ([0.0; 3], vec![0.0; psi.len()]);
        let count = allocation_counter::measure(|| {
            s.prepare(psi, &[0.3][..s.noise_dim()], &mut memory);
            s.gradient_into(psi, &memory, &[0.1; 3], &mut gradient, &mut tape, &mut work);
            let (z, u) = (&[0.1; 3], &[0.2; 3]);
            s.add_second(psi, &memory, &tape, z, u, 0.5, &mut product, &mut bar, &mut work);
        });
        assert_eq!(count.count_total, 0, "{}", s.config());
    }
}
