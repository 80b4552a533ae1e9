//! Normal distributions with a full covariance, quadratic log likelihoods, and the posteriors of both.

use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::{Mat, Par, Side};
use mcsa_core::{Error, all_finite, same_length};

/// Normal distribution `N(mean, covariance)` in d dimensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Normal {
    mean: Vec<f64>,
    covariance: Mat<f64>,
    /// `L^-1` of the lower-triangular factor L of the covariance.
    pub(super) whitener: Mat<f64>,
    /// `log det(2 pi covariance)`.
    pub(super) log_volume: f64,
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
        if !covariance.is_all_finite() {
            return Err(Error::invalid("a covariance is not finite"));
        }
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
    /// If the lengths differ, a mean is not finite, or the square of a deviation is not positive and finite.
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

    /// Posterior of this prior under `likelihood`, and the log evidence.
    ///
    /// # Errors
    /// If the lengths differ, or the posterior is not proper. The latter can happen if `likelihood`, such as a surrogate, has a
    /// negative curvature.
    pub fn posterior(&self, likelihood: &Quadratic) -> Result<(Self, f64), Error> {
        let d = self.dim();
        same_length("slope of the likelihood", d, likelihood.slope.len())?;
        same_length("rows of the curvature", d, likelihood.curvature.nrows())?;
        same_length("columns of the curvature", d, likelihood.curvature.ncols())?;
        let prior = self.precision();
        let precision = Self::new(vec![0.0; d], &prior + &likelihood.curvature)?;
        let covariance = precision.precision();
        let column = |x: &[f64]| Mat::from_fn(d, 1, |i, _| x[i]);
        let start = column(self.mean());
        let mean = &covariance * (&prior * &start + column(&likelihood.slope));
        let bent = |precision: &Mat<f64>, x: &Mat<f64>| (x.transpose() * precision * x)[(0, 0)];
        let log_evidence = likelihood.constant - 0.5 * (self.log_volume + precision.log_volume)
            + d as f64 * std::f64::consts::TAU.ln()
            + 0.5 * bent(precision.covariance(), &mean)
            - 0.5 * bent(&prior, &start);
        Ok((Self::new((0..d).map(|i| mean[(i, 0)]).collect(), covariance)?, log_evidence))
    }
}

/// Log likelihood `log l(z) = constant + a . z - z^T B z / 2`.
#[derive(Debug, Clone, PartialEq)]
pub struct Quadratic {
    /// The slope `a`.
    pub slope: Vec<f64>,
    /// The symmetric curvature `B`.
    pub curvature: Mat<f64>,
    /// The constant.
    pub constant: f64,
}

impl Quadratic {
    /// `a z - B z^2 / 2` in one dimension.
    pub fn scalar(slope: f64, curvature: f64) -> Self {
        Self { slope: vec![slope], curvature: Mat::from_fn(1, 1, |_, _| curvature), constant: 0.0 }
    }

    /// Linear regression on weighted rows, `sum_n weight_n log N(y_n; x_n . z, deviation^2)`, with one row of `covariates` per
    /// response.
    pub fn regression(covariates: &Mat<f64>, responses: &[f64], weights: &[f64], deviation: f64) -> Self {
        let (rows, d) = covariates.shape();
        let precision = 1.0 / (deviation * deviation);
        let total = |f: &dyn Fn(usize) -> f64| -> f64 { (0..rows).map(|n| weights[n] * f(n)).sum() };
        let volume = (std::f64::consts::TAU * deviation * deviation).ln();
        let bend = |i: usize, j: usize| precision * total(&|n| covariates[(n, i)] * covariates[(n, j)]);
        Self {
            slope: (0..d).map(|i| precision * total(&|n| covariates[(n, i)] * responses[n])).collect(),
            curvature: Mat::from_fn(d, d, bend),
            constant: -0.5 * total(&|n| precision * responses[n] * responses[n] + volume),
        }
    }

    /// The product with a number.
    #[must_use]
    pub fn times(&self, scale: f64) -> Self {
        Self {
            slope: self.slope.iter().map(|a| scale * a).collect(),
            curvature: faer::Scale(scale) * &self.curvature,
            constant: scale * self.constant,
        }
    }

    /// The sum with another log likelihood.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            slope: self.slope.iter().zip(&other.slope).map(|(a, b)| a + b).collect(),
            curvature: &self.curvature + &other.curvature,
            constant: self.constant + other.constant,
        }
    }

    /// `E_law[log l]`.
    pub fn mean(&self, law: &Normal) -> f64 {
        let (m, covariance) = (law.mean(), law.covariance());
        let mut mean = self.constant;
        for i in 0..m.len() {
            mean += self.slope[i] * m[i];
            for j in 0..m.len() {
                mean -= 0.5 * self.curvature[(i, j)] * (covariance[(i, j)] + m[i] * m[j]);
            }
        }
        mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variance_is_finite() {
        for variance in [f64::INFINITY, f64::NAN, -1.0, 0.0] {
            assert!(Normal::scalar(0.0, variance).is_err(), "{variance}");
        }
        assert!(Normal::diagonal(vec![0.0], &[1e200]).is_err());
        assert!(Normal::scalar(0.0, 1e-300).is_ok());
    }
}
