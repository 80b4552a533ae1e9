use faer::{Mat, MatRef};
use mcsa_core::{Error, Gradient, LogDensity, Named, all_finite, borrow, numeric, same_length};

use super::{NoisePrior, WeightPrior};
use crate::support::{HALF_LOG_TAU, decided, log_normal};
use crate::{Constrained, Transform};
use mcsa_core::finite_matrix;

/// Linear regression with noise of unknown scale, as the regressions of `posteriordb`.
///
/// ```text
/// y_i ~ N(x_i' b, sigma^2),   b_k flat or N(m_k, s_k^2),   sigma flat or half-Cauchy
/// z = (b_1, .., b_d, log sigma),   log-Jacobian z_d+1
/// ```
///
/// A density evaluation takes `d^2` operations for any number of rows: with `X = Q R` and the least squares solution `b0`,
///
/// ```text
/// |y - X b|^2 = |R (b - b0)|^2 + |y - X b0|^2
/// ```
///
/// Numerics: `R` comes from a Householder factorisation of `(X, y)`, so that no `X'X` is formed: columns of very different scale, and
/// nearly collinear ones, cost no digits beyond those that the problem itself loses. `-inf`, with gradient 0, where a square or
/// the precision overflows. [`exact`](Self::exact) gives the posterior's moments and quantiles by a quadrature over `log sigma`.
///
/// ```
/// use mcsa_models::{GroundTruth, NoisePrior, UnknownNoiseRegression, WeightPrior};
/// let (x, y) = (faer::Mat::from_fn(6, 1, |_, _| 1.0), [1.0, 3.0, 2.0, 5.0, 4.0, 3.0]);
/// let model = UnknownNoiseRegression::new(x.as_ref(), &y, &[WeightPrior::Flat], NoisePrior::Flat)?;
/// let mean = model.mean().expect("the posterior has a mean");
/// assert!((mean[0] - 3.0).abs() < 1e-12);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct UnknownNoiseRegression {
    pub(super) rows: usize,
    /// Least squares solution.
    pub(super) centre: Vec<f64>,
    /// `R'`: its columns are the rows of `R`.
    pub(super) factor: Mat<f64>,
    /// Sum of squared residuals of the least squares solution.
    pub(super) residual: f64,
    pub(super) weights: Vec<WeightPrior>,
    pub(super) noise: NoisePrior,
}

/// Rows beyond the number of columns with which the posterior has a covariance under every prior.
const SPARE: usize = 4;

impl UnknownNoiseRegression {
    /// A model of features `x` (one row per datum), responses `y`, a prior for each column, and the prior of the noise.
    ///
    /// # Errors
    /// If lengths differ, a number is not finite, a prior is invalid, there are fewer than four rows more than columns, a column is
    /// linearly dependent on those before it, or the responses have no residual.
    pub fn new(
        x: MatRef<'_, f64>,
        y: &[f64],
        weights: &[WeightPrior],
        noise: NoisePrior,
    ) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("UnknownNoiseRegression");
        let (n, d) = (x.nrows(), x.ncols());
        same_length("responses", n, y.len()).map_err(refuse)?;
        same_length("priors of weights", d, weights.len()).map_err(refuse)?;
        finite_matrix("features", x).map_err(refuse)?;
        all_finite("responses", y).map_err(refuse)?;
        weights.iter().try_for_each(|prior| prior.check()).map_err(refuse)?;
        noise.check().map_err(refuse)?;
        if n < d + SPARE {
            let problem =
                format!("{n} rows and {d} columns, expected at least {SPARE} rows more than columns");
            return Err(refuse(Error::invalid(problem)));
        }
        let joined = Mat::from_fn(n, d + 1, |i, k| if k < d { x[(i, k)] } else { y[i] });
        let r = joined.as_ref().qr().thin_R().to_owned();
        let slack = f64::EPSILON * n as f64;
        let norm = |k: usize| joined.col_as_slice(k).iter().map(|x| x * x).sum::<f64>().sqrt();
        // Written so that NaN is refused.
        if let Some(k) = (0..d).find(|&k| !(r[(k, k)].abs() > slack * norm(k))) {
            let problem = format!("column {k} of the features depends linearly on those before it");
            return Err(refuse(Error::invalid(problem)));
        }
        if !(r[(d, d)].abs() > slack * norm(d)) {
            return Err(refuse(Error::invalid("the responses are a linear function of the features")));
        }
        let mut centre = vec![0.0; d];
        for i in (0..d).rev() {
            let later: f64 = (i + 1..d).map(|k| r[(i, k)] * centre[k]).sum();
            centre[i] = (r[(i, d)] - later) / r[(i, i)];
        }
        let factor = Mat::from_fn(d, d, |k, i| if k >= i { r[(i, k)] } else { 0.0 });
        Ok(Self {
            rows: n,
            centre,
            factor,
            residual: r[(d, d)] * r[(d, d)],
            weights: weights.to_vec(),
            noise,
        })
    }

    /// The least squares weights.
    pub fn least_squares(&self) -> &[f64] {
        &self.centre
    }

    /// `w <- R (b - b0)`; returns `|w|^2 + |y - X b0|^2`.
    fn square_into(&self, b: &[f64], w: &mut [f64]) -> f64 {
        w.iter_mut().zip(b.iter().zip(&self.centre)).for_each(|(w, (b, centre))| *w = b - centre);
        for i in 0..w.len() {
            w[i] = numeric::dot(&self.factor.col_as_slice(i)[i..], &w[i..]);
        }
        numeric::dot(w, w) + self.residual
    }

    fn value(&self, z: &[f64], square: f64) -> f64 {
        let (b, u) = z.split_at(self.centre.len());
        let count = self.rows as f64;
        let likelihood = -count * (u[0] + HALF_LOG_TAU) - 0.5 * square * (-2.0 * u[0]).exp();
        let prior: f64 = self.weights.iter().zip(b).map(|(prior, b)| prior.at(*b).0).sum();
        decided(likelihood + prior + self.noise.at(u[0]).0, z)
    }
}

