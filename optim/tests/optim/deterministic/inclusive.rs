//! Ground truth: optima of the inclusive divergence.

use faer::Mat;
use mcsa_core::Parametric;
use mcsa_core::numeric::scalar::log_ndtr;
use mcsa_families::{FullRank, MeanField};
use mcsa_optim::deterministic::{Lbfgs, Quadrature, inclusive_optimum};

fn grid(low: f64, high: f64, count: usize) -> Mat<f64> {
    Mat::from_fn(1, count, |_, j| low + (high - low) * j as f64 / (count - 1) as f64)
}

/// The skew normal of location 1/2, scale 2 and shape 5; its mean and variance are known in closed form.
fn skew_normal(power: f64) -> Quadrature {
    let nodes = grid(-12.0, 25.0, 4001);
    let weights: Vec<f64> = (0..nodes.ncols())
        .map(|j| (nodes[(0, j)] - 0.5) / 2.0)
        .map(|u| (power * (-0.5 * u * u + log_ndtr(5.0 * u))).exp())
        .collect();
    Quadrature::new(nodes.as_ref(), &weights).unwrap()
}

fn fit(p: &Quadrature, start: [f64; 2]) -> (f64, f64) {
    let q = MeanField::new(1);
    let start = q.at(&start[..1], &start[1..]).unwrap();
    let peak = inclusive_optimum(&Lbfgs::default(), p, &q, &start).unwrap().converged().unwrap();
    (peak.point[0], q.link.scale(peak.point[1]).powi(2))
}

#[test]
fn the_optimum_of_the_skew_normal_has_its_moments() {
    let delta: f64 = 5.0 / 26.0_f64.sqrt();
    let mean = 0.5 + 2.0 * delta * std::f64::consts::FRAC_2_PI.sqrt();
    let variance = 4.0 * (1.0 - std::f64::consts::FRAC_2_PI * delta * delta);
    for start in [[0.0, 1.0], [-20.0, 0.3], [10.0, 5.0]] {
        let (found_mean, found_variance) = fit(&skew_normal(1.0), start);
        assert!((found_mean - mean).abs() < 1e-5, "{start:?}: {found_mean} {mean}");
        assert!((found_variance - variance).abs() < 1e-5, "{start:?}: {found_variance} {variance}");
    }
}

/// Negative control: a target with half the log density has another optimum.
#[test]
fn another_target_has_another_optimum() {
    assert!((fit(&skew_normal(0.5), [0.0, 1.0]).1 - fit(&skew_normal(1.0), [0.0, 1.0]).1).abs() > 0.5);
}

/// With draws as nodes the optimum is the maximum likelihood estimate; the value is minus the cross entropy.
#[test]
fn in_two_dimensions_by_draws() {
    let nodes = faer::mat![[1.0, 2.0, 4.0, 1.0], [0.0, 3.0, 1.0, 5.0]];
    let weights = [1.0, 2.0, 1.0, 4.0];
    let p = Quadrature::new(nodes.as_ref(), &weights).unwrap();
    let mean = [p.mean(|z| z[0]), p.mean(|z| z[1])];
    assert_eq!(mean, [13.0 / 8.0, 27.0 / 8.0]);
    let q = FullRank::new(2);
    let start = vec![0.0; q.num_params()];
    let peak = inclusive_optimum(&Lbfgs::default(), &p, &q, &start).unwrap().converged().unwrap();
    let cov = |i: usize, j: usize| p.mean(|z| (z[i] - mean[i]) * (z[j] - mean[j]));
    let det = cov(0, 0) * cov(1, 1) - cov(0, 1) * cov(0, 1);
    assert!(peak.point[..2].iter().zip(mean).all(|(a, b)| (a - b).abs() < 1e-5), "{peak:?}");
    let entropy = 1.0 + std::f64::consts::TAU.ln() + 0.5 * det.ln();
    assert!((peak.value + entropy).abs() < 1e-9, "{} {entropy}", peak.value);
}

#[test]
fn what_is_no_quadrature_is_refused() {
    let nodes = grid(0.0, 1.0, 3);
    for weights in
        [&[1.0, 1.0][..], &[0.0; 3], &[1.0, -1.0, 1.0], &[1.0, f64::NAN, 1.0], &[0.0, f64::INFINITY, 0.0]]
    {
        assert!(Quadrature::new(nodes.as_ref(), weights).is_err(), "{weights:?}");
    }
    assert!(Quadrature::new(faer::mat![[f64::NAN]].as_ref(), &[1.0]).is_err());
    let p = Quadrature::new(nodes.as_ref(), &[1.0, 0.0, 3.0]).unwrap();
    assert_eq!(p.mean(|z| z[0]), 0.75);
    let lbfgs = Lbfgs::default();
    assert!(inclusive_optimum(&lbfgs, &p, &MeanField::new(2), &[0.0; 4]).is_err());
    assert!(inclusive_optimum(&lbfgs, &p, &MeanField::new(1), &[0.0; 3]).is_err());
    assert!(inclusive_optimum(&lbfgs, &p, &MeanField::new(1), &[0.0, f64::NAN]).is_err());
}
