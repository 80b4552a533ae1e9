//! Batch and match: Gaussian targets and faults.

use faer::Mat;
use mcsa_core::{Counted, Estimator, Gradient, LogDensity, Seed, from_fn};
use mcsa_estimators::BatchMatch;
use mcsa_families::{FullRank, GaussianFamily};
use mcsa_models::{Gaussian, GroundTruth, SkewNormal};
use mcsa_optim::Sgd;

use super::fitted;

fn target() -> Gaussian {
    let covariance = faer::mat![[4.0, 1.5, 0.0], [1.5, 1.0, -0.2], [0.0, -0.2, 0.25]];
    Gaussian::new(vec![5.0, -1.0, 0.5], covariance.as_ref()).unwrap()
}

fn start(family: &FullRank) -> Vec<f64> {
    family.at(&vec![0.0; family.dim], Mat::<f64>::identity(family.dim, family.dim).as_ref()).unwrap()
}

/// The largest error of means and covariances after `steps` steps.
fn error_after<P: Gradient>(target: &P, truth: &Gaussian, estimator: BatchMatch, steps: u64) -> f64 {
    let family = FullRank::new(truth.dim());
    let parts = (estimator, Sgd::new(1.0).unwrap(), 3);
    let (_, params) = fitted((target, &family), parts, start(&family), steps);
    let found = family.moments(&params).unwrap();
    let of_mean = found.mean().iter().zip(truth.mean()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    (found.covariance() - truth.covariance()).norm_max().max(of_mean)
}

/// With a constant weight the error of a Gaussian fit falls geometrically, whatever the draws, to rounding.
#[test]
fn a_gaussian_target_is_found_to_rounding() {
    let (target, constant) = (target(), BatchMatch { decay: 0.0, ..BatchMatch::new(8) });
    let error = |steps| error_after(&target, &target, constant.clone(), steps);
    assert!(error(5) < 0.5 * error(2) && error(40) < 1e-9, "{} {} {}", error(2), error(5), error(40));
    // Negative control: gradients of the wrong sign.
    let turned = from_fn(3, |z| target.log_density(z, &mut [0.0; 8])).with_gradient(|z, gradient| {
        target.gradient_into(z, gradient, &mut [0.0; 8]);
        gradient.iter_mut().for_each(|g| *g = -*g);
    });
    assert!(error_after(&turned, &target, constant, 40) > 1.0);
}

/// The Gaussian nearest to a skew normal has other moments, but not by much; one gradient per draw is counted.
#[test]
fn a_skewed_target_is_approached() {
    let (target, family) = (Counted::new(SkewNormal::msc()), FullRank::new(1));
    let parts = (BatchMatch::new(10), Sgd::new(1.0).unwrap(), 1);
    let (_, params) = fitted((&target, &family), parts, start(&family), 400);
    let (counts, truth) = (target.counts(), target.inner().mean().unwrap()[0]);
    assert_eq!((counts.gradient, counts.log_density), (4_000, 0));
    assert!((params[0] - truth).abs() < 0.3, "{} {truth}", params[0]);
}

/// A target that is NaN on a half line, and one that is NaN everywhere.
#[test]
fn faults_are_left_out_and_counted() {
    let family = FullRank::new(1);
    let step = |hole: f64| {
        let density = move |z: &[f64]| if z[0] > hole { f64::NAN } else { -0.5 * z[0] * z[0] };
        let target = from_fn(1, density).with_gradient(|z, gradient| gradient[0] = -z[0]);
        let estimator = BatchMatch::new(50);
        let params = family.at(&[1.0], faer::mat![[0.7]].as_ref()).unwrap();
        let mut lanes = [Seed::new(1).stream(0, 0)];
        let mut state = estimator.init(&target, &family, &params, &mut lanes).unwrap();
        crate::step(&estimator, (&target, &family), &params, &mut state, &mut lanes)
    };
    let (direction, info) = step(1.0);
    assert!(info.finite + info.non_finite == 50 && info.non_finite > 10 && info.refused == 0, "{info:?}");
    // Gradients are exact, so what is left suffices.
    assert!((1.0 + direction[0]).abs() < 0.05, "{direction:?}");
    let (direction, info) = step(f64::NEG_INFINITY);
    assert_eq!((info.finite, info.refused, direction), (0, 1, vec![0.0; 2]));
}

/// Gradients so large that their squares overflow: the step is refused.
#[test]
fn a_match_that_is_not_finite_is_refused() {
    let steep = from_fn(1, |z| z[0]).with_gradient(|z, gradient| gradient[0] = 1e300 * z[0]);
    let family = FullRank::new(1);
    let parts = (BatchMatch::new(5), Sgd::new(1.0).unwrap(), 1);
    assert_eq!(fitted((&steep, &family), parts, start(&family), 3).1, start(&family));
}

#[test]
fn bad_configs_are_refused() {
    let (target, family) = (target(), FullRank::new(3));
    let refused = |estimator: BatchMatch, word: &str| {
        let params = start(&family);
        let error = estimator.init(&target, &family, &params, &mut []).unwrap_err().to_string();
        assert!(error.starts_with("BatchMatch: ") && error.contains(word), "{error}");
    };
    refused(BatchMatch::new(0), "samples");
    refused(BatchMatch { rate: 0.0, ..BatchMatch::new(3) }, "rate");
    refused(BatchMatch { decay: f64::NAN, ..BatchMatch::new(3) }, "decay");
    let two = FullRank::new(2);
    assert!(BatchMatch::new(3).init(&target, &two, &start(&two), &mut []).is_err());
}
