use faer::MatRef;
use mcsa_core::numeric::scalar::ln_gamma;
use mcsa_core::{
    Curvature, Error, Gradient, LogDensity, Named, Separable, Subsampled, all_finite, numeric, same_length,
};

use super::student_errors::StudentErrors;
use super::student_errors::{MOST, freedom};
use crate::support::{HALF_LOG_TAU, decided, log_normal, positive};
use crate::{Constrained, Transform};
use mcsa_core::finite_matrix;
use mcsa_numeric::design::{MINIBATCH, Rows};

/// Scale `s` and degrees of freedom `nu` of Student t errors: known numbers, or parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StudentNoise {
    /// Both are known; the target's point is the weights alone.
    Known {
        /// The scale `s`.
        scale: f64,
        /// The degrees of freedom `nu`.
        freedom: f64,
    },
    /// Both are parameters with `log s ~ N(0, 1)` and `log(nu - 2) ~ N(0, 1)`, which follow the weights.
    Latent,
}

/// Bayesian linear regression with Student t errors and independent normal weights.
///
/// ```text
/// w ~ N(0, a^2 I),   y_i = x_i' w + s e_i,   e_i ~ t_nu
/// z = w   or   z = (w, log s, log(nu - 2)),   log s, log(nu - 2) ~ N(0, 1): priors on logarithms, no Jacobian
/// ```
/// There is one weight per column of `x`; for an intercept, put a column of ones in front. Not log concave: the curvature of a term
/// is positive where `e^2 > nu`.
///
/// The errors are those of [`LocalRobustRegression`](crate::LocalRobustRegression) with its local scales integrated out. Unlike the
/// paper (SL-DAIS), which leaves open whether `s` and `nu` are learned, there are both versions.
///
/// `-inf`, with gradient 0, where a square overflows, or `log s` or `log(nu - 2)` is beyond +-300.
///
/// ```
/// use mcsa_core::LogDensity;
/// use mcsa_models::{StudentNoise, StudentRegression};
/// let noise = StudentNoise::Known { scale: 1.0, freedom: 1.0 };
/// let cauchy = StudentRegression::new(faer::mat![[1.0]].as_ref(), &[1.0], noise, 1.0)?;
/// let at_zero = cauchy.log_density(&[0.0], &mut []);
/// let pi = std::f64::consts::PI;
/// assert!((at_zero + 0.5 * (2.0 * pi).ln() + (2.0 * pi).ln()).abs() < 1e-14);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StudentRegression {
    x: Rows,
    y: Vec<f64>,
    noise: StudentNoise,
    prior_scale: f64,
    /// The errors, if known.
    known: Option<StudentErrors>,
}

impl StudentRegression {
    /// A model of features `x` (one row per datum), responses `y`, the noise, and the prior standard deviation `a` of a weight.
    ///
    /// # Errors
    /// If the number of responses is not the number of rows, a number is not finite, or a scale or the degrees of freedom not
    /// positive.
    pub fn new(x: MatRef<'_, f64>, y: &[f64], noise: StudentNoise, prior_scale: f64) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("StudentRegression");
        same_length("responses", x.nrows(), y.len()).map_err(refuse)?;
        finite_matrix("features", x).map_err(refuse)?;
        all_finite("responses", y).map_err(refuse)?;
        positive("prior scale", prior_scale).map_err(refuse)?;
        let known = match noise {
            StudentNoise::Known { scale, freedom } => {
                positive("scale", scale).map_err(refuse)?;
                positive("freedom", freedom).map_err(refuse)?;
                Some(StudentErrors::new(scale.ln(), freedom))
            }
            StudentNoise::Latent => None,
        };
        let x = Rows::from_fn(x.nrows(), x.ncols(), |i, k| x[(i, k)]);
        Ok(Self { x, y: y.to_vec(), noise, prior_scale, known })
    }

    /// The noise.
    pub fn noise(&self) -> StudentNoise {
        self.noise
    }

