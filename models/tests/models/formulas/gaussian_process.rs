use mcsa_core::LogDensity;
use mcsa_models::{GaussianProcessClassification, RobustGaussianProcess};

use super::check;

#[test]
fn classification_is_nowhere_nan() {
    for (rows, columns) in [(20, 3), (33, 2), (1, 1), (16, 5)] {
        let x = check::features(rows, columns);
        let target = GaussianProcessClassification::new(x.as_ref(), &check::labels(x.as_ref())).unwrap();
        check::nowhere_nan(&target);
    }
}

#[test]
fn robust_regression_is_nowhere_nan() {
    for (rows, columns) in [(20, 3), (33, 2), (1, 1)] {
        let x = check::features(rows, columns);
        let y: Vec<f64> = (0..rows).map(|i| x[(i, 0)].sin() + 0.1 * i as f64).collect();
        let target = RobustGaussianProcess::new(x.as_ref(), &y).unwrap();
        check::nowhere_nan(&target);
    }
}

/// Two inputs, with the formula written out.
#[test]
fn density_of_two_points_equals_the_formula() {
    let x = faer::mat![[0.0, 1.0], [0.7, -0.4]];
    let z = [0.3_f64, -0.8, 0.2, -0.5, 0.9, -1.4];
    let target = GaussianProcessClassification::new(x.as_ref(), &[1.0, 0.0]).unwrap();
    let r = ((0.7 / z[2].exp()).powi(2) + (1.4 / z[3].exp()).powi(2)).sqrt();
    let root = 5.0_f64.sqrt();
    let k = (2.0 * z[0]).exp() * (1.0 + root * r + 5.0 * r * r / 3.0) * (-root * r).exp();
    let own = (2.0 * z[0]).exp() + (2.0 * z[1]).exp() + 1e-6;
    let (f, g) = (z[4], z[5]);
    let det = own * own - k * k;
    let log_2_pi = (2.0 * std::f64::consts::PI).ln();
    let mut expected = -0.5 * (own * (f * f + g * g) - 2.0 * k * f * g) / det - 0.5 * det.ln() - log_2_pi;
    expected += z[..4].iter().map(|u| -0.5 * (u * u + log_2_pi)).sum::<f64>();
    expected += -(-f).exp().ln_1p() - g.exp().ln_1p();
    let found = target.log_density(&z, &mut vec![0.0; target.work_len(1)]);
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
}

/// At an input with a known value, the prediction is that value up to the nugget; with a broad `q` it has a larger variance.
#[test]
fn predictions_interpolate_and_widen() {
    let x = check::features(12, 2);
    let y: Vec<f64> = (0..12).map(|i| x[(i, 0)]).collect();
    let target = RobustGaussianProcess::new(x.as_ref(), &y).unwrap();
    let mut mean = vec![-2.0, -12.0, 0.0, 1.0, 0.5, 0.5];
    mean.extend(&y);
    let known = vec![0.0; mean.len()];
    let broad = vec![0.3; mean.len()];
    let at = target.predict_from_moments(x.as_ref(), &mean, &known).unwrap();
    let wide = target.predict_from_moments(x.as_ref(), &mean, &broad).unwrap();
    for ((at, wide), y) in at.iter().zip(&wide).zip(&y) {
        assert!((at.0 - y).abs() < 1e-3 && at.1 < 1e-5, "{at:?} {y}");
        assert!((wide.1 - 0.3).abs() < 1e-2, "{wide:?}");
    }
    let far = target.predict_from_moments(faer::mat![[1e3, 0.0]].as_ref(), &mean, &broad).unwrap();
    assert!(far[0].0.abs() < 1e-12 && (far[0].1 - 1.0).abs() < 1e-5, "{far:?}");
    assert!(target.log_predictive_density(&mean, &at, &y) > target.log_predictive_density(&mean, &wide, &y));
}

/// With the scales fixed and `f` drawn from an independent normal, predictions from draws agree with those from moments: 4,000
/// draws, 5 standard errors (the covariance is factored for each draw).
#[test]
fn moments_and_draws_agree() {
    let x = check::features(4, 2);
    let new = check::points(3, 2, 1.0);
    let target = RobustGaussianProcess::new(x.as_ref(), &[0.0; 4]).unwrap();
    let mean = [-1.0, -1.0, 0.0, 1.0, 0.3, 0.1, 0.5, -1.0, 2.0, 0.0];
    let variance: [f64; 10] = std::array::from_fn(|i| if i < 6 { 0.0 } else { 0.4 });
    let mut stream = mcsa_core::Seed::new(8).stream(0, 0);
    let draws = faer::Mat::from_fn(10, 4000, |i, _| mean[i] + variance[i].sqrt() * stream.normal());
    let exact = target.predict_from_moments(new.as_ref(), &mean, &variance).unwrap();
    let drawn = target.predict_from_draws(new.as_ref(), draws.as_ref()).unwrap();
    for (exact, drawn) in exact.iter().zip(&drawn) {
        assert!((exact.0 - drawn.0).abs() < 5.0 * (exact.1 / 4e3).sqrt(), "{exact:?} {drawn:?}");
        assert!((exact.1 - drawn.1).abs() < 5.0 * exact.1 * (2.0_f64 / 4e3).sqrt(), "{exact:?} {drawn:?}");
    }
    let target = GaussianProcessClassification::new(x.as_ref(), &[0.0, 1.0, 1.0, 0.0]).unwrap();
    let point = [0.0, -1.0, 0.3, 0.1, 0.5, -1.0, 2.0, 0.0];
    let (mut known, mut repeated) = ([0.0; 3], [0.0; 3]);
    target.log_odds_from_moments(new.as_ref(), &point, &[0.0; 8], &mut known).unwrap();
    let draws = faer::Mat::from_fn(8, 3, |i, _| point[i]);
    target.log_odds_from_draws(new.as_ref(), draws.as_ref(), &mut repeated).unwrap();
    assert!(known.iter().zip(repeated).all(|(a, b)| (a - b).abs() < 1e-12), "{known:?} {repeated:?}");
}

#[test]
fn published_dimensions() {
    let dim = |n, d| {
        let x = check::features(n, d);
        (
            GaussianProcessClassification::new(x.as_ref(), &check::labels(x.as_ref())).unwrap().dim(),
            RobustGaussianProcess::new(x.as_ref(), &vec![0.0; n]).unwrap().dim(),
        )
    };
    assert_eq!((dim(187, 60).0, dim(315, 34).0, dim(512, 30).0), (249, 351, 544));
    assert_eq!((dim(277, 6).1, dim(455, 13).1, dim(1352, 5).1), (287, 472, 1361));
}
