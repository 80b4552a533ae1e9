//! Gaussian process models: classification, and regression with Student t noise.

mod field;
mod matern;

use std::f64::consts::PI;

use faer::MatRef;
use mcsa_core::numeric::scalar::{digamma, ln_gamma};
use mcsa_core::{Error, Gradient, LogDensity, Named, all_finite, borrow, numeric, same_length};

use crate::student_errors::MOST;
use crate::support::{decided, decided_with, log_normal, zeros_and_ones};
use crate::{Factor, Link, Logistic};
use field::{Field, Layout};

/// Gaussian process classification with logistic link and Matern 5/2 covariance. (MCMC-SE)
///
/// ```text
/// log a, log s, log l_k ~ N(0, 1),   f ~ N(0, a^2 k(x / l) + (s^2 + 1e-6) I),   P(y_i = 1) = 1/(1 + e^-f_i)
/// k = (1 + r sqrt 5 + 5 r^2/3) e^(-r sqrt 5),   r^2 = sum_k (x_ik - x_jk)^2 / l_k^2
/// z = (log a, log s, log l, f),   dimension 2 + d + n;  the priors are on logarithms: no Jacobian
/// ```
///
/// Unlike the paper, `r` is the root of the sum of squares and the amplitude is squared, as in the source code.
///
/// The density is `-inf` and the gradient 0 where `log a` or `log s` is above 300, or the covariance has no Cholesky factor in
/// double precision. The latter happens at an amplitude of more than some 1e4 with long lengths and a small nugget.
///
/// ```
/// use mcsa_core::LogDensity;
/// use mcsa_models::GaussianProcessClassification;
/// let x = faer::mat![[0.0], [1.0], [2.5]];
/// let target = GaussianProcessClassification::new(x.as_ref(), &[1.0, 1.0, 0.0])?;
/// assert_eq!(target.dim(), 2 + 1 + 3);
/// let mut work = vec![0.0; target.work_len(1)];
/// assert!(target.log_density(&[0.0, 0.0, 0.0, 0.5, 0.5, -0.5], &mut work).is_finite());
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GaussianProcessClassification {
    field: Field,
    signs: Vec<f64>,
}

impl GaussianProcessClassification {
    /// A model of features `x` (one row per datum) and labels 0 or 1.
    ///
    /// # Errors
    /// If the number of labels is not the number of rows, a label is neither 0 nor 1, a number is not finite, or there are more
    /// than 8128 rows, no row, or no feature.
    pub fn new(x: MatRef<'_, f64>, labels: &[f64]) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("GaussianProcessClassification");
        same_length("labels", x.nrows(), labels.len()).map_err(refuse)?;
        all_finite("labels", labels).map_err(refuse)?;
        zeros_and_ones(labels).map_err(refuse)?;
        let layout = Layout { model: "GaussianProcessClassification", amplitude: 0, nugget: 1, lengths: 2 };
        let field = Field::new(x, layout).map_err(refuse)?;
        Ok(Self { field, signs: labels.iter().map(|y| 2.0 * y - 1.0).collect() })
    }

    /// `log N(.; 0, I)` of the scales.
    fn hyperprior(&self, z: &[f64]) -> f64 {
        let scales = &z[..self.field.first()];
        -0.5 * (numeric::dot(scales, scales) + scales.len() as f64 * (2.0 * PI).ln())
    }

