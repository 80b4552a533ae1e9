//! Gaussian distribution, by mean and covariance.

use faer::linalg::solvers::{Llt, LltError};
use faer::{Mat, MatRef, Side};
use mcsa_core::Error;

/// Gaussian with a mean and a covariance: a starting point for a fit.
///
/// ```
/// use mcsa_optim::deterministic::Gaussian;
/// let gaussian = Gaussian { mean: vec![0.0; 2], covariance: faer::mat![[4.0, 2.0], [2.0, 2.0]] };
/// assert_eq!(gaussian.scales(), [2.0, 2.0_f64.sqrt()]);
/// assert_eq!(gaussian.factor()?, faer::mat![[2.0, 0.0], [1.0, 1.0]]);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Gaussian {
    /// The mean.
    pub mean: Vec<f64>,
    /// The covariance.
    pub covariance: Mat<f64>,
}

impl Gaussian {
    /// The standard deviations of the coordinates: the scales of a mean-field Gaussian with these marginals.
    pub fn scales(&self) -> Vec<f64> {
        (0..self.mean.len()).map(|k| self.covariance[(k, k)].sqrt()).collect()
    }

    /// The lower Cholesky factor of the covariance.
    ///
    /// # Errors
    /// If the covariance is not positive definite.
    pub fn factor(&self) -> Result<Mat<f64>, Error> {
        Ok(cholesky("covariance", self.covariance.as_ref())?.L().to_owned())
    }
}

/// Cholesky factorisation; an error if the matrix is not finite or not positive definite.
pub(crate) fn cholesky(what: &'static str, matrix: MatRef<'_, f64>) -> Result<Llt<f64>, Error> {
    for j in 0..matrix.ncols() {
        for i in 0..matrix.nrows() {
            let value = matrix[(i, j)];
            if !value.is_finite() {
                return Err(Error::NotFinite { what, index: i + j * matrix.nrows(), value });
            }
        }
    }
    Llt::new(matrix, Side::Lower)
        .map_err(|LltError::NonPositivePivot { index }| Error::NotPositiveDefinite { what, pivot: index })
}
