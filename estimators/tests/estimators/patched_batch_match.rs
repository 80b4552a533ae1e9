//! Patched batch and match: the fixed point, convergence to it, agreement with the dense step, and faults.

use faer::Mat;
use mcsa_core::{Estimator, FactorMatched, FewColumns, Gradient, Parametric, Seed, from_fn};
use mcsa_estimators::{Ascent, BatchMatch, PatchedBatchMatch, Run};
use mcsa_families::{GaussianFamily, LowRank, Normal, kl_gaussian};
use mcsa_models::Gaussian;
use mcsa_optim::Sgd;

const DIM: usize = 7;

fn family() -> LowRank {
    LowRank::new(DIM, 2)
}

/// Mean, scales and factor of the target.
fn parts() -> (Vec<f64>, Vec<f64>, Mat<f64>) {
    let factor = Mat::from_fn(DIM, 2, |i, k| ((3 * i + 5 * k + 1) as f64).sin());
    ((0..DIM).map(|i| i as f64 - 2.0).collect(), (0..DIM).map(|i| 0.5 + 0.1 * i as f64).collect(), factor)
}

/// Gaussian of the family's form, with this covariance between the first two coordinates on top.
fn target(extra: f64) -> Gaussian {
    let (mean, scales, factor) = parts();
    let product = &factor * factor.transpose();
    let covariance = Mat::from_fn(DIM, DIM, |i, j| {
        let off = if i + j == 1 { extra } else { 0.0 };
        product[(i, j)] + off + if i == j { scales[i] * scales[i] } else { 0.0 }
    });
    Gaussian::new(mean, covariance.as_ref()).unwrap()
}

fn patched() -> PatchedBatchMatch {
    PatchedBatchMatch { matching: BatchMatch { decay: 0.0, ..BatchMatch::new(6) }, iterations: 10 }
}

/// The direction of one step at `params`.
fn direction<P: Gradient>(target: &P, params: &[f64], seed: u64) -> (Vec<f64>, u64) {
    let (family, estimator) = (family(), patched());
    let mut lanes = [Seed::new(seed).stream(0, 0)];
    let mut state = estimator.init(target, &family, params, &mut lanes).unwrap();
    let (mut direction, mut work) =
        (vec![1.0; params.len()], vec![f64::NAN; estimator.work_len(target, &family)]);
    let info = estimator
        .ascent_direction(target, &family, params, &mut state, &mut lanes, &mut direction, &mut work)
        .unwrap();
    (direction, info.refused)
}

/// A Gaussian of the family is a fixed point, whichever points are drawn; a Gaussian that the family lacks is not.
#[test]
fn a_member_of_the_family_is_a_fixed_point() {
    let (mean, scales, factor) = parts();
    let params = family().at(&mean, &scales, factor.as_ref()).unwrap();
    let largest = |direction: &[f64]| direction.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    for seed in 1..6 {
        let (still, refused) = direction(&target(0.0), &params, seed);
        assert!(refused == 0 && largest(&still) < 1e-9, "{still:?}");
        // The twin: a covariance that is not low rank plus diagonal.
        assert!(largest(&direction(&target(0.2), &params, seed).0) > 1e-3);
    }
}

/// From a start elsewhere the divergence falls to rounding.
#[test]
fn a_member_of_the_family_is_found() {
    let family = family();
    let divergence = |target: &Gaussian, steps| {
        let factor = Mat::from_fn(DIM, 2, |i, k| 0.3 * ((i + 4 * k) as f64).cos());
        let start = family.at(&[0.0; DIM], &[1.0; DIM], factor.as_ref()).unwrap();
        let optimizer = Sgd::new(1.0).unwrap();
        let ascent = Ascent { target, family: &family, estimator: patched(), optimizer, seed: Seed::new(2) };
        let mut fit = ascent.start(start).unwrap();
        ascent.run(&mut fit, Run::of(steps)).unwrap();
        let truth = Normal::new(target.mean().to_vec(), target.covariance().as_ref()).unwrap();
        kl_gaussian(&truth, &family.moments(fit.params()).unwrap()).unwrap()
    };
    let found = target(0.0);
    assert!(divergence(&found, 20) < 0.1 * divergence(&found, 2), "{}", divergence(&found, 20));
    assert!(divergence(&found, 1000) < 1e-8, "{}", divergence(&found, 1000));
    // The twin keeps the divergence of the nearest member.
    assert!(divergence(&target(0.2), 1000) > 1e-3);
}

