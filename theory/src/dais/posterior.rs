//! Posteriors of linear Gaussian models.

use faer::Mat;
use mcsa_core::{Error, same_length};

use super::normal::Normal;
use super::quadratic::Quadratic;

impl Normal {
    /// Posterior of this prior under `likelihood`, and the log evidence.
    ///
    /// # Errors
    /// If the lengths differ, or the posterior is not proper, because the surrogate of a likelihood has a negative curvature.
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
        let log_evidence = likelihood.constant - 0.5 * (self.log_volume() + precision.log_volume())
            + d as f64 * std::f64::consts::TAU.ln()
            + 0.5 * bent(precision.covariance(), &mean)
            - 0.5 * bent(&prior, &start);
        Ok((Self::new((0..d).map(|i| mean[(i, 0)]).collect(), covariance)?, log_evidence))
    }
}
