//! Running marginal variances and the diagonal mass they imply.

use faer::MatRef;
use mcsa_core::{Columns, Error, bits, same_length};
use serde::{Deserialize, Serialize};

use crate::Mass;

/// Running means and variances of each coordinate (Welford 1962), and the diagonal mass they imply:
///
/// ```text
/// 1 / m_i = (n s_i^2 + 5 * 0.001) / (n + 5)
/// ```
///
/// The variance `s_i^2` of `n` points is shrunk towards 0.001, as in Stan.
///
/// ```
/// let mut marginals = mcsa_kernels::DiagonalMass::new(1);
/// marginals.add(faer::mat![[1.0, 3.0]].as_ref());
/// assert_eq!((marginals.mean(), marginals.variance(0)), (&[2.0][..], 2.0));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiagonalMass {
    count: u64,
    #[serde(with = "bits::vector")]
    mean: Vec<f64>,
    /// The sum of squared deviations from the mean.
    #[serde(with = "bits::vector")]
    spread: Vec<f64>,
}

/// Stan's shrinkage: a prior worth five points of variance `PRIOR_VARIANCE`.
const PRIOR_POINTS: f64 = 5.0;
const PRIOR_VARIANCE: f64 = 1e-3;

impl DiagonalMass {
    /// Moments of no points, in dimension `dim`.
    pub fn new(dim: usize) -> Self {
        Self { count: 0, mean: vec![0.0; dim], spread: vec![0.0; dim] }
    }

    /// Removes all points.
    pub fn clear(&mut self) {
        self.count = 0;
        self.mean.fill(0.0);
        self.spread.fill(0.0);
    }

    /// Adds the columns of `points`, in order.
    ///
    /// # Panics
    /// If the dimension of the points differs.
    pub fn add(&mut self, points: MatRef<'_, f64>) {
        assert_eq!(points.nrows(), self.mean.len(), "points of the same dimension");
        for j in 0..points.ncols() {
            self.count += 1;
            let share = 1.0 / self.count as f64;
            for ((mean, spread), z) in self.mean.iter_mut().zip(&mut self.spread).zip(points.column(j)) {
                let before = z - *mean;
                *mean += share * before;
                *spread += before * (z - *mean);
            }
        }
    }

    /// The number of points.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean of the points.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The unbiased variance of coordinate `i`; 0 with fewer than two points.
    ///
    /// # Panics
    /// If `i` is not below the dimension.
    pub fn variance(&self, i: usize) -> f64 {
        if self.count < 2 { 0.0 } else { self.spread[i] / (self.count - 1) as f64 }
    }

    /// The diagonal mass: inverses of the shrunk variances.
    ///
    /// # Errors
    /// If a variance is not finite.
    pub fn mass(&self) -> Result<Mass, Error> {
        let n = self.count as f64;
        let inverse = |i| (n * self.variance(i) + PRIOR_POINTS * PRIOR_VARIANCE) / (n + PRIOR_POINTS);
        Mass::diagonal((0..self.mean.len()).map(|i| 1.0 / inverse(i)).collect())
    }

    /// Checks that the points have `dim` coordinates.
    ///
    /// # Errors
    /// If the dimensions differ.
    pub fn check(&self, dim: usize) -> Result<(), Error> {
        same_length("means", dim, self.mean.len())?;
        same_length("spreads", dim, self.spread.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variances_far_from_zero_are_exact() {
        let mut marginals = DiagonalMass::new(2);
        marginals.add(faer::mat![[1e9, 1e9 + 1.0, 1e9 + 2.0], [0.0, 0.0, 3.0]].as_ref());
        assert_eq!((marginals.variance(0), marginals.variance(1)), (1.0, 3.0));
        let mass = marginals.mass().unwrap();
        assert!((1.0 / mass.masses()[1] - (3.0 * 3.0 + 0.005) / 8.0).abs() < 1e-15);
        marginals.clear();
        assert_eq!(marginals, DiagonalMass::new(2));
        assert!((DiagonalMass::new(1).mass().unwrap().masses()[0] - 1000.0).abs() < 1e-9);
    }
}