impl LogDensity for UnknownNoiseRegression {
    fn dim(&self) -> usize {
        self.centre.len() + 1
    }

    fn work_len(&self, _: usize) -> usize {
        self.centre.len()
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        assert_eq!(z.len(), self.dim(), "a point of the target's dimension");
        let d = self.centre.len();
        let square = self.square_into(&z[..d], borrow(&mut work, d));
        self.value(z, square)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        let (b, u) = z.split_at(self.centre.len());
        out.vector("weight", b.iter().copied());
        out.push("sigma", u[0].exp());
    }
}

impl Gradient for UnknownNoiseRegression {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        assert!(z.len() == self.dim() && gradient.len() == self.dim(), "points of the target's dimension");
        let d = self.centre.len();
        let (b, u) = z.split_at(d);
        let (slopes, of_noise) = gradient.split_at_mut(d);
        let square = self.square_into(b, slopes);
        let log_p = self.value(z, square);
        if log_p == f64::NEG_INFINITY {
            gradient.fill(0.0);
            return log_p;
        }
        let precision = (-2.0 * u[0]).exp();
        of_noise[0] = square * precision - self.rows as f64 + self.noise.at(u[0]).1;
        // slopes <- R' slopes, from the last row on.
        for k in (0..d).rev() {
            let column = &self.factor.col_as_slice(k)[k..];
            let (above, below) = slopes.split_at_mut(k + 1);
            numeric::axpy(above[k], &column[1..], below);
            above[k] *= column[0];
        }
        for ((slope, prior), b) in slopes.iter_mut().zip(&self.weights).zip(b) {
            *slope = prior.at(*b).1 - precision * *slope;
        }
        log_p
    }
}

impl Constrained for UnknownNoiseRegression {
    fn transform(&self, i: usize) -> Transform {
        if i == self.centre.len() { Transform::Positive } else { Transform::Real }
    }

    fn log_density_at(&self, theta: &[f64]) -> f64 {
        let (b, sigma) = theta.split_at(self.centre.len());
        let row = |i: usize| {
            let off: f64 = (i..b.len()).map(|k| self.factor[(k, i)] * (b[k] - self.centre[k])).sum();
            log_normal(off, sigma[0])
        };
        let rest = self.rows - b.len();
        let residual =
            -(rest as f64) * (sigma[0].ln() + HALF_LOG_TAU) - 0.5 * self.residual / sigma[0].powi(2);
        let prior: f64 = self.weights.iter().zip(b).map(|(prior, b)| prior.at(*b).0).sum();
        (0..b.len()).map(row).sum::<f64>() + residual + prior + self.noise.log_density(sigma[0])
    }
}
