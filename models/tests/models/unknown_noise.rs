//! Linear regression with noise of unknown scale: conformance, and the exact posterior against closed forms.

use faer::Mat;
use mcsa_core::{Gradient, Seed};
use mcsa_models::{Marginals, UnknownNoiseRegression};
use mcsa_testing::model::{Case, Truth};
use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::gamma::digamma;

use crate::meter;

const NORMAL: Option<(f64, f64)> = Some((0.5, 0.7));
const CAUCHY: Option<f64> = Some(2.5);

/// A column of ones, and normal columns of these scales; the noise has scale 0.8.
fn data(rows: usize, scales: &[f64]) -> (Mat<f64>, Vec<f64>) {
    let mut stream = Seed::new(3).stream(0, 0);
    let x = Mat::from_fn(
        rows,
        scales.len() + 1,
        |_, k| if k == 0 { 1.0 } else { scales[k - 1] * stream.normal() },
    );
    let y = (0..rows).map(|i| {
        let mean: f64 = scales.iter().enumerate().map(|(k, scale)| x[(i, k + 1)] / scale).sum();
        1.0 + 0.5 * mean + 0.8 * stream.normal()
    });
    let y = y.collect();
    (x, y)
}

fn model(
    rows: usize,
    scales: &[f64],
    weight: Option<(f64, f64)>,
    noise: Option<f64>,
) -> UnknownNoiseRegression {
    let (x, y) = data(rows, scales);
    let mut priors = vec![weight; x.ncols()];
    priors[0] = None;
    UnknownNoiseRegression::new(x.as_ref(), &y, &priors, noise).expect("good data")
}

fn cases() -> Vec<Case<UnknownNoiseRegression>> {
    let models = [
        model(30, &[], None, None),
        model(30, &[], None, CAUCHY),
        model(25, &[1.0], NORMAL, None),
        model(25, &[0.5], NORMAL, CAUCHY),
        model(50, &[1.0; 8], None, CAUCHY),
    ];
    models
        .map(|model| {
            let Marginals { log_evidence: log_normaliser, means, covariance, .. } =
                model.exact().expect("good data");
            let truth = Truth { log_normaliser, mean: Some(means.clone()), covariance: Some(covariance) };
            Case::new(model).with_centre(means).with_spread(0.3).with_truth(truth)
        })
        .into()
}

mcsa_testing::model_suite!(unknown_noise, cases(), meter, gradient truth);

/// Flat priors: `sigma^2 ~ InverseGamma(nu / 2, RSS / 2)` and weights t with `nu = n - d - 1` degrees of freedom.
#[test]
fn flat_priors_give_t_marginals() {
    let (rows, scales) = (12, [1e-3, 2e4]);
    let (x, y) = data(rows, &scales);
    let target = model(rows, &scales, None, None);
    let exact = target.exact().expect("good data");
    let freedom = rows as f64 - 4.0;
    let fitted = |i: usize| (0..3).map(|k| x[(i, k)] * target.least_squares()[k]).sum::<f64>();
    let residual: f64 = (0..rows).map(|i| (y[i] - fitted(i)).powi(2)).sum();
    // (X'X)^-1 in units of the columns.
    let units = [1.0, scales[0], scales[1]];
    let gram = Mat::from_fn(3, 3, |i, k| {
        (0..rows).map(|r| x[(r, i)] * x[(r, k)]).sum::<f64>() / (units[i] * units[k])
    });
    let inverse = faer::linalg::solvers::DenseSolveCore::inverse(&gram.as_ref().full_piv_lu());
    let levels = [0.05, 0.5, 0.95];
    for k in 0..3 {
        let scale = (residual / freedom * inverse[(k, k)]).sqrt() / units[k];
        let sd = scale * (freedom / (freedom - 2.0)).sqrt();
        assert!((exact.means[k] - target.least_squares()[k]).abs() < 1e-10 * sd);
        assert!((exact.sds()[k] / sd - 1.0).abs() < 1e-9, "{k}: {} {sd}", exact.sds()[k]);
        let law = StudentsT::new(target.least_squares()[k], scale, freedom).expect("known");
        for (level, found) in levels.iter().zip(exact.quantiles(k, &levels)) {
            assert!((law.cdf(found) - level).abs() < 1e-6, "{k} {level}");
        }
    }
    let mean = 0.5 * ((0.5 * residual).ln() - digamma(0.5 * freedom));
    let trigamma = (digamma(0.5 * freedom + 1e-4) - digamma(0.5 * freedom - 1e-4)) / 2e-4;
    assert!((exact.means[3] - mean).abs() < 1e-9, "{} {mean}", exact.means[3]);
    assert!((exact.covariance[(3, 3)] - 0.25 * trigamma).abs() < 1e-6);
}

/// Columns in other units give the same posterior in those units.
#[test]
fn badly_scaled_columns_cost_no_digits() {
    let [plain, scaled] =
        [[1.0, 1.0], [1e-6, 1e7]].map(|s| model(40, &s, None, CAUCHY).exact().expect("good data"));
    for (k, unit) in [1.0, 1e-6, 1e7, 1.0].into_iter().enumerate() {
        assert!((plain.sds()[k] / (scaled.sds()[k] * unit) - 1.0).abs() < 1e-9, "{k}");
    }
    assert!((plain.log_evidence - scaled.log_evidence - (1e-6_f64 * 1e7).ln()).abs() < 1e-9);
}

#[test]
fn bad_input_is_refused_with_its_place() {
    let (x, y) = data(9, &[1.0]);
    let refused = |x: &Mat<f64>, y: &[f64], priors: &[Option<(f64, f64)>], noise| {
        UnknownNoiseRegression::new(x.as_ref(), y, priors, noise).unwrap_err().to_string()
    };
    let flat = [None; 2];
    let doubled = Mat::from_fn(9, 2, |i, _| x[(i, 1)]);
    assert!(refused(&doubled, &y, &flat, CAUCHY).contains("column 1 of the features depends linearly"));
    assert!(refused(&x, &y[1..], &flat, CAUCHY).contains("responses has length 8, expected 9"));
    assert!(refused(&x, &y, &flat[1..], CAUCHY).contains("priors of weights has length 1, expected 2"));
    assert!(refused(&x, &y, &[Some((0.0, 0.0)); 2], CAUCHY).contains("prior sd is 0"));
    let (x, y) = data(5, &[1.0]);
    assert!(refused(&x, &y, &flat, CAUCHY).contains("at least 4 rows more"));
    let (x, _) = data(9, &[1.0]);
    let line: Vec<f64> = (0..9).map(|i| 2.0 * x[(i, 1)]).collect();
    assert!(refused(&x, &line, &flat, CAUCHY).contains("linear function of the features"));
}

/// Far below every scale of the data the precision overflows: outside the support, with gradient 0.
#[test]
fn an_overflowing_precision_is_outside() {
    let target = model(25, &[1.0], NORMAL, CAUCHY);
    let mut gradient = [1.0; 3];
    let log_p = target.gradient_into(&[0.0, 0.0, -400.0], &mut gradient, &mut []);
    assert_eq!((log_p, gradient), (f64::NEG_INFINITY, [0.0; 3]));
}
