//! Probabilistic principal component analysis: latent factors per datum, with learnable loadings.

use std::f64::consts::PI;

use crate::{Blocks, Learnable};
use faer::linalg::solvers::Solve;
use faer::{Mat, MatRef, Side};
use mcsa_core::numeric::{axpy, dot};
use mcsa_core::{Columns, Error, all_finite, borrow};

use crate::support::HALF_LOG_TAU;

/// Probabilistic principal component analysis (Tipping & Bishop 1999): a few factors per datum, equal noise in all coordinates.
///
/// ```text
/// z_i ~ N(0, I_k),    x_i | z_i ~ N(c + A z_i, s^2 I_p),    theta = [A column by column; c; log s]
/// z_i | x_i ~ N(M^-1 A^T (x_i - c) / s^2, M^-1),    M = I + A^T A / s^2
/// log p_theta(x) and its maximum over theta in closed form, from the eigenvalues of the sample covariance
/// ```
///
/// The posterior of each datum is a Gaussian whose mean is linear in the datum. An amortised family
/// can therefore be exact, and the maximum likelihood of theta is known. Only `A A^T` is identified: A is free up to a rotation.
///
/// ```
/// use mcsa_models::{Blocks, Learnable};
/// let data = faer::mat![[1.0, -1.0, 0.5], [0.8, -1.1, 0.4]];
/// let model = mcsa_models::FactorAnalysis::new(data, 1)?;
/// let theta = [1.0, 1.0, 0.0, 0.0, -1.0];
/// let blocks = model.at(&theta);
/// assert_eq!((blocks.num_blocks(), blocks.block_dim()), (3, 1));
/// assert!(model.log_evidence(&theta)? <= model.largest_log_evidence()?);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FactorAnalysis {
    data: Mat<f64>,
    factors: usize,
}

/// The parts of theta.
#[derive(Clone, Copy)]
struct Parts<'a> {
    loadings: &'a [f64],
    centre: &'a [f64],
    log_scale: f64,
}

impl FactorAnalysis {
    /// A model of `data`, one datum per column, with the number of factors.
    ///
    /// # Errors
    /// If a number is not finite, there is no datum, no factor, or not fewer factors than coordinates.
    pub fn new(data: Mat<f64>, factors: usize) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("FactorAnalysis");
        (0..data.ncols()).try_for_each(|j| all_finite("a datum", data.as_ref().column(j))).map_err(refuse)?;
        if data.ncols() == 0 {
            return Err(refuse(Error::invalid("no data")));
        }
        if factors == 0 || factors >= data.nrows() {
            let expected = "at least 1, and fewer than coordinates";
            return Err(refuse(Error::parameter("factors", factors as f64, expected)));
        }
        Ok(Self { data, factors })
    }

    /// The data, one datum per column.
    pub fn data(&self) -> MatRef<'_, f64> {
        self.data.as_ref()
    }

    fn parts<'a>(&self, theta: &'a [f64]) -> Parts<'a> {
        assert_eq!(theta.len(), self.num_thetas(), "loadings, centre and log scale");
        let (loadings, rest) = theta.split_at(self.data.nrows() * self.factors);
        Parts { loadings, centre: &rest[..self.data.nrows()], log_scale: rest[self.data.nrows()] }
    }

    /// Posterior mean and covariance of the factors of datum `row`.
    ///
    /// # Errors
    /// If theta is invalid, or there is no such datum.
    pub fn posterior(&self, theta: &[f64], row: usize) -> Result<(Vec<f64>, Mat<f64>), Error> {
        self.check_theta(theta)?;
        if row >= self.data.ncols() {
            return Err(Error::invalid(format!("no datum {row}")).within("FactorAnalysis"));
        }
        let Parts { loadings, centre, log_scale } = self.parts(theta);
        let (p, k) = (self.data.nrows(), self.factors);
        let a = MatRef::from_column_major_slice(loadings, p, k);
        let precision = (-2.0 * log_scale).exp();
        let information = Mat::<f64>::identity(k, k) + a.transpose() * a * faer::Scale(precision);
        let factor = information.llt(Side::Lower).map_err(|_| singular())?;
        let covariance = factor.solve(Mat::<f64>::identity(k, k));
        let shifted = Mat::from_fn(p, 1, |i, _| self.data[(i, row)] - centre[i]);
        let mean = &covariance * (a.transpose() * shifted) * faer::Scale(precision);
        Ok((mean.col_as_slice(0).to_vec(), covariance))
    }

    /// Log evidence `log p_theta(x)` of all data.
    ///
    /// # Errors
    /// If theta is invalid or its covariance is singular.
    pub fn log_evidence(&self, theta: &[f64]) -> Result<f64, Error> {
        self.check_theta(theta)?;
        let Parts { loadings, centre, log_scale } = self.parts(theta);
        let (p, n) = (self.data.nrows(), self.data.ncols());
        let a = MatRef::from_column_major_slice(loadings, p, self.factors);
        let covariance =
            a * a.transpose() + Mat::<f64>::identity(p, p) * faer::Scale((2.0 * log_scale).exp());
        let shifted = Mat::from_fn(p, n, |i, j| self.data[(i, j)] - centre[i]);
        let factor = covariance.llt(Side::Lower).map_err(|_| singular())?;
        let log_det: f64 = (0..p).map(|i| 2.0 * factor.L()[(i, i)].ln()).sum();
        let solved = factor.solve(&shifted);
        let square: f64 = (0..n).map(|j| dot(shifted.col_as_slice(j), solved.col_as_slice(j))).sum();
        Ok(-0.5 * (n as f64 * (log_det + p as f64 * (2.0 * PI).ln()) + square))
    }

    /// Maximum of the log evidence over theta, with the discarded eigenvalues all replaced by their mean (Tipping & Bishop 1999).
    ///
    /// # Errors
    /// If the data lie in a subspace of so low a dimension that the log evidence is unbounded.
    pub fn largest_log_evidence(&self) -> Result<f64, Error> {
        let (p, n) = (self.data.nrows(), self.data.ncols());
        let mean: Vec<f64> =
            (0..p).map(|i| (0..n).map(|j| self.data[(i, j)]).sum::<f64>() / n as f64).collect();
        let shifted = Mat::from_fn(p, n, |i, j| self.data[(i, j)] - mean[i]);
        let covariance = &shifted * shifted.transpose() * faer::Scale(1.0 / n as f64);
        let mut values = covariance.self_adjoint_eigenvalues(Side::Lower).map_err(|_| singular())?;
        values.sort_by(|a, b| b.total_cmp(a));
        let (kept, discarded) = values.split_at(self.factors);
        let noise = discarded.iter().sum::<f64>() / discarded.len() as f64;
        // Written so that NaN is refused.
        if !(noise > 1e-12 * values[0]) {
            return Err(singular());
        }
        let logs: f64 = kept.iter().map(|value| value.max(noise).ln()).sum();
        let total = logs + discarded.len() as f64 * noise.ln() + p as f64 * ((2.0 * PI).ln() + 1.0);
        Ok(-0.5 * n as f64 * total)
    }

    /// Writes `x_i - c - A z`.
    fn residual(&self, Parts { loadings, centre, .. }: Parts<'_>, row: usize, z: &[f64], out: &mut [f64]) {
        for ((out, x), c) in out.iter_mut().zip(self.data.col_as_slice(row)).zip(centre) {
            *out = x - c;
        }
        for (loading, &z) in loadings.chunks_exact(out.len()).zip(z) {
            axpy(-z, loading, out);
        }
    }
}

