//! The reparameterised bound: its direction is the gradient of what it averages.

use faer::mat;
use mcsa::{Estimator, LogDensity, Reparameterised, Seed, batch, batch_mut};
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
    let elbo = Elbo { samples: 3 };
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