/// With as many factors as EM needs for any covariance of two coordinates, the patch changes nothing: the step is the dense one.
#[test]
fn steps_agree_with_those_of_a_dense_covariance() {
    let target = Gaussian::new(vec![1.0, -1.0], faer::mat![[2.0, 0.7], [0.7, 1.0]].as_ref()).unwrap();
    let low = LowRank::new(2, 1);
    let start = low.at(&[0.0, 0.5], &[1.0, 1.2], faer::mat![[0.4], [0.3]].as_ref()).unwrap();
    let step = |iterations: usize| {
        let estimator = PatchedBatchMatch { matching: BatchMatch::new(4), iterations };
        let optimizer = Sgd::new(1.0).unwrap();
        let ascent = Ascent { target: &target, family: &low, estimator, optimizer, seed: Seed::new(5) };
        let mut fit = ascent.start(start.clone()).unwrap();
        ascent.run(&mut fit, Run::of(1)).unwrap();
        low.moments(fit.params()).unwrap()
    };
    let dense = {
        let (family, optimizer) = (LowRank::new(2, 1), Sgd::new(1.0).unwrap());
        let estimator = BatchMatch::new(4);
        let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(5) };
        let mut fit = ascent.start(start.clone()).unwrap();
        ascent.run(&mut fit, Run::of(1)).unwrap();
        family.moments(fit.params()).unwrap()
    };
    // One step of EM from the same parameters, towards the same Gaussian, by sums over few columns and over all.
    let once = step(1);
    assert!((&once.covariance() - &dense.covariance()).norm_max() < 1e-10, "{:?}", once.covariance());
    assert!(once.mean().iter().zip(dense.mean()).all(|(a, b)| (a - b).abs() < 1e-10));
    // The twin: further steps of EM lead elsewhere.
    assert!((&step(50).covariance() - &dense.covariance()).norm_max() > 1e-3);
}

/// EM towards a covariance never increases the divergence, and a covariance that is not positive definite is refused.
#[test]
fn factor_analysis_descends() {
    let (family, (mean, scales, factor)) = (family(), parts());
    let start =
        family.at(&mean, &[1.0; DIM], Mat::from_fn(DIM, 2, |i, k| 0.1 + (i * k) as f64 * 0.1).as_ref());
    let (start, variances) = (start.unwrap(), scales.iter().map(|s| s * s).collect::<Vec<_>>());
    let plus: Vec<f64> = (0..2 * DIM).map(|e| factor[(e % DIM, e / DIM)]).collect();
    let minus: Vec<f64> = (0..DIM).map(|i| 0.2 * variances[i].sqrt() * (i as f64).cos()).collect();
    let covariance = FewColumns { variances: &variances, plus: &plus, minus: &minus };
    let dense = Mat::from_fn(DIM, DIM, |i, j| {
        let (mut unit, mut image) = ([0.0; DIM], [0.0; DIM]);
        unit[j] = 1.0;
        covariance.apply(&unit, &mut image);
        image[i]
    });
    let truth = Normal::new(mean.clone(), dense.as_ref()).unwrap();
    let mut work = vec![0.0; family.work_len(3)];
    let mut divergence = |iterations| {
        let mut matched = start.clone();
        assert!(family.match_factors(&start, &mean, covariance, iterations, &mut matched, &mut work));
        kl_gaussian(&truth, &family.moments(&matched).unwrap()).unwrap()
    };
    let falling: Vec<f64> = (1..30).map(&mut divergence).collect();
    assert!(falling.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12), "{falling:?}");
    let wide: Vec<f64> = (0..DIM).map(|_| 10.0).collect();
    let covariance = FewColumns { minus: &wide, ..covariance };
    assert!(!family.match_factors(&start, &mean, covariance, 3, &mut start.clone(), &mut work));
}

#[test]
fn faults_and_bad_configs_are_refused() {
    let params = family().at(&[0.0; DIM], &[1.0; DIM], Mat::from_fn(DIM, 2, |_, _| 0.1).as_ref()).unwrap();
    let nowhere = from_fn(DIM, |_| f64::NAN).with_gradient(|_, gradient| gradient.fill(0.0));
    assert_eq!(direction(&nowhere, &params, 1), (vec![0.0; params.len()], 1));
    let steep = from_fn(DIM, |z| z[0]).with_gradient(|z, gradient| {
        gradient.iter_mut().zip(z).for_each(|(gradient, z)| *gradient = 1e300 * z);
    });
    assert_eq!(direction(&steep, &params, 1), (vec![0.0; params.len()], 1));
    let refused = |estimator: PatchedBatchMatch, word: &str| {
        let error = estimator.init(&target(0.0), &family(), &params, &mut []).unwrap_err().to_string();
        assert!(error.starts_with("PatchedBatchMatch: ") && error.contains(word), "{error}");
    };
    refused(PatchedBatchMatch::new(0), "samples");
    refused(PatchedBatchMatch { iterations: 0, ..PatchedBatchMatch::new(3) }, "iterations");
    let rate = BatchMatch { rate: -1.0, ..BatchMatch::new(3) };
    refused(PatchedBatchMatch { matching: rate, iterations: 1 }, "rate");
}
