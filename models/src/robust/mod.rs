//! Linear regression with Student t errors.

pub mod student_errors;

use faer::MatRef;
use mcsa_core::numeric::scalar::ln_gamma;
use mcsa_core::{Curvature, Error, Gradient, LogDensity, Named, Part, Separable, Subsampled, numeric};
use mcsa_numeric::design::{MINIBATCH, Rows};

use crate::support::{HALF_LOG_TAU, decided, decided_with, positive, row_at, rows_and_responses, sweep};
use student_errors::{MOST, StudentErrors, freedom};

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
    /// Both are parameters, `log s ~ N(0, 1)` and `log(nu - 2) ~ N(0, 1)`; a point holds these two numbers after the weights.
    Latent,
}

/// Bayesian linear regression with Student t errors and independent normal weights.
///
/// ```text
/// w ~ N(0, a^2 I),   y_i = x_i' w + s e_i,   e_i ~ t_nu
/// z = w   or   z = (w, log s, log(nu - 2)),   log s, log(nu - 2) ~ N(0, 1): priors on logarithms, no Jacobian
/// ```
/// There is one weight per column of `x`; for an intercept, put a column of ones in front. The density is not log concave: the
/// curvature of a term is positive where `e^2 > nu`.
///
/// The errors are those of [`LocalRobustRegression`](crate::LocalRobustRegression) with its local precisions integrated out.
/// The paper (SL-DAIS) leaves open whether `s` and `nu` are learned; here [`StudentNoise`] selects one of the two.
///
/// Where a square overflows, or `log s` or `log(nu - 2)` is beyond +-300, the density is `-inf` and the gradient 0.
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
        rows_and_responses(x, y).map_err(refuse)?;
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
        Ok(Self { x, y: y.to_vec(), prior_scale, known })
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

    /// Log likelihood of some rows, or of all; with a gradient, `scale` times its own is added to that.
    fn likelihood(&self, rows: Option<&[usize]>, z: &[f64], gradient: Option<(f64, &mut [f64])>) -> f64 {
        let Some((errors, slope)) = self.errors(z) else {
            return f64::NEG_INFINITY;
        };
        let (d, nu, count) = (self.x.columns(), errors.freedom, self.count(rows));
        let (scale, parts) = gradient.map(|(scale, gradient)| (scale, gradient.split_at_mut(d))).unzip();
        let ((of_weights, of_noise), mut logs) = (parts.unzip(), [0.0; MINIBATCH]);
        let (mut sum, mut by_scale, mut by_freedom) = (0.0, 0.0, 0.0);
        sweep(&self.x, rows, [&z[..d]], of_weights, |first, [products]| {
            let logs = &mut logs[..products.len()];
            for (b, (t, log)) in products.iter_mut().zip(&mut *logs).enumerate() {
                *t = (self.y[row_at(rows, first + b)] - *t) * errors.rate;
                *log = *t * *t / nu;
            }
            numeric::ln_1p(logs);
            sum += numeric::sum(logs);
            for t in products.iter_mut().filter(|_| scale.is_some()) {
                let term = errors.term(*t);
                by_scale += term.scale;
                by_freedom += term.freedom;
                *t = scale.unwrap_or(0.0) * term.t;
            }
        });
        if let (Some(scale), Some([of_scale, of_freedom])) = (scale, of_noise) {
            *of_scale += scale * by_scale;
            *of_freedom += scale * slope * (by_freedom - 0.5 * sum + count * errors.of_freedom[0]);
        }
        count * errors.constant - 0.5 * (nu + 1.0) * sum
    }

    /// Number of these rows, or of all.
    fn count(&self, rows: Option<&[usize]>) -> f64 {
        rows.map_or(self.y.len(), <[usize]>::len) as f64
    }

    /// Adds to `out` `scale` times the product of `v` with the Hessian of the log likelihood of some rows, or of all.
    fn add_hessian_vector(&self, rows: Option<&[usize]>, scale: f64, z: &[f64], v: &[f64], out: &mut [f64]) {
        let Some((errors, slope)) = self.errors(z) else {
            return;
        };
        let (d, nu) = (self.x.columns(), errors.freedom);
        let (v_scale, v_freedom) = match v[d..] {
            [scale, freedom] => (scale, slope * freedom),
            _ => (0.0, 0.0),
        };
        let (of_weights, of_noise) = out.split_at_mut(d);
        let (mut by_scale, mut by_freedom, mut first_order) = (0.0, 0.0, 0.0);
        sweep(&self.x, rows, [&z[..d], &v[..d]], Some(of_weights), |first, [products, along]| {
            for (b, (t, along)) in products.iter_mut().zip(along).enumerate() {
                let e = (self.y[row_at(rows, first + b)] - *t) * errors.rate;
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
        });
        if let [of_scale, of_freedom] = of_noise {
            let [constant, bend] = errors.of_freedom.map(|of_one| self.count(rows) * of_one);
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
        decided(self.prior(z) + self.likelihood(None, z, None), z)
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
        let likelihood = self.likelihood(None, z, Some((1.0, &mut *gradient)));
        decided_with(self.prior(z) + likelihood, z, gradient)
    }
}

impl Curvature for StudentRegression {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.write_prior_slope(v, out);
        self.add_hessian_vector(None, 1.0, z, v, out);
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
        self.likelihood(Some(rows), z, None)
    }
}

