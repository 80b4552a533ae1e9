//! Conformance of mixtures of Gaussians.

use faer::{Mat, mat};
use mcsa_core::{Family, Parametric, Seed};
use mcsa_families::{GaussianMixture, Link, MeanField, Start};
use mcsa_testing::family::Case;

use crate::altered::meter;

fn cases() -> Vec<Case<GaussianMixture>> {
    let shapes = [(0, 1), (0, 3), (1, 1), (1, 2), (1, 5), (2, 1), (2, 3), (5, 4), (40, 3)];
    let spread = |(dim, components), link| {
        let q = GaussianMixture::new(dim, components).expect("a component").with_link(link);
        let params = (0..q.num_params()).map(|k| (k as f64 * 1.3).sin()).collect();
        Case::new(q, params).with_draws(1 << 15)
    };
    let mut cases: Vec<_> = shapes.map(|shape| spread(shape, Link::Softplus)).into();
    cases.push(spread((2, 2), Link::Exp));
    cases
}

mcsa_testing::family_suite!(laws, cases(), meter);

fn log_prob<F: Family>(q: &F, params: &[f64], z: &[f64]) -> f64 {
    q.log_prob(params, z, &mut vec![0.0; q.work_len(1)])
}

#[test]
fn one_component_is_the_mean_field() {
    let (one, gaussian) = (GaussianMixture::new(2, 1).unwrap(), MeanField::new(2));
    let (params, z) = ([7.0, 0.3, -1.0, 0.2, 0.9], [1.0, 2.0]);
    assert!((log_prob(&one, &params, &z) - log_prob(&gaussian, &params[1..], &z)).abs() < 1e-14);
}

#[test]
fn a_weighted_sum_of_densities() {
    let q = GaussianMixture::new(1, 2).unwrap();
    let params = q.at(&[1.0, 3.0], mat![[-1.0, 2.0]].as_ref(), mat![[0.5, 2.0]].as_ref()).unwrap();
    let gaussian = MeanField::new(1);
    let (a, b) = (gaussian.at(&[-1.0], &[0.5]).unwrap(), gaussian.at(&[2.0], &[2.0]).unwrap());
    for z in [-3.0, 0.0, 5.0] {
        let sum = 0.25 * log_prob(&gaussian, &a, &[z]).exp() + 0.75 * log_prob(&gaussian, &b, &[z]).exp();
        assert!((log_prob(&q, &params, &[z]) - sum.ln()).abs() < 1e-14);
    }
    let (mean, covariance) = (q.mean(&params).unwrap(), q.covariance(&params).unwrap());
    // 0.25 (-1) + 0.75 2;  0.25 (0.25 + 2.25^2) + 0.75 (4 + 0.75^2).
    assert!((mean[0] - 1.25).abs() < 1e-14 && (covariance[(0, 0)] - 4.75).abs() < 1e-13, "{covariance:?}");
}

#[test]
fn covariances_between_coordinates_come_from_the_means() {
    let q = GaussianMixture::new(2, 2).unwrap();
    let params =
        q.at(&[0.5, 0.5], mat![[-1.0, 1.0], [-2.0, 2.0]].as_ref(), Mat::ones(2, 2).as_ref()).unwrap();
    assert!((q.covariance(&params).unwrap() - mat![[2.0, 2.0], [2.0, 5.0]]).norm_max() < 1e-14);
}

#[test]
fn doors() {
    assert!(GaussianMixture::new(1, 0).is_err());
    let q = GaussianMixture::new(1, 2).unwrap();
    let (means, scales) = (mat![[0.0, 1.0]], mat![[1.0, 1.0]]);
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(q.at(&[1.0, weight], means.as_ref(), scales.as_ref()).is_err());
    }
    assert!(q.at(&[1.0, 1.0], means.as_ref(), mat![[1.0, 0.0]].as_ref()).is_err());
    assert!(q.at(&[1.0, 1.0], mat![[0.0, f64::NAN]].as_ref(), scales.as_ref()).is_err());
    assert!(q.at(&[1.0], means.as_ref(), scales.as_ref()).is_err());
    assert!(q.check(&[0.0, 0.0, 0.0, 0.0, 0.0, -800.0]).is_err());
}

#[test]
fn far_points_have_no_score_and_scattered_components_differ() {
    let q = GaussianMixture::new(2, 3).unwrap();
    let params = q.scattered(&[5.0, 0.0], &[2.0, 1.0], &mut Seed::new(4).stream(0, 0)).unwrap();
    assert!(q.check(&params).is_ok() && params[3] != params[7] && params[5] == params[9]);
    let started = q.start(&Start::jittered(), &mut Seed::new(4).stream(0, 0)).unwrap();
    assert!(q.check(&started).is_ok() && started[..3] == [0.0; 3] && started[3] != started[7]);
    let mut gradient = vec![0.0; q.num_params()];
    let mut work = vec![0.0; q.work_len(1)];
    assert_eq!(q.log_prob(&params, &[1e300, 0.0], &mut work), f64::NEG_INFINITY);
    q.add_score(&params, &[1e300, 0.0], 1.0, &mut gradient, &mut work);
    assert!(gradient.iter().all(|&g| g == 0.0));
    q.add_score(&params, &[1e100, 0.0], 1.0, &mut gradient, &mut work);
    assert!(gradient.iter().all(|g| g.is_finite()));
}

#[test]
fn five_thousand_dimensions_work() {
    let q = GaussianMixture::new(5000, 2).unwrap();
    let mut stream = Seed::new(4).stream(0, 0);
    let params = q.scattered(&[0.0; 5000], &[1.0; 5000], &mut stream).unwrap();
    let (mut z, mut log_q, mut work) = (vec![0.0; 5000], [0.0], vec![0.0; q.work_len(1)]);
    q.sample_into(&params, &mut [stream], mcsa_core::batch_mut(&mut z, 5000, 1), &mut log_q, &mut work);
    let mut gradient = vec![0.0; q.num_params()];
    q.add_score(&params, &z, 1.0, &mut gradient, &mut work);
    assert!(log_q[0].is_finite() && gradient.iter().all(|g| g.is_finite()));
}
