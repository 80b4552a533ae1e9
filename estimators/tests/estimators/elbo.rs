//! Reparameterised bound: the direction is the gradient of the averaged objective.

use faer::mat;
use mcsa_core::{Estimator, LogDensity, Reparameterised, Seed, batch, batch_mut};
use mcsa_estimators::Elbo;
use mcsa_families::{FullRank, MeanField};
use mcsa_models::Gaussian;

/// `1/N sum log p(t(lambda, eps_i)) + entropy` for the noise of a stream.
fn objective<F: Reparameterised>(target: &Gaussian, family: &F, params: &[f64], samples: usize) -> f64 {
    let (dim, noise_dim) = (target.dim(), family.noise_dim());
    let (mut noise, mut points) = (vec![0.0; noise_dim * samples], vec![0.0; dim * samples]);
    let mut work = vec![0.0; family.work_len(samples).max(target.work_len(samples))];
    let mut log_p = vec![0.0; samples];
    family.sample_noise_into(&mut Seed::new(1).streams(1, 1), batch_mut(&mut noise, noise_dim, samples));
    let noise = batch(&noise, noise_dim, samples);
    family.transport(params, noise, batch_mut(&mut points, dim, samples), &mut work);
    target.log_densities(batch(&points, dim, samples), &mut log_p, &mut work);
    log_p.iter().sum::<f64>() / samples as f64 + family.entropy(params, &mut work)
}

fn check<F: Reparameterised>(family: &F, params: &[f64]) {
    let target = Gaussian::new(vec![0.5, -1.0], mat![[1.5, 0.4], [0.4, 0.7]].as_ref()).unwrap();
    let elbo = Elbo::closed(3);
    let mut work = vec![0.0; elbo.work_len(&target, family)];
    let mut direction = vec![f64::NAN; params.len()];
    let mut lanes = Seed::new(1).streams(1, 1);
    let info = elbo
        .ascent_direction(&target, family, params, &mut (), &mut lanes, &mut direction, &mut work)
        .unwrap();
    assert!((info.evidence - objective(&target, family, params, 3)).abs() < 1e-12);
    for k in 0..params.len() {
        let at = |h: f64| {
            let mut moved = params.to_vec();
            moved[k] += h;
            objective(&target, family, &moved, 3)
        };
        // Fourth-order central difference: an error of order h^4.
        let slope = (8.0 * (at(1e-3) - at(-1e-3)) - (at(2e-3) - at(-2e-3))) / 12e-3;
        assert!((direction[k] - slope).abs() < 1e-8, "param {k}: {} against {slope}", direction[k]);
        assert!((1.01 * direction[k] - slope).abs() > 1e-8, "an error of one per cent would show");
    }
}

#[test]
fn the_direction_is_the_gradient() {
    check(&MeanField::new(2), &[0.1, 0.2, -0.3, 0.4]);
    check(&FullRank::new(2), &[0.1, 0.2, -0.3, 0.4, 0.6]);
}

/// Objective of the path derivative: `1/N sum log p(t(lambda, eps_i)) - log q_held(t(lambda, eps_i))`.
fn held<F: Reparameterised>(target: &Gaussian, family: &F, params: &[f64], held: &[f64], n: usize) -> f64 {
    let (dim, noise_dim) = (target.dim(), family.noise_dim());
    let (mut noise, mut points) = (vec![0.0; noise_dim * n], vec![0.0; dim * n]);
    let mut work = vec![0.0; family.work_len(n).max(target.work_len(n))];
    let (mut log_p, mut log_q) = (vec![0.0; n], vec![0.0; n]);
    family.sample_noise_into(&mut Seed::new(1).streams(1, 1), batch_mut(&mut noise, noise_dim, n));
    family.transport(params, batch(&noise, noise_dim, n), batch_mut(&mut points, dim, n), &mut work);
    target.log_densities(batch(&points, dim, n), &mut log_p, &mut work);
    family.log_probs(held, batch(&points, dim, n), &mut log_q, &mut work);
    log_p.iter().zip(&log_q).map(|(p, q)| p - q).sum::<f64>() / n as f64
}

fn direction<F: Reparameterised>(elbo: &Elbo, target: &Gaussian, family: &F, params: &[f64]) -> Vec<f64> {
    let mut work = vec![0.0; elbo.work_len(target, family)];
    let mut direction = vec![f64::NAN; params.len()];
    let mut lanes = Seed::new(1).streams(1, 1);
    elbo.ascent_direction(target, family, params, &mut (), &mut lanes, &mut direction, &mut work).unwrap();
    direction
}

#[test]
fn the_path_derivative_holds_lambda_in_the_density() {
    let target = Gaussian::new(vec![0.5, -1.0], mat![[1.5, 0.4], [0.4, 0.7]].as_ref()).unwrap();
    let (family, params) = (FullRank::new(2), [0.1, 0.2, -0.3, 0.4, 0.6]);
    let found = direction(&Elbo::path(3), &target, &family, &params);
    let closed = direction(&Elbo::closed(3), &target, &family, &params);
    for k in 0..params.len() {
        let at = |h: f64| {
            let mut moved = params;
            moved[k] += h;
            held(&target, &family, &moved, &params, 3)
        };
        let slope = (8.0 * (at(1e-3) - at(-1e-3)) - (at(2e-3) - at(-2e-3))) / 12e-3;
        assert!((found[k] - slope).abs() < 1e-8, "param {k}: {} against {slope}", found[k]);
        assert!((closed[k] - slope).abs() > 1e-3, "the closed entropy is another estimator");
    }
}

/// If q is p, every draw has direction zero with the path derivative; with the entropy in closed form noise remains.
#[test]
fn it_sticks_the_landing() {
    let target = Gaussian::new(vec![0.5, -1.0], mat![[1.5, 0.4], [0.4, 0.7]].as_ref()).unwrap();
    let family = FullRank::new(2);
    let covariance = target.covariance();
    let low = covariance[(1, 0)] / covariance[(0, 0)].sqrt();
    let factor = mat![[covariance[(0, 0)].sqrt(), 0.0], [low, (covariance[(1, 1)] - low * low).sqrt()]];
    let params = family.at(&[0.5, -1.0], factor.as_ref()).unwrap();
    let norm = |g: Vec<f64>| g.iter().map(|g| g * g).sum::<f64>().sqrt();
    assert!(norm(direction(&Elbo::path(1), &target, &family, &params)) < 1e-12);
    assert!(norm(direction(&Elbo::closed(1), &target, &family, &params)) > 1e-2);
}

/// For a Gaussian target the direction in the mean is linear in the noise: mirrored pairs have no noise there.
#[test]
fn mirrored_noise_cancels_what_is_odd() {
    let target = Gaussian::diagonal(vec![0.5, -1.0], vec![1.5, 0.7]).unwrap();
    let (family, params) = (MeanField::new(2), [0.1, 0.2, -0.3, 0.4]);
    let exact: Vec<f64> = (0..2).map(|i| ([0.5, -1.0][i] - params[i]) / target.variance(i)).collect();
    let mirrored = direction(&Elbo::closed(2).mirrored(), &target, &family, &params);
    let plain = direction(&Elbo::closed(2), &target, &family, &params);
    for i in 0..2 {
        assert!((mirrored[i] - exact[i]).abs() < 1e-12, "{} for {}", mirrored[i], exact[i]);
        assert!((plain[i] - exact[i]).abs() > 1e-3);
    }
    let mut none = [];
    assert!(Elbo::closed(3).mirrored().init(&target, &family, &params, &mut none).is_err());
}
