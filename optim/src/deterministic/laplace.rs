//! Gaussian distribution by mean and covariance, and the Laplace approximation: the Gaussian at a mode.

use faer::linalg::solvers::{DenseSolveCore, Llt, LltError};
use faer::{Mat, MatRef, Side};
use mcsa_core::{
    AffineMap, Columns, ColumnsMut, Curvature, Error, Gradient as Differentiable, all_finite, same_length,
};

use super::lbfgs::is_flat;

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

    /// The map `z = mean + L y` from coordinates with mean 0 and covariance I, with [`factor`](Self::factor) L.
    ///
    /// # Errors
    /// As `factor`.
    pub fn map(&self) -> Result<AffineMap, Error> {
        AffineMap::new(self.mean.clone(), self.factor()?)
    }
}

/// Cholesky factorisation; an error if the matrix is not finite or not positive definite.
pub(super) fn cholesky(what: &'static str, matrix: MatRef<'_, f64>) -> Result<Llt<f64>, Error> {
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

/// Laplace approximation (Laplace 1774; Tierney & Kadane 1986).
///
/// ```text
/// q = N(mode, A^-1),   A = -d^2/dz^2 log p(mode),   log Z ~ log p(mode) + (d/2) log 2 pi - (1/2) log det A
/// ```
/// The approximation is exact for a Gaussian. For a smooth model its error decreases like `1/n` with the number `n` of data. It
/// depends on the curvature at one mode, not on the mass around it. A point is not accepted as a mode in two cases:
///
/// * The Newton step from it, `A^-1 d/dz log p`, is longer than a tenth of a standard deviation of q. Then the maximisation has
///   not converged, or gradient and Hessian belong to different functions.
/// * The top is flat. This is tested where a standard deviation of q exceeds `10 (1 + |z|)` in a coordinate `z` of the mode. At
///   the distance `10 (1 + |z|)` the density must have fallen as the curvature says.
///
/// ```
/// use mcsa_core::from_fn;
/// use mcsa_optim::deterministic::{Laplace, Lbfgs};
/// let wide = from_fn(1, |z| -0.5 * (z[0] - 1.0).powi(2) / 9.0).with_gradient(|z, slope| slope[0] = -(z[0] - 1.0) / 9.0);
/// let mode = Lbfgs::default().mode(&wide, &[30.0])?.converged()?;
/// let laplace = Laplace::by_differences(&wide, &mode.point)?;
/// assert!((laplace.gaussian.scales()[0] - 3.0).abs() < 1e-6);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Laplace {
    /// The Gaussian approximation.
    pub gaussian: Gaussian,
    /// The approximation of `log Z`, the log of the target's mass.
    pub log_evidence: f64,
}

impl Laplace {
    /// The approximation at `mode`, with the Hessian from Hessian-vector products, column by column.
    ///
    /// # Errors
    /// If the mode has another dimension than the target, if the density, its gradient or the Hessian is not finite there, if minus
    /// the Hessian is not positive definite, if the Newton step from the point is too long for a mode, or if the top is flat.
    pub fn at<P: Curvature + ?Sized>(target: &P, mode: &[f64]) -> Result<Self, Error> {
        let mut work = vec![0.0; target.work_len(1)];
        let mut unit = vec![0.0; mode.len()];
        Self::with_columns(target, mode, &mut |k, column| {
            unit.fill(0.0);
            unit[k] = 1.0;
            target.hessian_vector_into(mode, &unit, column, &mut work);
        })
    }

    /// The approximation at `mode`, with the Hessian by central differences of the gradient: `2 d` gradients, about nine good
    /// digits.
    pub fn by_differences<P: Differentiable + ?Sized>(target: &P, mode: &[f64]) -> Result<Self, Error> {
        let mut work = vec![0.0; target.work_len(1)];
        let (mut z, mut behind) = (mode.to_vec(), vec![0.0; mode.len()]);
        Self::with_columns(target, mode, &mut |k, ahead| {
            // The cube root of the machine epsilon: truncation and rounding have errors of similar size.
            let width = f64::EPSILON.cbrt() * mode[k].abs().max(1.0);
            // Rounded so that the divisor is the actual distance of the points.
            let width = (mode[k] + width) - mode[k];
            z[k] = mode[k] + width;
            target.gradient_into(&z, ahead, &mut work);
            z[k] = mode[k] - width;
            target.gradient_into(&z, &mut behind, &mut work);
            z[k] = mode[k];
            ahead
                .iter_mut()
                .zip(&behind)
                .for_each(|(ahead, behind)| *ahead = (*ahead - behind) / (2.0 * width));
        })
    }

    fn with_columns<P: Differentiable + ?Sized>(
        target: &P,
        mode: &[f64],
        column_into: &mut dyn FnMut(usize, &mut [f64]),
    ) -> Result<Self, Error> {
        let within = |error: Error| error.within("Laplace");
        let dim = target.dim();
        same_length("mode", dim, mode.len()).map_err(within)?;
        all_finite("mode", mode).map_err(within)?;
        let log_p = target.log_density(mode, &mut vec![0.0; target.work_len(1)]);
        if !log_p.is_finite() {
            return Err(within(Error::parameter("log density at the mode", log_p, "finite")));
        }
        let mut hessian = Mat::zeros(dim, dim);
        for k in 0..dim {
            column_into(k, hessian.as_mut().column_mut(k));
            all_finite("Hessian column", hessian.as_ref().column(k)).map_err(within)?;
        }
        let precision = Mat::from_fn(dim, dim, |i, j| -0.5 * (hessian[(i, j)] + hessian[(j, i)]));
        let llt = cholesky("minus the Hessian", precision.as_ref()).map_err(within)?;
        let mut gradient = vec![0.0; dim];
        target.gradient_into(mode, &mut gradient, &mut vec![0.0; target.work_len(1)]);
        all_finite("gradient", &gradient).map_err(within)?;
        let covariance = llt.inverse();
        let square: f64 = (0..dim)
            .map(|j| gradient[j] * (0..dim).map(|i| covariance[(i, j)] * gradient[i]).sum::<f64>())
            .sum();
        // Written so that NaN is refused.
        if !(square.sqrt() <= LONGEST_STEP) {
            return Err(within(Error::invalid(format!(
                "the point is no mode: Newton's step from it is {:.2e} standard deviations long; climb on, as by Lbfgs::mode",
                square.sqrt()
            ))));
        }
        // Axes: the regression of all coordinates on one of them.
        let axes = (0..dim).map(|k| {
            let sd = covariance[(k, k)].sqrt();
            covariance.col_as_slice(k).iter().map(|c| c / sd).collect()
        });
        let fall = |z: &[f64]| log_p - target.log_density(z, &mut vec![0.0; target.work_len(1)]);
        if is_flat(mode, axes, fall) {
            let reason = "the top is flat: the density around it does not fall as its curvature says";
            return Err(within(Error::invalid(reason)));
        }
        let half_log_det: f64 = (0..dim).map(|k| llt.L()[(k, k)].ln()).sum();
        let half_log_tau = 0.5 * std::f64::consts::TAU.ln();
        let gaussian = Gaussian { mean: mode.to_vec(), covariance };
        Ok(Self { gaussian, log_evidence: log_p + dim as f64 * half_log_tau - half_log_det })
    }
}

/// Largest length of the Newton step from a mode, in standard deviations.
const LONGEST_STEP: f64 = 0.1;
