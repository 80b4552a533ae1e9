//! Ground truth: optima of the inclusive divergence, and suprema of importance weights.

use faer::Mat;
use mcsa_core::Parametric;
use mcsa_core::numeric::scalar::log_ndtr;
use mcsa_families::{FullRank, MeanField, StudentT};
use mcsa_models::Gaussian;
use mcsa_optim::deterministic::{
    Lbfgs, Outcome, Quadrature, Supremum, inclusive_optimum, log_weight_supremum,
};
use proptest::prelude::*;

use super::Density;

fn grid(low: f64, high: f64, count: usize) -> Mat<f64> {
    Mat::from_fn(1, count, |_, j| low + (high - low) * j as f64 / (count - 1) as f64)
}

/// The skew normal of location 1/2, scale 2 and shape 5; its mean and variance are known in closed form.
fn skew_normal(power: f64) -> Quadrature {
    let nodes = grid(-12.0, 25.0, 4001);
    let log_p: Vec<f64> = (0..nodes.ncols())
        .map(|j| (nodes[(0, j)] - 0.5) / 2.0)
        .map(|u| power * (-0.5 * u * u + log_ndtr(5.0 * u)))
        .collect();
    Quadrature::on_grid(nodes.as_ref(), &log_p).unwrap()
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
    for weights in [&[1.0, 1.0][..], &[0.0; 3], &[1.0, -1.0, 1.0], &[1.0, f64::NAN, 1.0]] {
        assert!(Quadrature::new(nodes.as_ref(), weights).is_err(), "{weights:?}");
    }
    for log_p in [&[f64::NEG_INFINITY; 3], &[0.0, f64::NAN, 0.0], &[0.0, f64::INFINITY, 0.0]] {
        assert!(Quadrature::on_grid(nodes.as_ref(), log_p).is_err(), "{log_p:?}");
    }
    assert!(Quadrature::new(faer::mat![[f64::NAN]].as_ref(), &[1.0]).is_err());
    let p = Quadrature::new(nodes.as_ref(), &[1.0, 0.0, 3.0]).unwrap();
    assert_eq!((p.dim(), p.mean(|z| z[0])), (1, 0.75));
    let lbfgs = Lbfgs::default();
    assert!(inclusive_optimum(&lbfgs, &p, &MeanField::new(2), &[0.0; 4]).is_err());
    assert!(inclusive_optimum(&lbfgs, &p, &MeanField::new(1), &[0.0; 3]).is_err());
    assert!(inclusive_optimum(&lbfgs, &p, &MeanField::new(1), &[0.0, f64::NAN]).is_err());
}

fn supremum(p: &Gaussian, mean: f64, scale: f64) -> Supremum {
    let q = MeanField::new(1);
    let params = q.at(&[mean], &[scale]).expect("good params");
    let starts = faer::mat![[-2.0, 0.5, 3.0]];
    log_weight_supremum(&Lbfgs::default(), p, &q, &params, starts.as_ref()).expect("finite weights")
}

proptest! {
    /// `log w* = ln s + m^2 / (2 (s^2 - 1))` at `m / (1 - s^2)`, for q of mean m and scale s > 1 and the standard normal.
    #[test]
    fn between_gaussians_it_has_a_closed_form(mean in -2.0..2.0f64, scale in 1.1..5.0f64) {
        let found = supremum(&Gaussian::standard(1), mean, scale);
        let excess = scale * scale - 1.0;
        prop_assert_eq!(found.outcome, Outcome::Converged);
        prop_assert!((found.value - scale.ln() - mean * mean / (2.0 * excess)).abs() < 1e-9, "{:?}", found);
        prop_assert!((found.point[0] + mean / excess).abs() < 1e-3);
        prop_assert_eq!((found.agreeing, found.climbs), (3, 3));
    }

    #[test]
    fn lighter_tails_have_no_supremum(mean in -2.0..2.0f64, scale in 0.1..0.9f64) {
        prop_assert_eq!(supremum(&Gaussian::standard(1), mean, scale).outcome, Outcome::Unbounded);
    }
}