fn singular() -> Error {
    Error::invalid("the covariance is singular").within("FactorAnalysis")
}

/// Factor analysis at fixed parameters theta.
#[derive(Debug, Clone, Copy)]
pub struct FactorBlocks<'a> {
    model: &'a FactorAnalysis,
    /// Empty if dimensions alone are needed.
    theta: &'a [f64],
}

impl Blocks for FactorBlocks<'_> {
    fn num_blocks(&self) -> usize {
        self.model.data.ncols()
    }

    fn block_dim(&self) -> usize {
        self.model.factors
    }

    fn work_len(&self, _: usize) -> usize {
        self.model.data.nrows()
    }

    fn log_blocks(&self, rows: &[usize], z: MatRef<'_, f64>, out: &mut [f64], mut work: &mut [f64]) {
        let FactorBlocks { model, theta } = self;
        let parts = model.parts(theta);
        assert_eq!((z.nrows(), z.ncols()), (model.factors, rows.len()), "a point per row");
        let residual = borrow(&mut work, model.data.nrows());
        let precision = (-2.0 * parts.log_scale).exp();
        let p = model.data.nrows() as f64;
        let peak = -(p + model.factors as f64) * HALF_LOG_TAU - p * parts.log_scale;
        for (k, (&row, out)) in rows.iter().zip(out).enumerate() {
            let z = z.column(k);
            model.residual(parts, row, z, residual);
            *out = peak - 0.5 * (dot(z, z) + precision * dot(residual, residual));
        }
    }
}

impl Learnable for FactorAnalysis {
    type At<'a> = FactorBlocks<'a>;

    fn num_thetas(&self) -> usize {
        self.data.nrows() * (self.factors + 1) + 1
    }

    fn at<'a>(&'a self, theta: &'a [f64]) -> FactorBlocks<'a> {
        FactorBlocks { model: self, theta }
    }

    fn anywhere(&self) -> FactorBlocks<'_> {
        self.at(&[])
    }

    fn add_theta_gradients(
        &self,
        theta: &[f64],
        rows: &[usize],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let parts = self.parts(theta);
        let p = self.data.nrows();
        assert_eq!((z.nrows(), z.ncols()), (self.factors, rows.len()), "a point per row");
        assert_eq!((weights.len(), gradient.len()), (rows.len(), theta.len()), "a weight per row");
        let residual = borrow(&mut work, p);
        let precision = (-2.0 * parts.log_scale).exp();
        let (d_loadings, rest) = gradient.split_at_mut(p * self.factors);
        let (d_centre, d_log_scale) = rest.split_at_mut(p);
        for (k, (&row, &weight)) in rows.iter().zip(weights).enumerate() {
            let z = z.column(k);
            self.residual(parts, row, z, residual);
            let scaled = weight * precision;
            for (d_loading, &z) in d_loadings.chunks_exact_mut(p).zip(z) {
                axpy(scaled * z, residual, d_loading);
            }
            axpy(scaled, residual, d_centre);
            d_log_scale[0] += weight * (precision * dot(residual, residual) - p as f64);
        }
    }
}