    fn margins<'a>(&self, f: &[f64], margins: &'a mut [f64]) -> &'a mut [f64] {
        for ((t, f), sign) in margins.iter_mut().zip(f).zip(&self.signs) {
            *t = f * sign;
        }
        margins
    }

    /// Predictive log odds of label 1 at each row of `x`, from the means and variances of `z` under an approximation `q`.
    ///
    /// ```text
    /// m* = k*' K^-1 m_f,   v* = a^2 + s^2 + 1e-6 - k*' K^-1 k* + k*' K^-1 S_f K^-1 k*,   odds m* / sqrt(1 + pi v*/8)
    /// ```
    /// The scales are fixed at their means. The variance of `f` under `q` adds to the variance of a prediction. In the paper's
    /// source code one version left it out, and in another a broader `q` gave a narrower prediction.
    ///
    /// # Errors
    /// If the covariance at the mean has no Cholesky factor.
    pub fn log_odds_from_moments(
        &self,
        x: MatRef<'_, f64>,
        mean: &[f64],
        variance: &[f64],
        out: &mut [f64],
    ) -> Result<(), Error> {
        for (out, (m, v)) in out.iter_mut().zip(self.field.predict(x, mean, variance)?) {
            *out = Logistic::log_odds_of_normal(m, v);
        }
        Ok(())
    }
}

impl LogDensity for GaussianProcessClassification {
    fn dim(&self) -> usize {
        self.field.dim()
    }

    fn work_len(&self, _: usize) -> usize {
        self.field.work_len() + 2 * self.signs.len()
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        assert_eq!(z.len(), self.dim(), "a point of the target's dimension");
        let f = &z[self.field.first()..];
        let margins = borrow(&mut work, f.len());
        let field = self.field.log_density(z, None, work);
        decided(self.hyperprior(z) + field + Logistic::SUM_LOG(self.margins(f, margins)), z)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        out.push("amplitude", z[0].exp());
        out.push("nugget", z[1].exp());
        let (lengths, f) = z[2..].split_at(self.field.features());
        out.vector("length", lengths.iter().map(|l| l.exp()));
        out.vector("f", f.iter().copied());
    }
}

impl Gradient for GaussianProcessClassification {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], mut work: &mut [f64]) -> f64 {
        assert!(z.len() == self.dim() && gradient.len() == self.dim(), "points of the target's dimension");
        let (first, f) = (self.field.first(), &z[self.field.first()..]);
        let margins = borrow(&mut work, f.len());
        let likelihood = borrow(&mut work, f.len());
        let field = self.field.log_density(z, Some(&mut *gradient), work);
        let sum = Logistic::SUM_LOG_WITH_SLOPES(self.margins(f, margins), likelihood);
        let (head, of_f) = gradient.split_at_mut(first);
        for (g, z) in head.iter_mut().zip(z) {
            *g -= z;
        }
        for ((g, slope), sign) in of_f.iter_mut().zip(likelihood).zip(&self.signs) {
            *g += *slope * sign;
        }
        decided_with(self.hyperprior(z) + field + sum, z, gradient)
    }
}

/// Gaussian process regression with Student t noise. (pMCSA)
///
/// ```text
/// log eps_y, log eps_f, log a ~ N(0, 4^2),   log l_k ~ N(0, 0.2^2),   nu ~ Gamma(4, rate 1/10)
/// f ~ N(0, a^2 k(x / l) + (eps_f^2 + 1e-6) I),   (y_i - f_i) / eps_y ~ t_nu
/// z = (log eps_y, log eps_f, log a, log nu, log l, f),   log-Jacobian log nu,   dimension 4 + d + n
/// ```
/// The kernel `k` is that of [`GaussianProcessClassification`](crate::GaussianProcessClassification).
///
/// Unlike in the paper's source code, the density of `nu` is turned into one of `log nu` by its Jacobian, and `nu` may be
/// below 1. The paper leaves open whether 4 is a variance; it is the standard deviation in that code and here.
///
/// The density is `-inf` and the gradient 0 where the covariance has no Cholesky factor in double precision, `log eps_f` or
/// `log a` is above 300, or `log eps_y` or `log nu` is beyond +-300.
///
/// ```
/// use mcsa_core::LogDensity;
/// use mcsa_models::RobustGaussianProcess;
/// let x = faer::mat![[0.0], [1.0], [2.5]];
/// let target = RobustGaussianProcess::new(x.as_ref(), &[0.3, 0.1, -2.0])?;
/// assert_eq!(target.dim(), 4 + 1 + 3);
/// let mut work = vec![0.0; target.work_len(1)];
/// assert!(target.log_density(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.2, 0.1, -0.5], &mut work).is_finite());
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RobustGaussianProcess {
    field: Field,
    y: Vec<f64>,
}

