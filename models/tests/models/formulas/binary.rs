use faer::Mat;
use mcsa_core::{LogDensity, Named};
use mcsa_models::{HierarchicalLogistic, LogisticRegression, ProbitRegression, ScalePrior};

use super::check;

fn data(rows: usize, columns: usize) -> (Mat<f64>, Vec<f64>) {
    let x = check::features(rows, columns);
    let y = check::labels(x.as_ref());
    (x, y)
}

fn hierarchical(rows: usize, columns: usize, scales: ScalePrior) -> HierarchicalLogistic {
    let (x, y) = data(rows, columns);
    HierarchicalLogistic::new(x.as_ref(), &y, scales).expect("good data")
}

#[test]
fn hierarchical_logistic_regression_is_nowhere_nan() {
    for (scales, rows, columns) in
        [(ScalePrior::HalfNormal, 45, 5), (ScalePrior::InverseGamma, 16, 1), (ScalePrior::HalfNormal, 7, 8)]
    {
        let target = hierarchical(rows, columns, scales);
        check::nowhere_nan(&target);
    }
}

#[test]
fn logistic_regression_is_nowhere_nan() {
    for (rows, columns) in [(45, 5), (300, 1), (3, 9)] {
        let (x, y) = data(rows, columns);
        let target = LogisticRegression::new(x.as_ref(), &y, 2.0).unwrap();
        check::nowhere_nan(&target);
    }
}

#[test]
fn probit_regression_is_nowhere_nan() {
    for (rows, columns) in [(45, 5), (300, 1), (3, 9)] {
        let (x, y) = data(rows, columns);
        let target = ProbitRegression::new(x.as_ref(), &y, 1.0).unwrap();
        check::nowhere_nan(&target);
    }
}

/// The formula written out, independent of the library.
#[test]
fn hierarchical_density_equals_the_formula() {
    let (x, y) = data(20, 2);
    let target = HierarchicalLogistic::new(x.as_ref(), &y, ScalePrior::HalfNormal).unwrap();
    let z = [-0.3_f64, 0.4, 0.8, -1.1, 0.6];
    let (tau, sigma): (f64, f64) = (z[0].exp(), z[1].exp());
    let half = |s: f64| (2.0 / (2.0 * std::f64::consts::PI).sqrt()).ln() - s * s / 2.0;
    let normal = |x: f64, s: f64| -(x / s).powi(2) / 2.0 - (s * (2.0 * std::f64::consts::PI).sqrt()).ln();
    let mut expected = half(tau) + tau.ln() + half(sigma) + sigma.ln();
    expected += normal(z[2], tau) + normal(z[3], tau) + normal(z[4], sigma);
    for i in 0..20 {
        let f = x[(i, 0)] * z[2] + x[(i, 1)] * z[3] + z[4];
        let p = 1.0 / (1.0 + (-f).exp());
        expected += if y[i] == 1.0 { p.ln() } else { (1.0 - p).ln() };
    }
    let found = target.log_density(&z, &mut vec![0.0; target.work_len(1)]);
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    let mut named = Named::default();
    target.constrain(&z, &mut named);
    assert_eq!((named.names().len(), named.row()[0], &*named.names()[3]), (5, tau, "beta[1]"));
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
