use std::f64::consts::PI;

use faer::linalg::solvers::{Llt, LltError, Solve};
use faer::{Mat, MatRef, Side};
use mcsa_core::{
    Curvature, Error, ExactDraws, Gradient, LogDensity, Named, Part, Separable, Stream, Subsampled, borrow,
    numeric,
};
use mcsa_numeric::design::Rows;

use crate::Gaussian;
use crate::support::{decided, decided_with, positive, row_at, rows_and_responses, sweep};

/// Bayesian linear regression with known noise and independent normal weights: a posterior from data with exact answers.
///
/// ```text
/// z ~ N(0, s^2 I),   y_i ~ N(x_i' z, r^2)
/// z | y ~ N(m, P^-1),   P = X'X / r^2 + I / s^2,   m = P^-1 X'y / r^2
/// log p(z) = log p(y) + log N(z; m, P^-1)
/// ```
///
/// There is one weight per column of `x`; for an intercept, put a column of ones in front. The weights are unconstrained, without
/// transform or Jacobian. The density is evaluated in the last form, from the factor `P = L L'`. This takes `d^2` operations for
/// any number of data, and nothing cancels. Where the square overflows, the density is `-inf` and the gradient 0.
///
/// ```
/// use mcsa_core::LogDensity;
/// use mcsa_models::LinearRegression;
/// let target = LinearRegression::new(faer::mat![[1.0], [1.0]].as_ref(), &[1.0, 3.0], 1.0, 1.0)?;
/// assert!((target.posterior()?.mean()[0] - 4.0 / 3.0).abs() < 1e-15);
/// let mut work = vec![0.0; target.work_len(1)];
/// let at_zero = target.log_density(&[0.0], &mut work);
/// assert!((at_zero + 0.5 * 10.0 + 1.5 * (2.0 * std::f64::consts::PI).ln()).abs() < 1e-14);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LinearRegression {
    x: Rows,
    y: Vec<f64>,
    noise_scale: f64,
    prior_scale: f64,
    mean: Vec<f64>,
    /// Cholesky factor of the posterior precision.
    factor: Mat<f64>,
    log_evidence: f64,
    log_normaliser: f64,
}

impl LinearRegression {
    /// A model of features `x` (one row per datum), responses `y`, and the standard deviations `r` of the noise and `s` of a
    /// weight.
    ///
    /// # Errors
    /// If the number of responses is not the number of rows, a number is not finite, a standard deviation is not positive, or the
    /// posterior precision is not positive definite in double precision.
    pub fn new(x: MatRef<'_, f64>, y: &[f64], noise_scale: f64, prior_scale: f64) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("LinearRegression");
        rows_and_responses(x, y).map_err(refuse)?;
        for (name, scale) in [("noise scale", noise_scale), ("prior scale", prior_scale)] {
            positive(name, scale).map_err(refuse)?;
        }
        let (n, d) = (x.nrows(), x.ncols());
        let weight = noise_scale.powi(-2);
        let mut precision = x.transpose() * x * faer::Scale(weight);
        for k in 0..d {
            precision[(k, k)] += prior_scale.powi(-2);
        }
        let llt =
            Llt::new(precision.as_ref(), Side::Lower).map_err(|LltError::NonPositivePivot { index }| {
                refuse(Error::NotPositiveDefinite { what: "posterior precision", pivot: index })
            })?;
        let mut mean: Vec<f64> =
            (0..d).map(|k| weight * x.col(k).iter().zip(y).map(|(x, y)| x * y).sum::<f64>()).collect();
        llt.solve_in_place(faer::MatMut::from_column_major_slice_mut(&mut mean, d, 1));
        let factor = llt.L().to_owned();
        let log_det: f64 = (0..d).map(|k| factor[(k, k)].ln()).sum();
        let log_normaliser = log_det - 0.5 * d as f64 * (2.0 * PI).ln();
        let x = Rows::from_fn(n, d, |i, k| x[(i, k)]);
        let mut target = Self {
            x,
            y: y.to_vec(),
            noise_scale,
            prior_scale,
            mean,
            factor,
            log_evidence: 0.0,
            log_normaliser,
        };
        let at_mean = target.prior(&target.mean) + target.likelihood(None, &target.mean, None);
        target.log_evidence = at_mean - log_normaliser;
        Ok(target)
    }

    /// The posterior `N(m, P^-1)`, normalised.
    ///
    /// # Errors
    /// If the covariance, computed from the precision, is not positive definite in double precision.
    pub fn posterior(&self) -> Result<Gaussian, Error> {
        let d = self.dim();
        let mut covariance = Mat::identity(d, d);
        faer::linalg::triangular_solve::solve_lower_triangular_in_place(
            self.factor.as_ref(),
            covariance.as_mut(),
            faer::Par::Seq,
        );
        let covariance = covariance.transpose() * &covariance;
        Gaussian::new(self.mean.clone(), covariance.as_ref())
            .map_err(|error| error.within("LinearRegression"))
    }