impl Subsampled for StudentRegression {
    fn prior_gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        self.write_prior_slope(z, gradient);
        self.prior(z)
    }

    fn add_gradient_at(&self, part: Part<'_>, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        self.likelihood(Some(part.rows), z, Some((part.scale, gradient)))
    }

    fn prior_hessian_vector_into(&self, _: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.write_prior_slope(v, out);
    }

    fn add_hessian_vector_at(&self, part: Part<'_>, z: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.add_hessian_vector(Some(part.rows), part.scale, z, v, out);
    }
}

/// Linear regression with Student t errors, written with one local precision per datum. (SL-DAIS, App. A)
///
/// ```text
/// theta = (weights, log s) ~ N(0, a^2 I) x N(0, 1),   tau_i ~ Gamma(nu/2, rate nu/2),   y_i ~ N(x_i' weights, s^2 / tau_i)
/// w_i = log tau_i,   z = (theta, w_1, .., w_N),   log-Jacobian sum_i w_i
/// ```
/// Given theta the local variables are independent. [`term`](Self::term) is the log joint density of one local variable and its
/// datum; it depends on theta through two numbers, `square` and `constant`. A method with one chain per datum needs no more.
/// Other methods use the whole joint density, which is the [`LogDensity`]. With all `tau_i` integrated out, the likelihood is
/// that of [`StudentRegression`](crate::StudentRegression).
///
/// Where an exponential or a square overflows, the density is `-inf` and the gradient 0.
///
/// ```
/// use mcsa_models::LocalRobustRegression;
/// let model = LocalRobustRegression::new(faer::mat![[1.0], [2.0]].as_ref(), &[0.5, 1.0], 4.0, 1.0)?;
/// let term = model.term(1, &[0.25, 0.0]);
/// assert_eq!(term.square, 0.25);
/// // The mode of w: tau = (nu/2 + 1/2) / (nu/2 + square/2).
/// assert!(term.slope((2.5_f64 / 2.125).ln()).abs() < 1e-15);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LocalRobustRegression {
    x: Rows,
    y: Vec<f64>,
    freedom: f64,
    prior_scale: f64,
    /// `a log a - log Gamma(a) - log(2 pi)/2`, `a = nu/2`.
    constant: f64,
}

/// Log joint density of one local variable `w = log tau` and its datum, given theta:
///
/// ```text
/// l(w) = a log a - log Gamma(a) + (a + 1/2) w - e^w (a + square/2) - log s - log(2 pi)/2
/// a = nu/2,   square = ((y - x' weights) / s)^2
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LocalTerm {
    /// Half the degrees of freedom, `a`.
    pub shape: f64,
    /// The squared standardised residual.
    pub square: f64,
    /// The part of `l` that depends on neither `w` nor the residual.
    pub constant: f64,
}

impl LocalTerm {
    /// `l(w)`.
    pub fn log_density(&self, w: f64) -> f64 {
        self.constant + (self.shape + 0.5) * w - w.exp() * (self.shape + 0.5 * self.square)
    }

    /// `dl/dw`.
    pub fn slope(&self, w: f64) -> f64 {
        self.shape + 0.5 - w.exp() * (self.shape + 0.5 * self.square)
    }

    /// `d^2 l/dw^2`, never positive: `l` is concave.
    pub fn curvature(&self, w: f64) -> f64 {
        -w.exp() * (self.shape + 0.5 * self.square)
    }

    /// `dl/dsquare`, which is also the derivative of [`slope`](Self::slope) and of [`curvature`](Self::curvature) in the square.
    pub fn of_square(&self, w: f64) -> f64 {
        -0.5 * w.exp()
    }

    /// `log` of the integral of `e^l` over `w`: the Student t log density of the datum.
    pub fn log_integral(&self) -> f64 {
        let power = self.shape + 0.5;
        self.constant + ln_gamma(power) - power * (self.shape + 0.5 * self.square).ln()
    }
}

