//! Normal distribution with full covariance.

use faer::Mat;
use mcsa_core::{Error, Gradient, LogDensity, Stream, same_length};

use super::{ExactDraws, HALF_LOG_TAU};

/// Normal distribution, `z = mean + L eps` with `eps` standard and `L` lower triangular.
///
/// ```
/// use mcsa_core::LogDensity;
/// let target = mcsa_theory::exact::Gaussian::standard(2);
/// let constant = (2.0 * std::f64::consts::PI).ln();
/// assert!((target.log_density(&[0.0, 0.0], &mut [0.0; 2]) + constant).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Gaussian {
    mean: Vec<f64>,
    factor: Mat<f64>,
}

impl Gaussian {
    /// A normal distribution with mean `mean` and `factor` as `L`, whose entries above the diagonal are not read.
    ///
    /// # Errors
    /// If the shapes differ, or a number on the diagonal is not positive and finite.
    pub fn new(mean: Vec<f64>, factor: Mat<f64>) -> Result<Self, Error> {
        same_length("rows of the factor", mean.len(), factor.nrows())?;
        same_length("columns of the factor", mean.len(), factor.ncols())?;
        for i in 0..mean.len() {
            let value = factor[(i, i)];
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::NotPositiveDefinite { what: "the factor of a Gaussian", pivot: i });
            }
        }
        Ok(Self { mean, factor })
    }

    /// Independent coordinates with mean 0 and variance 1.
    pub fn standard(dim: usize) -> Self {
        Self { mean: vec![0.0; dim], factor: Mat::identity(dim, dim) }
    }

    /// Mean 0, variance 1, and correlation `rho^|i - j|`: a stationary autoregression.
    ///
    /// # Errors
    /// If `rho` is not inside `(-1, 1)`.
    pub fn correlated(dim: usize, rho: f64) -> Result<Self, Error> {
        if rho.is_nan() || rho.abs() >= 1.0 {
            return Err(Error::parameter("rho", rho, "between -1 and 1"));
        }
        let fresh = (1.0 - rho * rho).sqrt();
        let factor = Mat::from_fn(dim, dim, |i, j| match (i, j) {
            (i, 0) => rho.powi(i as i32),
            (i, j) if j <= i => fresh * rho.powi((i - j) as i32),
            _ => 0.0,
        });
        Self::new(vec![0.0; dim], factor)
    }

    /// Writes `L^-1 (z - mean)` to `eps`, and returns the log density.
    fn whiten(&self, z: &[f64], eps: &mut [f64]) -> f64 {
        let mut log_p = 0.0;
        for i in 0..z.len() {
            let known: f64 = (0..i).map(|j| self.factor[(i, j)] * eps[j]).sum();
            eps[i] = (z[i] - self.mean[i] - known) / self.factor[(i, i)];
            log_p -= 0.5 * eps[i] * eps[i] + self.factor[(i, i)].ln() + HALF_LOG_TAU;
        }
        log_p
    }
}

impl LogDensity for Gaussian {
    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn work_len(&self, _: usize) -> usize {
        self.mean.len()
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.whiten(z, &mut work[..z.len()])
    }
}

impl Gradient for Gaussian {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        let log_p = self.whiten(z, gradient);
        // -L^-T eps, from the last coordinate upwards.
        for i in (0..z.len()).rev() {
            let known: f64 = (i + 1..z.len()).map(|k| self.factor[(k, i)] * gradient[k]).sum();
            gradient[i] = (-gradient[i] - known) / self.factor[(i, i)];
        }
        log_p
    }
}

impl ExactDraws for Gaussian {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        stream.normals_into(z);
        for i in (0..z.len()).rev() {
            z[i] = self.mean[i] + (0..=i).map(|j| self.factor[(i, j)] * z[j]).sum::<f64>();
        }
    }
}
