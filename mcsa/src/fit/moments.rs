//! Moments of weighted points.

use faer::{Mat, MatRef};
use mcsa_core::{AffineMap, Columns, Error};
use mcsa_estimators::Draws;
use mcsa_optim::deterministic::Gaussian;

use super::Climb;
use super::low_rank::DENSE;

/// Mean and covariance of weighted points, whose weights sum to one.
pub(crate) fn covariance(points: MatRef<'_, f64>, weights: &[f64]) -> (Vec<f64>, Mat<f64>) {
    let dim = points.nrows();
    let mut mean = vec![0.0; dim];
    for (j, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        mean.iter_mut().zip(points.column(j)).for_each(|(mean, z)| *mean += weight * z);
    }
    let mut covariance = Mat::<f64>::zeros(dim, dim);
    let mut off = vec![0.0; dim];
    for (j, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        off.iter_mut().zip(points.column(j)).zip(&mean).for_each(|((off, z), mean)| *off = z - mean);
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

/// Gaussian with the mean and the covariance of weighted draws, or of the draws without weights if the weighted covariance is singular:
/// if the effective sample size is at most the dimension, or the factorisation fails.
///
/// # Errors
/// If neither covariance is positive definite.
pub(crate) fn gaussian(draws: &Draws) -> Result<Gaussian, Error> {
    let points = draws.points.as_ref();
    if draws.sample_size > points.nrows() as f64 {
        let (mean, covariance) = covariance(points, &draws.weights());
        let gaussian = Gaussian { mean, covariance };
        if gaussian.factor().is_ok() {
            return Ok(gaussian);
        }
    }
    let (mean, covariance) = covariance(points, &vec![1.0 / draws.len() as f64; draws.len()]);
    let gaussian = Gaussian { mean, covariance };
    gaussian.factor().map(|_| gaussian)
}

/// Map from coordinates in which [`gaussian`] is standard normal; beyond 100 dimensions, where the draws are too few for a covariance, from
/// those in which the climb's family has mean 0 and covariance I.
///
/// # Errors
/// As [`gaussian`].
pub(crate) fn white(draws: &Draws, climb: &Climb) -> Result<AffineMap, Error> {
    let dim = draws.points.nrows();
    let of_family = if dim > DENSE { climb.shape.moments(dim, climb.params())? } else { None };
    let gaussian = of_family.map_or_else(|| gaussian(draws), Ok)?;
    let factor = gaussian.factor()?;
    AffineMap::new(gaussian.mean, factor)
}
