use std::f64::consts::{LN_2, PI};

use faer::{MatMut, MatRef};
use mcsa_core::{
    Columns, ColumnsMut, Curvature, Error, Gradient, LogDensity, Named, batch, batch_mut, borrow, one,
};

use super::{Likelihood, Logistic};
use crate::support::{HALF_LOG_TAU, decided, log_normal, positive};
use crate::{Constrained, Transform};

/// Logistic regression with a horseshoe prior (Carvalho, Polson and Scott 2010), non-centred:
///
/// ```text
/// tau, lambda_k ~ C+(0, 1),   w_k ~ N(0, 1),   beta_k = tau lambda_k w_k,   alpha ~ N(0, s^2)
/// P(y_i = 1) = 1/(1 + e^-(x_i' beta + alpha))
/// z = (log tau, log lambda, w, alpha),   dimension 2 d + 2
/// ```
///
/// A half-Cauchy scale has the density `1 / (pi cosh u)` in its logarithm `u`. Weights that the data do not need have ridges of `u`
/// and `w` with slowly falling tails, which a Gaussian approximates badly.
///
/// Numerics: where a scale or a margin overflows, the density is `-inf` and the gradient 0.
///
/// ```
/// use mcsa_core::LogDensity;
/// use mcsa_models::HorseshoeLogistic;
/// let x = faer::mat![[0.5], [-2.0], [1.0]];
/// let target = HorseshoeLogistic::new(x.as_ref(), &[1.0, 0.0, 1.0], 2.0)?;
/// assert_eq!(target.dim(), 4);
/// assert!(target.log_density(&[0.0; 4], &mut vec![0.0; target.work_len(1)]).is_finite());
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct HorseshoeLogistic {
    likelihood: Likelihood<Logistic>,
    intercept_scale: f64,
}

/// `log (1 / (pi cosh u))`.
fn log_sech(u: f64) -> f64 {
    LN_2 - PI.ln() - u.abs() - (-2.0 * u.abs()).exp().ln_1p()
}

impl HorseshoeLogistic {
    /// A model of features `x` (one row per datum, without a column of ones), labels 0 or 1, and the prior standard deviation of
    /// the intercept.
    ///
    /// # Errors
    /// If the number of labels is not the number of rows, a label is neither 0 nor 1, a number is not finite, or the scale not
    /// positive.
    pub fn new(x: MatRef<'_, f64>, labels: &[f64], intercept_scale: f64) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("HorseshoeLogistic");
        positive("intercept scale", intercept_scale).map_err(refuse)?;
        let likelihood = Likelihood::new(x, labels, true).map_err(refuse)?;
        Ok(Self { likelihood, intercept_scale })
    }

    /// Number of features, the intercept not counted.
    pub fn num_features(&self) -> usize {
        self.likelihood.weights() - 1
    }

    /// `log tau`, the `log lambda_k`, the `w_k` and `alpha`.
    fn parts<'a>(&self, z: &'a [f64]) -> (f64, &'a [f64], &'a [f64], f64) {
        let d = self.num_features();
        (z[0], &z[1..=d], &z[1 + d..=2 * d], z[2 * d + 1])
    }

    /// The weights of the features and the intercept.
    fn weights_into(&self, z: &[f64], weights: &mut [f64]) {
        let (tau, lambda, w, alpha) = self.parts(z);
        for ((beta, lambda), w) in weights.iter_mut().zip(lambda).zip(w) {
            *beta = (tau + lambda).exp() * w;
        }
        weights[w.len()] = alpha;
    }

    fn prior(&self, z: &[f64]) -> f64 {
        let (tau, lambda, w, alpha) = self.parts(z);
        let scales: f64 = log_sech(tau) + lambda.iter().map(|&u| log_sech(u)).sum::<f64>();
        let square: f64 = w.iter().map(|w| w * w).sum();
        scales - 0.5 * square - w.len() as f64 * HALF_LOG_TAU + log_normal(alpha, self.intercept_scale)
    }

    /// Gradient from that of the log likelihood in the weights, and the weights.
    fn gradient_from(&self, z: &[f64], weights: &[f64], slopes: &[f64], gradient: &mut [f64]) {
        let d = self.num_features();
        let (tau, lambda, w, alpha) = self.parts(z);
        gradient[0] = -tau.tanh();
        for k in 0..d {
            let moved = weights[k] * slopes[k];
            gradient[0] += moved;
            gradient[1 + k] = moved - lambda[k].tanh();
            gradient[1 + d + k] = (tau + lambda[k]).exp() * slopes[k] - w[k];
        }
        gradient[2 * d + 1] = slopes[d] - alpha / (self.intercept_scale * self.intercept_scale);
    }
}

impl LogDensity for HorseshoeLogistic {
    fn dim(&self) -> usize {
        2 * self.likelihood.weights()
    }