    /// The weights, `z` without the logarithms of the noise.
    pub fn weights<'a>(&self, z: &'a [f64]) -> &'a [f64] {
        &z[..self.x.columns()]
    }

    /// The errors at `z` and `dnu/du`, `u = log(nu - 2)`; `None` outside the support.
    fn errors(&self, z: &[f64]) -> Option<(StudentErrors, f64)> {
        match (self.known, &z[self.x.columns()..]) {
            (Some(known), _) => Some((known, 0.0)),
            (None, &[log_scale, u]) if log_scale.abs() <= MOST && u.abs() <= MOST => {
                let (nu, slope) = freedom(u);
                Some((StudentErrors::new(log_scale, nu), slope))
            }
            _ => None,
        }
    }

    fn prior(&self, z: &[f64]) -> f64 {
        let (w, noise) = z.split_at(self.x.columns());
        let weights = numeric::dot(w, w) / self.prior_scale.powi(2);
        let count = w.len() as f64;
        -0.5 * (weights + numeric::dot(noise, noise))
            - count * self.prior_scale.ln()
            - z.len() as f64 * HALF_LOG_TAU
    }

    fn write_prior_slope(&self, z: &[f64], out: &mut [f64]) {
        let d = self.x.columns();
        for (k, (out, z)) in out.iter_mut().zip(z).enumerate() {
            *out = if k < d { -z / self.prior_scale.powi(2) } else { -z };
        }
    }

    /// Log likelihood of the data `at(0), .., at(count - 1)`; with a gradient, `scale` times its own is added to that.
    fn likelihood(
        &self,
        count: usize,
        at: impl Fn(usize) -> usize,
        z: &[f64],
        mut gradient: Option<(f64, &mut [f64])>,
    ) -> f64 {
        let Some((errors, slope)) = self.errors(z) else {
            return f64::NEG_INFINITY;
        };
        let (d, nu) = (self.x.columns(), errors.freedom);
        let (mut products, mut logs) = ([0.0; MINIBATCH], [0.0; MINIBATCH]);
        let (mut sum, mut of_scale, mut of_freedom) = (0.0, 0.0, 0.0);
        for first in (0..count).step_by(MINIBATCH) {
            let len = (count - first).min(MINIBATCH);
            let (products, logs) = (&mut products[..len], &mut logs[..len]);
            self.x.multiply_at(|b| at(first + b), &z[..d], products);
            for (b, (t, log)) in products.iter_mut().zip(&mut *logs).enumerate() {
                *t = (self.y[at(first + b)] - *t) * errors.rate;
                *log = *t * *t / nu;
            }
            numeric::ln_1p(logs);
            sum += numeric::sum(logs);
            if let Some((scale, gradient)) = &mut gradient {
                for t in &mut *products {
                    let term = errors.term(*t);
                    of_scale += term.scale;
                    of_freedom += term.freedom;
                    *t = *scale * term.t;
                }
                self.x.add_pull_back_at(|b| at(first + b), products, &mut gradient[..d]);
            }
        }
        if let Some((scale, &mut [.., ref mut by_scale, ref mut by_freedom])) = gradient
            && self.known.is_none()
        {
            *by_scale += scale * of_scale;
            *by_freedom += scale * slope * (of_freedom - 0.5 * sum + count as f64 * errors.of_freedom[0]);
        }
        count as f64 * errors.constant - 0.5 * (nu + 1.0) * sum
    }

    /// Adds to `out` `scale` times the product of `v` with the Hessian of the log likelihood of the data `at(0), .., at(count - 1)`.
    fn add_hessian_vector(
        &self,
        count: usize,
        at: impl Fn(usize) -> usize,
        scale: f64,
        z: &[f64],
        v: &[f64],
        out: &mut [f64],
    ) {
        let Some((errors, slope)) = self.errors(z) else {
            return;
        };
        let (d, nu) = (self.x.columns(), errors.freedom);
        let (v_scale, v_freedom) = match v[d..] {
            [scale, freedom] => (scale, slope * freedom),
            _ => (0.0, 0.0),
        };
        let (mut products, mut along) = ([0.0; MINIBATCH], [0.0; MINIBATCH]);
        let (mut by_scale, mut by_freedom, mut first_order) = (0.0, 0.0, 0.0);
        for first in (0..count).step_by(MINIBATCH) {
            let len = (count - first).min(MINIBATCH);
            let (products, along) = (&mut products[..len], &mut along[..len]);
            self.x.multiply_at(|b| at(first + b), &z[..d], products);
            self.x.multiply_at(|b| at(first + b), &v[..d], along);
            for (b, (t, along)) in products.iter_mut().zip(along).enumerate() {
                let e = (self.y[at(first + b)] - *t) * errors.rate;
                let term = errors.term(e);
                *t = scale * (term.tt * *along + term.t_scale * v_scale + term.t_freedom * v_freedom);
                if self.known.is_none() {
                    by_scale +=
                        term.t_scale * *along + term.scale_scale * v_scale + term.scale_freedom * v_freedom;
                    by_freedom += term.t_freedom * *along
                        + term.scale_freedom * v_scale
                        + term.freedom_freedom * v_freedom;
                    first_order += term.freedom - 0.5 * numeric::scalar::ln_1p(e * e / nu);
                }
            }
            self.x.add_pull_back_at(|b| at(first + b), products, &mut out[..d]);
        }
        if let [.., of_scale, of_freedom] = out
            && self.known.is_none()
        {
            let [constant, bend] = errors.of_freedom.map(|of_one| count as f64 * of_one);
            *of_scale += scale * by_scale;
            *of_freedom += scale * slope * (by_freedom + bend * v_freedom);
            // The second derivative of nu in its logarithm is its first.
            *of_freedom += scale * v_freedom * (first_order + constant);
        }
    }
}

