//! Moments of weighted draws.

use faer::Mat;
use mcsa_core::{AffineMap, Error};
use mcsa_estimators::Draws;
use mcsa_optim::deterministic::Gaussian;

/// Mean and covariance of weighted draws.
pub(crate) fn covariance(draws: &Draws) -> (Vec<f64>, Mat<f64>) {
    let (mean, _) = draws.moments();
    let covariance = about(&mean, draws, &draws.weights());
    (mean, covariance)
}

/// Covariance `sum_i w_i (z_i - m)(z_i - m)'` about `mean`.
fn about(mean: &[f64], draws: &Draws, weights: &[f64]) -> Mat<f64> {
    let dim = draws.points.nrows();
    let mut covariance = Mat::<f64>::zeros(dim, dim);
    let mut off = vec![0.0; dim];
    for (j, weight) in weights.iter().enumerate() {
        off.iter_mut()
            .zip(draws.points.col_as_slice(j))
            .zip(mean)
            .for_each(|((off, z), mean)| *off = z - mean);
        for (b, right) in off.iter().enumerate() {
            let column = &mut covariance.col_as_slice_mut(b)[b..];
            column.iter_mut().zip(&off[b..]).for_each(|(entry, left)| *entry += weight * right * left);
        }
    }
    for b in 0..dim {
        (0..b).for_each(|a| covariance[(a, b)] = covariance[(b, a)]);
    }
    covariance
}

/// Gaussian with the mean and the covariance of weighted draws, or of the draws without weights if the weighted covariance is singular:
/// if the effective sample size is at most the dimension, or the factorisation fails.
///
/// # Errors
/// If neither covariance is positive definite.
pub(crate) fn gaussian(draws: &Draws) -> Result<Gaussian, Error> {
    let dim = draws.points.nrows() as f64;
    if draws.sample_size > dim {
        let (mean, covariance) = covariance(draws);
        let gaussian = Gaussian { mean, covariance };
        if gaussian.factor().is_ok() {
            return Ok(gaussian);
        }
    }
    let points = draws.points.as_ref();
    let count = draws.len() as f64;
    let mean: Vec<f64> = (0..points.nrows()).map(|i| points.row(i).iter().sum::<f64>() / count).collect();
    let covariance = about(&mean, draws, &vec![1.0 / count; draws.len()]);
    let gaussian = Gaussian { mean, covariance };
    gaussian.factor().map(|_| gaussian)
}

/// Map from coordinates in which [`gaussian`] is standard normal.
///
/// # Errors
/// As [`gaussian`].
pub(crate) fn white(draws: &Draws) -> Result<AffineMap, Error> {
    let gaussian = gaussian(draws)?;
    let factor = gaussian.factor()?;
    AffineMap::new(gaussian.mean, factor)
}
