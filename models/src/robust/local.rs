use faer::MatRef;
use mcsa_core::numeric::scalar::ln_gamma;
use mcsa_core::{Error, Gradient, LogDensity, Named, all_finite, numeric, same_length};

use crate::support::{HALF_LOG_TAU, decided, positive};
use mcsa_core::finite_matrix;
use mcsa_numeric::design::Rows;

/// Linear regression with Student t errors, written with one local precision per datum. (SL-DAIS, App. A)
///
/// ```text
/// theta = (weights, log s) ~ N(0, a^2 I) x N(0, 1),   tau_i ~ Gamma(nu/2, rate nu/2),   y_i ~ N(x_i' weights, s^2 / tau_i)
/// w_i = log tau_i,   z = (theta, w_1, .., w_N),   log-Jacobian sum_i w_i
/// ```
/// Given theta the local variables are independent: [`term`](Self::term) is the log joint density of one of them and its datum, which
/// depends on theta through two numbers. A method with one chain per datum needs no more; as a [`LogDensity`] the whole joint density
/// is here for methods without structure. With all `tau_i` integrated out it is [`StudentRegression`](crate::StudentRegression).
///
/// `-inf`, with gradient 0, where an exponential or a square overflows.
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
        same_length("responses", x.nrows(), y.len()).map_err(refuse)?;
        finite_matrix("features", x).map_err(refuse)?;
        all_finite("responses", y).map_err(refuse)?;
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
    ///
    /// # Panics
    /// If there is no such row, or theta has another length.
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
    ///
    /// # Panics
    /// If there is no such row, or theta or the gradient has another length.
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
        let log_p = decided(log_p, z);
        if log_p == f64::NEG_INFINITY {
            gradient.fill(0.0);
        }
        log_p
    }
}
