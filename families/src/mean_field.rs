//! Mean-field Gaussian family: a Gaussian with diagonal covariance.

use faer::reborrow::{Reborrow, ReborrowMut};
use faer::{MatMut, MatRef};
use mcsa_core::{
    Columns, ColumnsMut, Error, Family, Parametric, Reparameterised, Stream, all_finite, borrow, same_length,
};

use crate::Link;
use crate::gaussian::LN_SQRT_2PI;
use mcsa_core::each_column;
use mcsa_numeric::linear::standard;
use mcsa_numeric::linear::standard::AddScores;

/// Mean-field Gaussian (diagonal covariance), the family of all published score climbing experiments.
///
/// ```text
/// q(z) = prod_i N(z_i; m_i, sigma_i^2),   sigma = link(rho),   lambda = [m; rho]
/// d/dm_i   log q = (z_i - m_i) / sigma_i^2
/// d/drho_i log q = ((z_i - m_i)^2 / sigma_i^2 - 1) / sigma_i * link'(rho_i)
/// ```
/// KL(p || q) is least at the target's means and marginal variances, whatever the target's
/// correlations. Where the target's tails are heavier than Gaussian, importance weights are unbounded.
///
/// `check` refuses a `rho` whose scale is not a positive normal number. Dimension 0 is the point mass on
/// the empty vector: log density 0, entropy 0.
///
/// ```
/// use mcsa_core::{Family, Parametric};
/// use mcsa_families::MeanField;
/// let q = MeanField::new(2);
/// let params = q.at(&[1.0, 2.0], &[1.0, 1.0])?;
/// let mut work = vec![0.0; q.work_len(1)];
/// let log_q = q.log_prob(&params, &[1.0, 2.0], &mut work);
/// assert!((log_q + (2.0 * std::f64::consts::PI).ln()).abs() < 1e-14);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeanField {
    /// The dimension.
    pub dim: usize,
    /// The map from `rho` to the scale.
    pub link: Link,
}

impl MeanField {
    /// Family in `dim` dimensions with the softplus link.
    pub const fn new(dim: usize) -> Self {
        Self { dim, link: Link::Softplus }
    }

    /// This family with another link.
    #[must_use]
    pub const fn with_link(self, link: Link) -> Self {
        Self { link, ..self }
    }

    /// Parameters with this mean and these scales.
    ///
    /// # Errors
    /// If a length differs, the mean is not finite, or a scale is not positive and finite.
    pub fn at(&self, mean: &[f64], scales: &[f64]) -> Result<Vec<f64>, Error> {
        same_length("mean", self.dim, mean.len())?;
        same_length("scales", self.dim, scales.len())?;
        all_finite("mean", mean)?;
        let mut params = [mean, scales].concat();
        self.link.inverses_into(scales, &mut params[self.dim..])?;
        Ok(params)
    }

    /// The mean and `rho`, as slices of `params`.
    fn parts<'a>(&self, params: &'a [f64]) -> (&'a [f64], &'a [f64]) {
        assert_eq!(params.len(), 2 * self.dim, "mean and rho");
        params.split_at(self.dim)
    }

    /// Writes the scales, and returns the log density at the mean; `logs` is scratch memory.
    fn log_normalizer(&self, rho: &[f64], scales: &mut [f64], logs: &mut [f64]) -> f64 {
        self.link.scales_into(rho, scales);
        -(standard::sum_of_logs(scales, logs) + self.dim as f64 * LN_SQRT_2PI)
    }
}

impl Parametric for MeanField {
    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn num_params(&self) -> usize {
        2 * self.dim
    }

    fn work_len(&self, _columns: usize) -> usize {
        2 * self.dim
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        all_finite("params", params)?;
        self.link.check(&params[self.dim..])
    }
}

