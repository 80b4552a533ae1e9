//! Starts and checks common to the tests of flows.

use mcsa_core::{Family, Pushforward, Seed, batch, batch_mut};
use mcsa_families::{Base, Flow, MeanField};

/// Parameters at the start of a fit to a Gaussian with unequal means and scales.
pub(crate) fn begin<B: Base, const INVERTIBLE: bool>(q: &Flow<B, INVERTIBLE>) -> Vec<f64> {
    let dim = mcsa_core::Parametric::dim(q);
    let (mean, scales): (Vec<f64>, Vec<f64>) =
        (0..dim).map(|i| (0.3 * i as f64 - 0.2, 0.7 + 0.2 * i as f64)).unzip();
    q.start_at(&mean, &scales, &mut Seed::new(2).stream(0, 0)).unwrap()
}

/// At these parameters the density is that of the Gaussian of the last layer.
pub(crate) fn is_the_gaussian<F: Family>(q: &F, params: &[f64]) {
    let gaussian = MeanField::new(q.dim());
    let own = &params[params.len() - 2 * q.dim()..];
    let mut stream = Seed::new(3).stream(0, 0);
    for _ in 0..20 {
        let z: Vec<f64> = (0..q.dim()).map(|_| 3.0 * stream.normal()).collect();
        let log_q = q.log_prob(params, &z, &mut vec![f64::NAN; q.work_len(1)]);
        let expected = gaussian.log_prob(own, &z, &mut vec![0.0; 2 * q.dim()]);
        assert!((log_q - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{log_q} {expected}");
    }
}

/// Noise of a million in every coordinate has a finite image with finite gradients. Returns the log densities of two images.
pub(crate) fn is_finite_far_away<F: Pushforward>(q: &F, params: &[f64]) -> [f64; 2] {
    let dim = q.dim();
    let far = far(dim);
    let far = batch(&far, dim, 2);
    let mut work = vec![f64::NAN; q.work_len(2)];
    let (mut z, mut log_q) = (vec![f64::NAN; 2 * dim], [f64::NAN; 2]);
    let mut gradient = vec![0.0; params.len()];
    q.push(params, far, batch_mut(&mut z, dim, 2), &mut log_q, &mut work);
    q.add_push_gradients(params, far, far, &[1.0; 2], &mut gradient, &mut work);
    assert!(z.iter().chain(&log_q).chain(&gradient).all(|x| x.is_finite()));
    log_q
}

/// Points a million away in every coordinate have a finite density with a finite score.
pub(crate) fn is_decided_far_away<F: Family>(q: &F, params: &[f64]) {
    let far = far(q.dim());
    let far = batch(&far, q.dim(), 2);
    let (mut log_q, mut gradient) = ([f64::NAN; 2], vec![0.0; params.len()]);
    let mut work = vec![f64::NAN; q.work_len(2)];
    q.log_probs(params, far, &mut log_q, &mut work);
    q.add_scores(params, far, &[1.0; 2], &mut gradient, &mut work);
    assert!(log_q.iter().chain(&gradient).all(|x| x.is_finite()));
}

/// Two points whose coordinates are a million, with alternating signs.
pub(crate) fn far(dim: usize) -> Vec<f64> {
    (0..2 * dim).map(|k| if k % 2 == 0 { 1e6 } else { -1e6 }).collect()
}
