//! Accuracy measures of predictions on held-out data.

use std::f64::consts::PI;

/// Accuracy: the fraction of labels predicted correctly, where `log_odds > 0` predicts 1. NaN without data.
///
/// ```
/// assert_eq!(mcsa_models::accuracy(&[0.3, -1.0], &[1.0, 1.0]), 0.5);
/// ```
pub fn accuracy(log_odds: &[f64], labels: &[f64]) -> f64 {
    assert_eq!(log_odds.len(), labels.len(), "a prediction per label");
    let right = log_odds.iter().zip(labels).filter(|&(&odds, &label)| (odds > 0.0) == (label == 1.0));
    right.count() as f64 / labels.len() as f64
}

/// Mean log predictive probability of labels 0 and 1. NaN without data.
///
/// ```
/// let value = mcsa_models::log_predictive_density(&[0.0, 0.0], &[1.0, 0.0]);
/// assert!((value + 2.0_f64.ln()).abs() < 1e-15);
/// ```
pub fn log_predictive_density(log_odds: &[f64], labels: &[f64]) -> f64 {
    assert_eq!(log_odds.len(), labels.len(), "a prediction per label");
    let signed = log_odds.iter().zip(labels).map(|(odds, label)| (2.0 * label - 1.0) * odds);
    let mut signed: Vec<f64> = signed.collect();
    let count = signed.len() as f64;
    mcsa_core::numeric::log_sigmoid(&mut signed);
    mcsa_core::numeric::sum(&signed) / count
}

/// Root mean squared error. NaN without data.
///
/// ```
/// assert_eq!(mcsa_models::root_mean_squared_error(&[1.0, 2.0], &[1.0, 4.0]), 2.0_f64.sqrt());
/// ```
pub fn root_mean_squared_error(predictions: &[f64], y: &[f64]) -> f64 {
    assert_eq!(predictions.len(), y.len(), "a prediction per response");
    let square: f64 = predictions.iter().zip(y).map(|(p, y)| (p - y).powi(2)).sum();
    (square / y.len() as f64).sqrt()
}

/// Mean log predictive density of normal predictions, `log N(y_i; mean_i, variance_i)`. NaN without data.
///
/// ```
/// let value = mcsa_models::normal_log_predictive_density(&[1.0], &[1.0], &[1.0]);
/// assert!((value + 0.5 * (2.0 * std::f64::consts::PI).ln()).abs() < 1e-15);
/// ```
pub fn normal_log_predictive_density(means: &[f64], variances: &[f64], y: &[f64]) -> f64 {
    assert!(means.len() == y.len() && variances.len() == y.len(), "a mean and a variance per response");
    let term = |((m, v), y): ((&f64, &f64), &f64)| -0.5 * ((2.0 * PI * v).ln() + (y - m).powi(2) / v);
    means.iter().zip(variances).zip(y).map(term).sum::<f64>() / y.len() as f64
}
