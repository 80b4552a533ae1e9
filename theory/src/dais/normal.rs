//! Normal distributions with a full covariance, their densities and divergences.

use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::{Mat, Par, Side};
use mcsa_core::{Error, all_finite, same_length};

/// Normal distribution `N(mean, covariance)` in d dimensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Normal {
    mean: Vec<f64>,
    covariance: Mat<f64>,
    /// `L^-1` of the lower-triangular factor L of the covariance.
    whitener: Mat<f64>,
    /// `log det(2 pi covariance)`.
    log_volume: f64,
}

impl Normal {
    /// Normal distribution of this mean and covariance, of which the lower half is read.
    ///
    /// # Errors
    /// If the shapes differ, a number is not finite or the covariance is not positive definite.
    pub fn new(mean: Vec<f64>, covariance: Mat<f64>) -> Result<Self, Error> {
        let d = mean.len();
        same_length("rows of a covariance", d, covariance.nrows())?;
        same_length("columns of a covariance", d, covariance.ncols())?;
        all_finite("mean", &mean)?;
        let singular = || Error::invalid("a covariance is not positive definite");
        let factor = covariance.llt(Side::Lower).map_err(|_| singular())?;
        let mut whitener = Mat::zeros(d, d);
        invert_lower_triangular(whitener.as_mut(), factor.L(), Par::Seq);
        if !whitener.is_all_finite() {
            return Err(singular());
        }
        let log_volume = (0..d).map(|i| std::f64::consts::TAU.ln() - 2.0 * whitener[(i, i)].ln()).sum();
        Ok(Self { mean, covariance, whitener, log_volume })
    }

    /// Normal distribution with independent coordinates of these standard deviations.
    ///
    /// # Errors
    /// If the lengths differ, or a deviation is not positive and finite.
    pub fn diagonal(mean: Vec<f64>, deviations: &[f64]) -> Result<Self, Error> {
        let d = deviations.len();
        let entry = |i: usize, j: usize| if i == j { deviations[i] * deviations[i] } else { 0.0 };
        Self::new(mean, Mat::from_fn(d, d, entry))
    }

    /// Normal distribution in one dimension.
    ///
    /// # Errors
    /// If the mean is not finite, or the variance not positive and finite.
    pub fn scalar(mean: f64, variance: f64) -> Result<Self, Error> {
        Self::new(vec![mean], Mat::from_fn(1, 1, |_, _| variance))
    }

    /// The dimension.
    pub fn dim(&self) -> usize {
        self.mean.len()
    }

    /// The mean.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The covariance.
    pub fn covariance(&self) -> &Mat<f64> {
        &self.covariance
    }

    /// The inverse of the covariance.
    pub fn precision(&self) -> Mat<f64> {
        self.whitener.transpose() * &self.whitener
    }

    /// `L^-1`, with `covariance = L L^T`.
    pub(super) fn whitener(&self) -> &Mat<f64> {
        &self.whitener
    }

    /// `log det(2 pi covariance)`.
    pub(super) fn log_volume(&self) -> f64 {
        self.log_volume
    }

    /// `|L^-1 (z - mean)|^2`.
    fn square(&self, z: &[f64]) -> f64 {
        let mut square = 0.0;
        for i in 0..self.dim() {
            let mut white = 0.0;
            for (j, (z, mean)) in z.iter().zip(&self.mean).enumerate().take(i + 1) {
                white += self.whitener[(i, j)] * (z - mean);
            }
            square += white * white;
        }
        square
    }

    /// The log density.
    pub fn log_density(&self, z: &[f64]) -> f64 {
        -0.5 * (self.square(z) + self.log_volume)
    }

    /// Entropy `-E log p = log det(2 pi e covariance) / 2`.
    pub fn entropy(&self) -> f64 {
        0.5 * (self.dim() as f64 + self.log_volume)
    }

    /// Mean of the log density under a distribution of this mean and covariance.
    pub fn mean_log_density(&self, mean: &[f64], covariance: &Mat<f64>) -> f64 {
        let spread = &self.whitener * covariance * self.whitener.transpose();
        let trace: f64 = (0..self.dim()).map(|i| spread[(i, i)]).sum();
        self.log_density(mean) - 0.5 * trace
    }

    /// Divergence `KL(self || other)`; NaN if its eigenvalues are not found.
    ///
    /// Numerics: without a difference of nearly equal logarithms.
    pub fn divergence(&self, other: &Self) -> f64 {
        let excess = &other.whitener * (&self.covariance - &other.covariance) * other.whitener.transpose();
        let Ok(excess) = excess.self_adjoint_eigenvalues(Side::Lower) else { return f64::NAN };
        let spread: f64 = excess.iter().map(|excess| excess - excess.ln_1p()).sum();
        0.5 * (spread + other.square(&self.mean))
    }
}
