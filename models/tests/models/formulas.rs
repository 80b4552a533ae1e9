//! Regression models against formulas written out, and their values at far points.

use faer::{Mat, MatRef};
use mcsa_core::{Columns, Gradient, LogDensity, Named, Seed};
use mcsa_models::{
    GaussianProcessClassification, HierarchicalLogistic, LinearRegression, LogisticRegression,
    NeuralRegression, ProbitRegression, RobustGaussianProcess, ScalePrior,
};

/// Normal points, `columns` of them.
fn points(dim: usize, columns: usize, scale: f64) -> Mat<f64> {
    let mut stream = Seed::new(17).stream(0, 0);
    Mat::from_fn(dim, columns, |_, _| scale * stream.normal())
}

/// A matrix of normals.
fn features(rows: usize, columns: usize) -> Mat<f64> {
    let mut stream = Seed::new(18).stream(0, 0);
    Mat::from_fn(rows, columns, |_, _| stream.normal())
}

/// Labels of a linear rule with noise.
fn labels(x: MatRef<'_, f64>) -> Vec<f64> {
    let mut stream = Seed::new(19).stream(0, 0);
    let rule = |row: Vec<f64>| row.iter().enumerate().map(|(k, x)| x / (k + 1) as f64).sum::<f64>();
    let sign = |f: f64| f64::from(u8::from(f > 0.0));
    (0..x.nrows()).map(|i| sign(rule(x.row(i).iter().copied().collect()) + stream.normal())).collect()
}

/// At points of any size up to a thousand, the density is a number or `-inf` and the gradient has no NaN.
fn nowhere_nan<P: Gradient>(target: &P) {
    let dim = target.dim();
    let mut work = vec![0.0; target.work_len(1)];
    let mut gradient = vec![0.0; dim];
    let zero = vec![0.0; dim];
    let mut check = |z: &[f64]| {
        let value = target.gradient_into(z, &mut gradient, &mut work);
        assert!(value < f64::INFINITY, "{value} at {z:?}");
        assert!(gradient.iter().all(|g| !g.is_nan()), "{gradient:?} at {z:?}");
        let outside = value == f64::NEG_INFINITY;
        assert!(!outside || gradient.iter().all(|&g| g == 0.0), "{gradient:?} at {z:?}");
    };
    for scale in [1.0, 10.0, 100.0, 1000.0] {
        let z = points(dim, 4, scale);
        for j in 0..4 {
            check(z.as_ref().column(j));
        }
        for i in 0..dim.min(12) {
            for sign in [-1.0, 1.0] {
                let mut z = zero.clone();
                z[i] = sign * scale;
                check(&z);
            }
        }
    }
    check(&zero);
}

#[test]
fn regressions_are_nowhere_nan() {
    for (rows, columns) in [(45, 5), (300, 1), (3, 9), (1, 1)] {
        let x = features(rows, columns);
        let (x, y) = (x.as_ref(), labels(x.as_ref()));
        nowhere_nan(&LogisticRegression::new(x, &y, 2.0).unwrap());
        nowhere_nan(&ProbitRegression::new(x, &y, 1.0).unwrap());
        nowhere_nan(&HierarchicalLogistic::new(x, &y, ScalePrior::HalfNormal).unwrap());
        nowhere_nan(&HierarchicalLogistic::new(x, &y, ScalePrior::InverseGamma).unwrap());
        nowhere_nan(&LinearRegression::new(x, &y, 0.7, 1.5).unwrap());
    }
    for (rows, columns, hidden) in [(20, 3, 9), (33, 2, 8), (1, 1, 1), (5, 6, 1)] {
        let x = features(rows, columns);
        let y: Vec<f64> = (0..rows).map(|i| x[(i, 0)].sin() + 0.1 * i as f64).collect();
        nowhere_nan(&NeuralRegression::new(x.as_ref(), &y, hidden).unwrap());
        nowhere_nan(&RobustGaussianProcess::new(x.as_ref(), &y).unwrap());
        nowhere_nan(&GaussianProcessClassification::new(x.as_ref(), &labels(x.as_ref())).unwrap());
    }
}

#[test]
fn published_dimensions() {
    let neural = |d| NeuralRegression::new(features(2, d).as_ref(), &[0.0, 1.0], 50).unwrap().dim();
    assert_eq!([6, 8, 5, 11, 13, 22, 128].map(neural), [403, 503, 353, 653, 753, 1203, 6503]);
    let classification = |(n, d): (usize, usize)| {
        let x = features(n, d);
        GaussianProcessClassification::new(x.as_ref(), &labels(x.as_ref())).unwrap().dim()
    };
    assert_eq!([(187, 60), (315, 34), (512, 30)].map(classification), [249, 351, 544]);
    let robust = |(n, d)| RobustGaussianProcess::new(features(n, d).as_ref(), &vec![0.0; n]).unwrap().dim();
    assert_eq!([(277, 6), (455, 13), (1352, 5)].map(robust), [287, 472, 1361]);
}

#[test]
fn hierarchical_coordinates_have_names() {
    let x = features(20, 2);
    let target = HierarchicalLogistic::new(x.as_ref(), &labels(x.as_ref()), ScalePrior::HalfNormal).unwrap();
    let mut named = Named::default();
    target.constrain(&[-0.3, 0.4, 0.8, -1.1, 0.6], &mut named);
    assert_eq!((named.names().len(), named.row()[0], &*named.names()[3]), (5, (-0.3_f64).exp(), "beta[1]"));
}

#[test]
fn bad_data_are_refused_with_their_place() {
    let x = Mat::from_fn(2, 1, |_, _| 1.0);
    let logistic =
        |labels: &[f64], scale| LogisticRegression::new(x.as_ref(), labels, scale).unwrap_err().to_string();
    assert_eq!(logistic(&[1.0], 1.0), "LogisticRegression: labels has length 1, expected 2");
    assert_eq!(logistic(&[1.0, -1.0], 1.0), "LogisticRegression: label is -1, expected 0 or 1");
    assert_eq!(
        logistic(&[1.0, 0.0], -1.0),
        "LogisticRegression: prior scale is -1, expected positive and finite"
    );
    let x = Mat::from_fn(2, 1, |i, _| if i == 0 { 1.0 } else { f64::NAN });
    let error = HierarchicalLogistic::new(x.as_ref(), &[0.0, 1.0], ScalePrior::HalfNormal).unwrap_err();
    assert_eq!(error.to_string(), "HierarchicalLogistic: features[1] is NaN, expected a finite number");
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
    let x = features(12, 2);
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
    let x = features(4, 2);
    let new = points(3, 2, 1.0);
    let target = RobustGaussianProcess::new(x.as_ref(), &[0.0; 4]).unwrap();
    let mean = [-1.0, -1.0, 0.0, 1.0, 0.3, 0.1, 0.5, -1.0, 2.0, 0.0];
    let variance: [f64; 10] = std::array::from_fn(|i| if i < 6 { 0.0 } else { 0.4 });
    let mut stream = Seed::new(8).stream(0, 0);
    let draws = Mat::from_fn(10, 4000, |i, _| mean[i] + variance[i].sqrt() * stream.normal());
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
    let draws = Mat::from_fn(8, 3, |i, _| point[i]);
    target.log_odds_from_draws(new.as_ref(), draws.as_ref(), &mut repeated).unwrap();
    assert!(known.iter().zip(repeated).all(|(a, b)| (a - b).abs() < 1e-12), "{known:?} {repeated:?}");
}