impl LogDensity for StudentRegression {
    fn dim(&self) -> usize {
        self.x.columns() + if self.known.is_some() { 0 } else { 2 }
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        assert_eq!(z.len(), self.dim(), "a point of the target's dimension");
        decided(self.prior(z) + self.likelihood(self.y.len(), |i| i, z, None), z)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        let (w, noise) = z.split_at(self.x.columns());
        out.vector("weight", w.iter().copied());
        if let [log_scale, u] = noise {
            out.push("scale", log_scale.exp());
            out.push("freedom", freedom(*u).0);
        }
    }
}

impl Gradient for StudentRegression {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        assert!(z.len() == self.dim() && gradient.len() == self.dim(), "points of the target's dimension");
        self.write_prior_slope(z, gradient);
        let likelihood = self.likelihood(self.y.len(), |i| i, z, Some((1.0, &mut *gradient)));
        let log_p = decided(self.prior(z) + likelihood, z);
        if log_p == f64::NEG_INFINITY {
            gradient.fill(0.0);
        }
        log_p
    }
}

impl Curvature for StudentRegression {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.write_prior_slope(v, out);
        self.add_hessian_vector(self.y.len(), |i| i, 1.0, z, v, out);
    }
}

impl Separable for StudentRegression {
    fn num_data(&self) -> usize {
        self.y.len()
    }

    fn log_prior(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.prior(z)
    }

    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], _: &mut [f64]) -> f64 {
        self.likelihood(rows.len(), |b| rows[b], z, None)
    }
}

impl Subsampled for StudentRegression {
    fn prior_gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        self.write_prior_slope(z, gradient);
        self.prior(z)
    }

    fn add_gradient_at(
        &self,
        rows: &[usize],
        scale: f64,
        z: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
    ) -> f64 {
        self.likelihood(rows.len(), |b| rows[b], z, Some((scale, gradient)))
    }

    fn prior_hessian_vector_into(&self, _: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.write_prior_slope(v, out);
    }

    fn add_hessian_vector_at(
        &self,
        rows: &[usize],
        scale: f64,
        z: &[f64],
        v: &[f64],
        out: &mut [f64],
        _: &mut [f64],
    ) {
        self.add_hessian_vector(rows.len(), |b| rows[b], scale, z, v, out);
    }
}

/// `theta = (w, s, nu - 2)`: the last coordinate is the excess of `nu` over 2.
impl Constrained for StudentRegression {
    fn transform(&self, i: usize) -> Transform {
        if i < self.x.columns() { Transform::Real } else { Transform::Positive }
    }

    fn log_density_at(&self, theta: &[f64]) -> f64 {
        let (w, noise) = theta.split_at(self.x.columns());
        let (s, nu) = match (self.noise, noise) {
            (StudentNoise::Latent, [s, excess]) => (*s, 2.0 + excess),
            (StudentNoise::Known { scale, freedom }, _) => (scale, freedom),
            _ => return f64::NAN,
        };
        let prior: f64 = w.iter().map(|&w| log_normal(w, self.prior_scale)).sum::<f64>()
            + noise.iter().map(|x| log_normal(x.ln(), 1.0) - x.ln()).sum::<f64>();
        let ratio = ln_gamma(0.5 * (nu + 1.0)) - ln_gamma(0.5 * nu);
        let term = |i: usize| {
            let f: f64 = self.x.row(i).iter().zip(w).map(|(x, w)| x * w).sum();
            let e = (self.y[i] - f) / s;
            ratio
                - 0.5 * (nu * std::f64::consts::PI).ln()
                - s.ln()
                - 0.5 * (nu + 1.0) * (1.0 + e * e / nu).ln()
        };
        prior + (0..self.y.len()).map(term).sum::<f64>()
    }
}