    /// Log evidence `log p(y)`, the log of the integral of the density.
    pub fn log_evidence(&self) -> f64 {
        self.log_evidence
    }

    fn prior(&self, z: &[f64]) -> f64 {
        let square = numeric::dot(z, z) / self.prior_scale.powi(2);
        -0.5 * square - z.len() as f64 * (self.prior_scale.ln() + 0.5 * (2.0 * PI).ln())
    }

    /// Log likelihood of some rows, or of all; with a gradient, `scale` times its own is added to that.
    fn likelihood(&self, rows: Option<&[usize]>, z: &[f64], gradient: Option<(f64, &mut [f64])>) -> f64 {
        let count = rows.map_or(self.y.len(), <[usize]>::len) as f64;
        let (scale, gradient) = gradient.unzip();
        let rate = scale.unwrap_or(0.0) / self.noise_scale;
        let mut total = 0.0;
        sweep(&self.x, rows, [z], gradient, |first, [errors]| {
            for (b, t) in errors.iter_mut().enumerate() {
                *t = (self.y[row_at(rows, first + b)] - *t) / self.noise_scale;
            }
            total += numeric::dot(errors, errors);
            errors.iter_mut().for_each(|error| *error *= rate);
        });
        -0.5 * total - count * (self.noise_scale.ln() + 0.5 * (2.0 * PI).ln())
    }

    /// `y <- L' y`.
    fn whiten(&self, y: &mut [f64]) {
        for k in 0..y.len() {
            y[k] = numeric::dot(&self.factor.col_as_slice(k)[k..], &y[k..]);
        }
    }

    /// `y <- L y`.
    fn colour(&self, y: &mut [f64]) {
        for k in (0..y.len()).rev() {
            let column = self.factor.col_as_slice(k);
            let (above, below) = y.split_at_mut(k + 1);
            numeric::axpy(above[k], &column[k + 1..], below);
            above[k] *= column[k];
        }
    }

    fn whitened_into(&self, z: &[f64], y: &mut [f64]) -> f64 {
        for ((y, z), mean) in y.iter_mut().zip(z).zip(&self.mean) {
            *y = z - mean;
        }
        self.whiten(y);
        decided(self.log_evidence + self.log_normaliser - 0.5 * numeric::dot(y, y), z)
    }
}

impl LogDensity for LinearRegression {
    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn work_len(&self, _: usize) -> usize {
        self.dim()
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        assert_eq!(z.len(), self.dim(), "a point of the target's dimension");
        self.whitened_into(z, borrow(&mut work, z.len()))
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        out.vector("weight", z.iter().copied());
    }
}

impl Gradient for LinearRegression {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        assert!(z.len() == self.dim() && gradient.len() == self.dim(), "points of the target's dimension");
        let log_p = self.whitened_into(z, gradient);
        self.colour(gradient);
        gradient.iter_mut().for_each(|g| *g = -*g);
        decided_with(log_p, z, gradient)
    }
}

impl Curvature for LinearRegression {
    fn hessian_vector_into(&self, _: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(v);
        self.whiten(out);
        self.colour(out);
        out.iter_mut().for_each(|x| *x = -*x);
    }
}

impl Separable for LinearRegression {
    fn num_data(&self) -> usize {
        self.y.len()
    }

    fn log_prior(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.prior(z)
    }

    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], _: &mut [f64]) -> f64 {
        self.likelihood(Some(rows), z, None)
    }
}

impl Subsampled for LinearRegression {
    fn rows_work_len(&self, _: usize) -> usize {
        0
    }

    fn prior_gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        gradient.iter_mut().zip(z).for_each(|(g, z)| *g = -z / self.prior_scale.powi(2));
        self.prior(z)
    }

    fn add_gradient_at(&self, part: Part<'_>, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        self.likelihood(Some(part.rows), z, Some((part.scale, gradient)))
    }

    fn prior_hessian_vector_into(&self, _: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.iter_mut().zip(v).for_each(|(out, v)| *out = -v / self.prior_scale.powi(2));
    }

    fn add_hessian_vector_at(&self, part: Part<'_>, _: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        let factor = -part.scale / self.noise_scale.powi(2);
        sweep(&self.x, Some(part.rows), [v], Some(out), |_, [along]| {
            along.iter_mut().for_each(|along| *along *= factor);
        });
    }
}

impl ExactDraws for LinearRegression {
    /// Exact draw `m + L'^-1 e`, `e ~ N(0, I)`.
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        stream.normals_into(z);
        for k in (0..z.len()).rev() {
            let column = self.factor.col_as_slice(k);
            z[k] = (z[k] - numeric::dot(&column[k + 1..], &z[k + 1..])) / column[k];
        }
        for (z, mean) in z.iter_mut().zip(&self.mean) {
            *z += mean;
        }
    }
}