#[test]
fn in_three_dimensions() {
    let (p, q) = (Gaussian::standard(3), FullRank::new(3));
    let factor = faer::mat![[2.0, 0.0, 0.0], [0.5, 1.5, 0.0], [-0.3, 0.2, 3.0]];
    let params = q.at(&[0.0; 3], factor.as_ref()).unwrap();
    let starts = faer::mat![[1.0, -2.0], [0.5, 0.1], [2.0, 2.0]];
    let found = log_weight_supremum(&Lbfgs::default(), &p, &q, &params, starts.as_ref()).unwrap();
    assert!((found.value - 9.0_f64.ln()).abs() < 1e-9 && found.agreeing == 2, "{found:?}");
}

/// Heavier tails bound the weight: Student's t with 3 degrees of freedom against the normal, by a fine grid.
#[test]
fn heavier_tails_have_a_supremum() {
    let (p, q) = (Gaussian::standard(1), StudentT::fixed(1, 3.0).unwrap());
    let params = q.at(&[0.0], &[1.0]).unwrap();
    let starts = faer::mat![[-0.5, 0.5, 4.0]];
    let found = log_weight_supremum(&Lbfgs::default(), &p, &q, &params, starts.as_ref()).unwrap();
    // -z^2/2 + 2 ln(1 + z^2/3) is highest at z = 1 and -1.
    let log_t = (2.0 / (std::f64::consts::PI * 3.0_f64.sqrt())).ln();
    let expected = -0.5 * std::f64::consts::TAU.ln() - 0.5 + 2.0 * (4.0_f64 / 3.0).ln() - log_t;
    assert!((found.value - expected).abs() < 1e-9, "{found:?} {expected}");
    assert!((found.point[0].abs() - 1.0).abs() < 1e-4 && found.agreeing == 3);
}

/// Two maxima of unequal height: from one start the lower one is found without a sign of the other; from both, the higher.
#[test]
fn starts_on_both_sides_find_the_higher_hump() {
    let humps = Density(1, |z: &[f64], gradient: &mut [f64]| {
        let (left, right) = ((-8.0 * (z[0] + 3.0).powi(2)).exp(), 3.0 * (-8.0 * (z[0] - 3.0).powi(2)).exp());
        gradient[0] = -16.0 * ((z[0] + 3.0) * left + (z[0] - 3.0) * right) / (left + right);
        (left + right).ln()
    });
    let q = MeanField::new(1);
    let params = q.at(&[0.0], &[3.0]).unwrap();
    let from = |starts: Mat<f64>| {
        log_weight_supremum(&Lbfgs::default(), &humps, &q, &params, starts.as_ref()).unwrap()
    };
    let (one, both) = (from(faer::mat![[-3.5, -2.5]]), from(faer::mat![[-3.5, 3.5]]));
    assert!((both.value - one.value - 3.0_f64.ln()).abs() < 1e-8, "{one:?} {both:?}");
    assert_eq!((one.agreeing, both.agreeing), (2, 1));
}

#[test]
fn bad_starts_are_left_out_and_errors_said() {
    let half = Density(1, |z: &[f64], gradient: &mut [f64]| {
        gradient[0] = 1.0 / z[0] - 1.0;
        if z[0] > 0.0 { z[0].ln() - z[0] } else { f64::NEG_INFINITY }
    });
    let (q, lbfgs) = (MeanField::new(1), Lbfgs::default());
    let params = q.at(&[0.0], &[5.0]).unwrap();
    let found = log_weight_supremum(&lbfgs, &half, &q, &params, faer::mat![[-1.0, 1.5]].as_ref()).unwrap();
    assert_eq!(found.climbs, 1);
    let none = log_weight_supremum(&lbfgs, &half, &q, &params, faer::mat![[-1.0]].as_ref());
    assert!(none.unwrap_err().to_string().contains("no start has a finite weight"));
    assert!(log_weight_supremum(&lbfgs, &half, &q, &params, Mat::zeros(2, 1).as_ref()).is_err());
    assert!(log_weight_supremum(&lbfgs, &half, &q, &[0.0], faer::mat![[1.0]].as_ref()).is_err());
}