impl Family for MeanField {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], mut work: &mut [f64]) {
        let (mean, rho) = self.parts(params);
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let inverse = borrow(&mut work, self.dim);
        let log_normalizer = self.log_normalizer(rho, inverse, borrow(&mut work, self.dim));
        inverse.iter_mut().for_each(|scale| *scale = 1.0 / *scale);
        standard::sums_squares_scaled(z, mean, inverse, log_q);
        log_q.iter_mut().for_each(|log_q| *log_q = log_normalizer - 0.5 * *log_q);
    }

    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (mean, rho) = self.parts(params);
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let scales = borrow(&mut work, self.dim);
        let log_normalizer = self.log_normalizer(rho, scales, borrow(&mut work, self.dim));
        each_column(lanes, z.rb_mut(), |lane, _, z| lane.normals_into(z));
        standard::sums_squares(z.rb(), log_q);
        log_q.iter_mut().for_each(|log_q| *log_q = log_normalizer - 0.5 * *log_q);
        for j in 0..z.ncols() {
            for ((z, mean), scale) in z.column_mut(j).iter_mut().zip(mean).zip(&*scales) {
                *z = mean + scale * *z;
            }
        }
    }

    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (mean, rho) = self.parts(params);
        assert_eq!((z.nrows(), z.ncols()), (self.dim, weights.len()), "a weight per column");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let (inverse, slope) = (borrow(&mut work, self.dim), borrow(&mut work, self.dim));
        self.link.scales_into(rho, inverse);
        self.link.log_derivatives_into(rho, inverse, slope);
        inverse.iter_mut().for_each(|scale| *scale = 1.0 / *scale);
        let (d_mean, d_rho) = gradient.split_at_mut(self.dim);
        AddScores { z, weights, mean, inverse, slope, d_mean, d_rho }.run();
    }

    fn reflect(&self, params: &[f64], z: &mut [f64]) -> bool {
        standard::reflect(&params[..self.dim], z);
        true
    }
}

impl Reparameterised for MeanField {
    fn transport(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) {
        let (mean, rho) = self.parts(params);
        assert_eq!((noise.nrows(), noise.ncols()), (self.dim, z.ncols()), "a noise per column");
        assert_eq!(z.nrows(), self.dim, "a point has the dimension of the family");
        let scales = borrow(&mut work, self.dim);
        self.link.scales_into(rho, scales);
        for j in 0..z.ncols() {
            let (z, noise) = (z.column_mut(j), noise.column(j));
            for i in 0..self.dim {
                z[i] = mean[i] + scales[i] * noise[i];
            }
        }
    }

    fn add_pullbacks(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (_, rho) = self.parts(params);
        assert_eq!((noise.nrows(), noise.ncols()), (self.dim, cotangents.ncols()), "a noise per column");
        assert_eq!(cotangents.nrows(), self.dim, "a cotangent has the dimension of z");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let slope = borrow(&mut work, self.dim);
        self.link.derivatives_into(rho, slope);
        let (d_mean, d_rho) = gradient.split_at_mut(self.dim);
        for j in 0..noise.ncols() {
            let (noise, cotangent) = (noise.column(j), cotangents.column(j));
            for i in 0..self.dim {
                d_mean[i] += cotangent[i];
                d_rho[i] += cotangent[i] * (noise[i] * slope[i]);
            }
        }
    }

    fn add_slopes(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weight: f64,
        mut slopes: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) {
        let (mean, rho) = self.parts(params);
        standard::assert_slopes(self.dim, z, slopes.as_ref());
        let inverse = borrow(&mut work, self.dim);
        self.link.scales_into(rho, inverse);
        inverse.iter_mut().for_each(|scale| *scale = 1.0 / *scale);
        for j in 0..z.ncols() {
            let (slope, z) = (slopes.column_mut(j), z.column(j));
            for i in 0..self.dim {
                slope[i] -= weight * ((z[i] - mean[i]) * inverse[i] * inverse[i]);
            }
        }
    }

    fn entropy(&self, params: &[f64], mut work: &mut [f64]) -> f64 {
        let (_, rho) = self.parts(params);
        let scales = borrow(&mut work, self.dim);
        0.5 * self.dim as f64 - self.log_normalizer(rho, scales, borrow(&mut work, self.dim))
    }

    fn add_entropy_gradient(&self, params: &[f64], weight: f64, gradient: &mut [f64], mut work: &mut [f64]) {
        let (_, rho) = self.parts(params);
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let (scales, slope) = (borrow(&mut work, self.dim), borrow(&mut work, self.dim));
        self.link.scales_into(rho, scales);
        self.link.log_derivatives_into(rho, scales, slope);
        for (gradient, slope) in gradient[self.dim..].iter_mut().zip(slope) {
            *gradient += weight * *slope;
        }
    }
}