/// Standard deviations of the priors of `log eps_y`, `log eps_f`, `log a`, and of a log length. (pMCSA)
const WIDE: f64 = 4.0;
const NARROW: f64 = 0.2;
/// Shape and rate of the prior of `nu`. (pMCSA)
const SHAPE: f64 = 4.0;
const RATE: f64 = 0.1;
/// Index in `z` of the first log length.
const LENGTHS: usize = 4;

impl RobustGaussianProcess {
    /// A model of features `x` (one row per datum) and responses `y`.
    ///
    /// # Errors
    /// If the number of responses is not the number of rows, a number is not finite, or there are more than 8128 rows, no row, or
    /// no feature.
    pub fn new(x: MatRef<'_, f64>, y: &[f64]) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("RobustGaussianProcess");
        same_length("responses", x.nrows(), y.len()).map_err(refuse)?;
        all_finite("responses", y).map_err(refuse)?;
        let layout = Layout { model: "RobustGaussianProcess", amplitude: 2, nugget: 1, lengths: LENGTHS };
        let field = Field::new(x, layout).map_err(refuse)?;
        Ok(Self { field, y: y.to_vec() })
    }

    /// Log prior of the scales and of `nu`, with the log-Jacobian; its gradient is added to `slopes`.
    fn hyperprior(&self, z: &[f64], slopes: Option<&mut [f64]>) -> f64 {
        let lengths = LENGTHS..self.field.first();
        let nu = z[3].exp();
        let log_nu = SHAPE * RATE.ln() - 6.0_f64.ln() + SHAPE * z[3] - RATE * nu;
        if let Some(slopes) = slopes {
            for (slope, &u) in slopes.iter_mut().zip(&z[..3]) {
                *slope -= u / (WIDE * WIDE);
            }
            slopes[3] += SHAPE - RATE * nu;
            for (slope, &u) in slopes[lengths.clone()].iter_mut().zip(&z[lengths.clone()]) {
                *slope -= u / (NARROW * NARROW);
            }
        }
        let scales = |s: f64, u: &[f64]| u.iter().map(|&u| log_normal(u, s)).sum::<f64>();
        log_nu + scales(WIDE, &z[..3]) + scales(NARROW, &z[lengths])
    }

    /// `sum_i log t_nu(r_i) - n log eps`, `r = (y - f) / eps`; leaves `r^2` in `squares` and `log(1 + r^2/nu)` in `logs`.
    fn likelihood(&self, z: &[f64], squares: &mut [f64], logs: &mut [f64]) -> f64 {
        let (log_eps, log_nu) = (z[0], z[3]);
        if !(log_eps.abs() <= MOST && log_nu.abs() <= MOST) {
            return f64::NEG_INFINITY;
        }
        let (rate, nu) = ((-log_eps).exp(), log_nu.exp());
        for ((square, log), (y, f)) in
            squares.iter_mut().zip(&mut *logs).zip(self.y.iter().zip(&z[self.field.first()..]))
        {
            let r = (y - f) * rate;
            *square = r * r;
            *log = *square / nu;
        }
        numeric::ln_1p(logs);
        let constant = ln_gamma(0.5 * (nu + 1.0)) - ln_gamma(0.5 * nu) - 0.5 * (log_nu + PI.ln()) - log_eps;
        self.y.len() as f64 * constant - 0.5 * (nu + 1.0) * numeric::sum(logs)
    }