impl LocalRobustRegression {
    /// A model of features `x` (one row per datum), responses `y`, the degrees of freedom `nu`, and the prior standard deviation `a`
    /// of a weight.
    ///
    /// # Errors
    /// If the number of responses is not the number of rows, a number is not finite, or `freedom` or `prior_scale` not positive.
    pub fn new(x: MatRef<'_, f64>, y: &[f64], freedom: f64, prior_scale: f64) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("LocalRobustRegression");
        rows_and_responses(x, y).map_err(refuse)?;
        positive("freedom", freedom).map_err(refuse)?;
        positive("prior scale", prior_scale).map_err(refuse)?;
        let shape = 0.5 * freedom;
        let constant = shape * shape.ln() - ln_gamma(shape) - HALF_LOG_TAU;
        let x = Rows::from_fn(x.nrows(), x.ncols(), |i, k| x[(i, k)]);
        Ok(Self { x, y: y.to_vec(), freedom, prior_scale, constant })
    }

    /// The number of data, and of local variables.
    pub fn num_data(&self) -> usize {
        self.y.len()
    }

    /// The length of theta: the weights and `log s`.
    pub fn num_globals(&self) -> usize {
        self.x.columns() + 1
    }

    /// `log p(theta)`; its gradient is added to `gradient`.
    pub fn add_prior_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let precision = self.prior_scale.powi(-2);
        let (weights, log_scale) = theta.split_at(self.x.columns());
        for (k, (g, theta)) in gradient.iter_mut().zip(theta).enumerate() {
            *g -= if k < weights.len() { precision * theta } else { *theta };
        }
        let square = precision * numeric::dot(weights, weights) + log_scale[0] * log_scale[0];
        let count = weights.len() as f64;
        -0.5 * square - count * self.prior_scale.ln() - (count + 1.0) * HALF_LOG_TAU
    }

    /// The log joint density of local variable and datum `row` at theta.
    pub fn term(&self, row: usize, theta: &[f64]) -> LocalTerm {
        let (weights, log_scale) = theta.split_at(self.x.columns());
        let residual = self.y[row] - numeric::dot(self.x.row(row), weights);
        LocalTerm {
            shape: 0.5 * self.freedom,
            square: (residual * (-log_scale[0]).exp()).powi(2),
            constant: self.constant - log_scale[0],
        }
    }

    /// `gradient += of_square dsquare/dtheta + of_constant dconstant/dtheta` for the [`term`](Self::term) of `row`: the reverse step
    /// from a derivative in the two numbers of the term to one in theta.
    ///
    /// `of_square` may be the sum over many points `w` of what [`LocalTerm::of_square`] gives, and over the steps of a chain that
    /// follows [`LocalTerm::slope`].
    pub fn add_theta_gradient(
        &self,
        row: usize,
        theta: &[f64],
        of_square: f64,
        of_constant: f64,
        gradient: &mut [f64],
    ) {
        let d = self.x.columns();
        let (weights, log_scale) = theta.split_at(d);
        let rate = (-log_scale[0]).exp();
        let e = (self.y[row] - numeric::dot(self.x.row(row), weights)) * rate;
        numeric::axpy(-2.0 * of_square * e * rate, self.x.row(row), &mut gradient[..d]);
        gradient[d] -= 2.0 * of_square * e * e + of_constant;
    }
}

impl LogDensity for LocalRobustRegression {
    fn dim(&self) -> usize {
        self.num_globals() + self.num_data()
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        let (theta, locals) = z.split_at(self.num_globals());
        let terms = locals.iter().enumerate().map(|(i, &w)| self.term(i, theta).log_density(w));
        decided(self.add_prior_gradient(theta, &mut []) + terms.sum::<f64>(), z)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        let (theta, locals) = z.split_at(self.num_globals());
        let (weights, log_scale) = theta.split_at(self.x.columns());
        out.vector("weight", weights.iter().copied());
        out.push("scale", log_scale[0].exp());
        out.vector("tau", locals.iter().map(|w| w.exp()));
    }
}

impl Gradient for LocalRobustRegression {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        let (theta, locals) = z.split_at(self.num_globals());
        let (of_theta, of_locals) = gradient.split_at_mut(theta.len());
        of_theta.fill(0.0);
        let mut log_p = self.add_prior_gradient(theta, of_theta);
        for (i, (&w, slope)) in locals.iter().zip(of_locals).enumerate() {
            let term = self.term(i, theta);
            log_p += term.log_density(w);
            *slope = term.slope(w);
            self.add_theta_gradient(i, theta, term.of_square(w), 1.0, of_theta);
        }
        decided_with(log_p, z, gradient)
    }
}
