//! Moments of weighted draws.

use faer::Mat;
use mcsa_core::{AffineMap, Error};
use mcsa_estimators::Draws;
use mcsa_optim::deterministic::Gaussian;

/// Mean and covariance of weighted draws.
pub(crate) fn covariance(draws: &Draws) -> (Vec<f64>, Mat<f64>) {
    let dim = draws.points.nrows();
    let (mean, _) = draws.moments();
    let mut covariance = Mat::<f64>::zeros(dim, dim);
    let mut off = vec![0.0; dim];
    for (j, weight) in draws.weights().into_iter().enumerate() {
        off.iter_mut()
            .zip(draws.points.col_as_slice(j))
            .zip(&mean)
            .for_each(|((off, z), mean)| *off = z - mean);
        for (b, right) in off.iter().enumerate() {
            let column = &mut covariance.col_as_slice_mut(b)[b..];
            column.iter_mut().zip(&off[b..]).for_each(|(entry, left)| *entry += weight * right * left);
        }
    }
    for b in 0..dim {
        (0..b).for_each(|a| covariance[(a, b)] = covariance[(b, a)]);
    }
    (mean, covariance)
}

/// Map from coordinates in which weighted draws have mean 0 and covariance I.
///
/// # Errors
/// If the covariance is not positive definite.
pub(crate) fn white(draws: &Draws) -> Result<AffineMap, Error> {
    let (mean, covariance) = covariance(draws);
    let factor = Gaussian { mean: mean.clone(), covariance }.factor()?;
    AffineMap::new(mean, factor)
}