    /// Predictive mean and variance of the field at each row of `x`, from the means and variances of `z` under an approximation
    /// `q`, with the scales fixed at their means.
    ///
    /// ```text
    /// m* = k*' K^-1 m_f,   v* = a^2 + eps_f^2 + 1e-6 - k*' K^-1 k* + k*' K^-1 S_f K^-1 k*
    /// ```
    /// Unlike in the paper's source code, a broader `q` gives a broader prediction, and `eps_f^2` is part of the variance of a
    /// new point. That code has `(K + S_f^-1)^-1` in the place of `K^-1 - K^-1 S_f K^-1`: the formula of Laplace's method with a
    /// variance in the place of a curvature.
    ///
    /// # Errors
    /// If the covariance at the mean has no Cholesky factor.
    pub fn predict_from_moments(
        &self,
        x: MatRef<'_, f64>,
        mean: &[f64],
        variance: &[f64],
    ) -> Result<Vec<(f64, f64)>, Error> {
        self.field.predict(x, mean, variance)
    }

    /// Mean over the data of `log t_nu((y - m*) / c) - log c`, `c^2 = v* + eps_y^2`: the field's variance widens the noise scale.
    ///
    /// `moments` comes from [`predict_from_moments`](Self::predict_from_moments); `mean` is the mean of `z`.
    pub fn log_predictive_density(&self, mean: &[f64], moments: &[(f64, f64)], y: &[f64]) -> f64 {
        assert_eq!(moments.len(), y.len(), "a response per prediction");
        let (noise, nu) = ((2.0 * mean[0]).exp(), mean[3].exp());
        let constant = ln_gamma(0.5 * (nu + 1.0)) - ln_gamma(0.5 * nu) - 0.5 * (nu * PI).ln();
        let term = |(&(m, v), y): (&(f64, f64), &f64)| {
            let square = v + noise;
            constant - 0.5 * square.ln() - 0.5 * (nu + 1.0) * ((y - m).powi(2) / (square * nu)).ln_1p()
        };
        moments.iter().zip(y).map(term).sum::<f64>() / y.len() as f64
    }
}

impl LogDensity for RobustGaussianProcess {
    fn dim(&self) -> usize {
        self.field.dim()
    }

    fn work_len(&self, _: usize) -> usize {
        self.field.work_len() + 2 * self.y.len()
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        assert_eq!(z.len(), self.dim(), "a point of the target's dimension");
        let squares = borrow(&mut work, self.y.len());
        let logs = borrow(&mut work, self.y.len());
        let field = self.field.log_density(z, None, work);
        decided(self.hyperprior(z, None) + field + self.likelihood(z, squares, logs), z)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        let names = ["eps_y", "eps_f", "amplitude", "nu"];
        names.into_iter().zip(z).for_each(|(name, u)| out.push(name, u.exp()));
        let (lengths, f) = z[LENGTHS..].split_at(self.field.features());
        out.vector("length", lengths.iter().map(|l| l.exp()));
        out.vector("f", f.iter().copied());
    }
}

impl Gradient for RobustGaussianProcess {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], mut work: &mut [f64]) -> f64 {
        assert!(z.len() == self.dim() && gradient.len() == self.dim(), "points of the target's dimension");
        let (first, n) = (self.field.first(), self.y.len());
        let squares = borrow(&mut work, n);
        let logs = borrow(&mut work, n);
        let field = self.field.log_density(z, Some(&mut *gradient), work);
        let (head, of_f) = gradient.split_at_mut(first);
        let log_p = self.hyperprior(z, Some(&mut *head)) + field + self.likelihood(z, squares, logs);
        let (rate, nu) = ((-z[0]).exp(), z[3].exp());
        // (nu + 1) r^2 / (nu + r^2), summed.
        let mut pull = 0.0;
        for (i, g) in of_f.iter_mut().enumerate() {
            let weight = (nu + 1.0) / (nu + squares[i]);
            pull += weight * squares[i];
            *g += weight * (self.y[i] - z[first + i]) * rate * rate;
        }
        head[0] += pull - n as f64;
        let constant = 0.5 * (digamma(0.5 * (nu + 1.0)) - digamma(0.5 * nu)) * nu - 0.5;
        head[3] += n as f64 * constant + 0.5 * (pull - nu * numeric::sum(logs));
        decided_with(log_p, z, gradient)
    }
}
