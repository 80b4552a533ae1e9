//! Quadratic and neural surrogates and the posterior itself, against differences.

use mcsa_core::{LogDensity, Seed, Surrogate};
use mcsa_models::LogisticRegression;
use mcsa_models::surrogate::{MinibatchSurrogate, NeuralSurrogate, PosteriorSurrogate, QuadraticSurrogate};

use super::differences::{check, dot, labels, matrix, normals};
use super::logistic::logistic_forms;
use super::minibatch::line;

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
    let target = LogisticRegression::new(matrix(20, 3, 1).as_ref(), &labels(20), 1.3).unwrap();
    let formula = |_: &[f64], z: &[f64]| {
        let mut work = vec![0.0; target.work_len(1)];
        target.log_density(z, &mut work)
    };
    assert_eq!(check(&PosteriorSurrogate(&target), &[], &formula), Ok(()));
}

#[test]
fn nothing_is_allocated_on_a_path() {
    let target = line();
    let mut all: Vec<(Box<dyn Surrogate>, Vec<f64>)> = logistic_forms(21, 3)
        .into_iter()
        .map(|(surrogate, _)| (Box::new(surrogate.clone()) as Box<dyn Surrogate>, surrogate.initial()))
        .collect();
    let network = NeuralSurrogate::new(3, 1.0).unwrap();
    all.push((Box::new(network), network.initial(&mut Seed::new(1).stream(0, 0))));
    let quadratic = QuadraticSurrogate::new(&[1.0; 3], matrix(3, 3, 1).as_ref(), vec![0.0; 3], 1.0).unwrap();
    all.push((Box::new(quadratic.clone()), quadratic.initial()));
    let regression = LogisticRegression::new(matrix(20, 3, 1).as_ref(), &labels(20), 1.3).unwrap();
    all.push((Box::new(PosteriorSurrogate(regression)), vec![]));
    all.push((Box::new(MinibatchSurrogate::new(target, 8).unwrap()), vec![]));
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
