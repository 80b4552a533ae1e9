//! Moments of weighted points.

use faer::{Mat, MatRef};
use mcsa_core::{AffineMap, Columns, Error};
use mcsa_estimators::Draws;
use mcsa_optim::deterministic::Gaussian;

use super::shape::DENSE;
use crate::posterior::Refinement;

/// Gaussian with the mean and the covariance of points with equal weights.
pub(crate) fn of_points(points: MatRef<'_, f64>) -> Gaussian {
    of_weighted(points, &vec![1.0 / points.ncols() as f64; points.ncols()])
}

/// Gaussian with the mean and the covariance of weighted points, whose weights sum to one.
pub(crate) fn of_weighted(points: MatRef<'_, f64>, weights: &[f64]) -> Gaussian {
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
    Gaussian { mean, covariance }
}

/// Gaussian with the mean and the covariance of weighted draws, or of the draws without weights if the weighted covariance is singular:
/// if the effective sample size is at most the dimension, or the factorisation fails. If that fails for both, as it does if single draws
/// lie very far out, it has the medians, and the halves of the distances between the quantiles at 16 and 84 % as standard deviations.
///
/// # Errors
/// If more than two thirds of the draws agree in a coordinate, or are not finite.
pub(crate) fn gaussian(draws: &Draws) -> Result<Gaussian, Error> {
    let points = draws.points.as_ref();
    if draws.sample_size > points.nrows() as f64 {
        let gaussian = of_weighted(points, &draws.weights());
        if gaussian.factor().is_ok() {
            return Ok(gaussian);
        }
    }
    let gaussian = of_points(points);
    if gaussian.factor().is_ok() {
        return Ok(gaussian);
    }
    let gaussian = of_quantiles(points);
    gaussian.factor().map(|_| gaussian)
}

/// Gaussian with independent coordinates: medians, and `(q_84 - q_16) / 2` of each coordinate as standard deviation.
fn of_quantiles(points: MatRef<'_, f64>) -> Gaussian {
    let (mut mean, mut sds) = (Vec::new(), Vec::new());
    for row in points.row_iter() {
        let mut values: Vec<f64> = row.iter().copied().collect();
        values.sort_unstable_by(f64::total_cmp);
        let quantile = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
        mean.push(quantile(0.5));
        sds.push(0.5 * (quantile(0.84) - quantile(0.16)));
    }
    let covariance = Mat::from_fn(sds.len(), sds.len(), |i, j| if i == j { sds[i] * sds[i] } else { 0.0 });
    Gaussian { mean, covariance }
}

/// The [`gaussian`] of draws of a climb; beyond 100 dimensions, where the draws are too few for a covariance, that of the climb's family.
///
/// # Errors
/// As [`gaussian`].
pub(crate) fn of_climb(draws: &Draws, climb: &Refinement) -> Result<Gaussian, Error> {
    let dim = draws.points.nrows();
    let of_family = if dim > DENSE { climb.shape.moments(dim, climb.params())? } else { None };
    of_family.map_or_else(|| gaussian(draws), Ok)
}

/// Map from coordinates in which the Gaussian [`of_climb`] is standard normal.
///
/// # Errors
/// As [`gaussian`].
pub(crate) fn white(draws: &Draws, climb: &Refinement) -> Result<AffineMap, Error> {
    of_climb(draws, climb)?.map()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One point so far out that no covariance of the draws has a factor.
    #[test]
    fn quantiles_serve_if_a_single_point_spoils_the_covariance() {
        let sample = |out: f64| {
            let at =
                |i: usize, j: usize| if j == 0 { out } else { (j as f64 - 500.0) * (1 + i * (j % 2)) as f64 };
            let (model, family) = (mcsa_models::Gaussian::standard(2), mcsa_families::FullRank::new(2));
            let params = [0.0, 0.0, 0.0, 0.0, 0.0];
            let lane = mcsa_core::Seed::new(1).stream(0, 0);
            let mut draws = Draws::of(&model, &family, &params, lane, 1_001).expect("draws");
            draws.points = Mat::from_fn(2, 1_001, at);
            gaussian(&draws)
        };
        let gaussian = sample(1e200).expect("quantiles");
        assert!(gaussian.mean.iter().all(|mean| mean.abs() < 3.0), "{:?}", gaussian.mean);
        assert!((gaussian.covariance[(0, 0)].sqrt() - 340.0).abs() < 2.0, "{:?}", gaussian.covariance);
        assert_eq!(gaussian.covariance[(0, 1)], 0.0);
        // Without that point the covariance is that of the draws.
        let gaussian = sample(-500.0).expect("a covariance");
        assert!(gaussian.covariance[(0, 1)] > 0.0);
    }
}