    fn work_len(&self, columns: usize) -> usize {
        4 * self.likelihood.weights()
            + self.likelihood.weights() * columns
            + self.likelihood.work_len(columns)
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        let mut out = [0.0];
        self.log_densities(one(z), &mut out, work);
        out[0]
    }

    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], mut work: &mut [f64]) {
        assert!(z.ncols() == out.len() && z.nrows() == self.dim(), "a density per column");
        let width = self.likelihood.weights();
        let weights = borrow(&mut work, width * z.ncols());
        for (j, (out, weights)) in out.iter_mut().zip(weights.chunks_exact_mut(width)).enumerate() {
            *out = self.prior(z.column(j));
            self.weights_into(z.column(j), weights);
        }
        self.likelihood.add_logs(batch(weights, width, z.ncols()), 0, out, work);
        for (j, out) in out.iter_mut().enumerate() {
            *out = decided(*out, z.column(j));
        }
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        let (tau, lambda, w, alpha) = self.parts(z);
        out.push("tau", tau.exp());
        out.vector("lambda", lambda.iter().map(|u| u.exp()));
        out.vector("beta", lambda.iter().zip(w).map(|(u, w)| (tau + u).exp() * w));
        out.push("alpha", alpha);
    }
}

impl Gradient for HorseshoeLogistic {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let mut out = [0.0];
        let len = gradient.len();
        self.gradients_into(one(z), &mut out, batch_mut(gradient, len, 1), work);
        out[0]
    }

    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        mut gradients: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) {
        assert!(z.ncols() == out.len() && z.nrows() == self.dim(), "a density per column");
        assert!(gradients.ncols() == out.len() && gradients.nrows() == self.dim(), "a gradient per column");
        let width = self.likelihood.weights();
        let weights = borrow(&mut work, width * z.ncols());
        for (j, (out, weights)) in out.iter_mut().zip(weights.chunks_exact_mut(width)).enumerate() {
            *out = self.prior(z.column(j));
            self.weights_into(z.column(j), weights);
        }
        let weights = &*weights;
        let accept = |j: usize, slopes: &[f64]| {
            let weights = &weights[j * width..(j + 1) * width];
            self.gradient_from(z.column(j), weights, slopes, gradients.column_mut(j));
        };
        self.likelihood.add_gradients(batch(weights, width, z.ncols()), 0, out, accept, work);
        for (j, out) in out.iter_mut().enumerate() {
            *out = decided(*out, z.column(j));
            if *out == f64::NEG_INFINITY {
                gradients.column_mut(j).fill(0.0);
            }
        }
    }
}

/// With `b` the weights, `b'` their change along `v`, and `g`, `H` gradient and Hessian of the log likelihood in `b`: the change of
/// `J^T g` is `J^T H b' + J'^T g`.
impl Curvature for HorseshoeLogistic {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], mut work: &mut [f64]) {
        let (d, width) = (self.num_features(), self.likelihood.weights());
        let [weights, moved, slopes, bent] = [(); 4].map(|()| borrow(&mut work, width));
        self.weights_into(z, weights);
        let (tau, lambda, ..) = self.parts(z);
        let (of_tau, of_lambda, of_w, of_alpha) = self.parts(v);
        for k in 0..d {
            let turn = of_tau + of_lambda[k];
            moved[k] = weights[k] * turn + (tau + lambda[k]).exp() * of_w[k];
        }
        moved[d] = of_alpha;
        let (at, mut total) = (batch(weights, width, 1), [0.0]);
        self.likelihood.add_gradients(at, 0, &mut total, |_, found| slopes.copy_from_slice(found), work);
        self.likelihood.hessian_vector_into(weights, moved, bent, work);
        let sech = |u: f64| u.cosh().recip();
        out[0] = -sech(tau).powi(2) * of_tau;
        for k in 0..d {
            let scale = (tau + lambda[k]).exp();
            let change = weights[k] * bent[k] + moved[k] * slopes[k];
            out[0] += change;
            out[1 + k] = change - sech(lambda[k]).powi(2) * of_lambda[k];
            out[1 + d + k] = scale * (bent[k] + slopes[k] * (of_tau + of_lambda[k])) - of_w[k];
        }
        out[2 * d + 1] = bent[d] - of_alpha / (self.intercept_scale * self.intercept_scale);
    }
}

impl Constrained for HorseshoeLogistic {
    fn transform(&self, i: usize) -> Transform {
        if i <= self.num_features() { Transform::Positive } else { Transform::Real }
    }

    fn log_density_at(&self, theta: &[f64]) -> f64 {
        let (tau, lambda, w, alpha) = self.parts(theta);
        let half_cauchy = |s: f64| (2.0 / PI).ln() - (s * s).ln_1p();
        let mut weights: Vec<f64> = lambda.iter().zip(w).map(|(lambda, w)| tau * lambda * w).collect();
        weights.push(alpha);
        let rows: Vec<usize> = (0..self.likelihood.rows()).collect();
        half_cauchy(tau)
            + lambda.iter().map(|&s| half_cauchy(s)).sum::<f64>()
            + w.iter().map(|&w| log_normal(w, 1.0)).sum::<f64>()
            + log_normal(alpha, self.intercept_scale)
            + self.likelihood.log_at(&rows, &weights)
    }
}
