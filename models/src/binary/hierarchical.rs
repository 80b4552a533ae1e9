use std::f64::consts::PI;

use faer::{MatMut, MatRef};
use mcsa_core::{
    Columns, ColumnsMut, Curvature, Error, Gradient, LogDensity, Named, Separable, Subsampled, numeric, one,
};

use super::{Likelihood, Logistic, ScalePrior};
use crate::support::{decided, log_normal};
use crate::{Constrained, Transform};
use mcsa_numeric::design::GROUP;

/// Hierarchical logistic regression: the weights and the intercept have unknown prior scales. (MCMC-SE)
///
/// ```text
/// tau, sigma ~ N+(0, 1),   beta ~ N(0, tau^2 I_d),   alpha ~ N(0, sigma^2),   P(y_i = 1) = 1/(1 + e^-(x_i' beta + alpha))
/// z = (log tau, log sigma, beta, alpha),   log-Jacobian  z_0 + z_1,   dimension d + 3
/// ```
///
/// Unlike the paper, there is no latent `p_i ~ N(x_i' beta + alpha, sigma^2)` between the linear predictor and the label:
/// the published dimensions and the published code have none.
///
/// Numerics: where `tau^2` or `(beta/tau)^2` overflows (`|log tau|` beyond some 350), or a margin overflows, the density is `-inf`
/// and the gradient 0. The log density includes the normalising constants of all priors.
///
/// ```
/// use mcsa_core::{Gradient, LogDensity};
/// use mcsa_models::{HierarchicalLogistic, ScalePrior};
/// let x = faer::mat![[0.5], [-2.0], [1.0]];
/// let target = HierarchicalLogistic::new(x.as_ref(), &[1.0, 0.0, 1.0], ScalePrior::HalfNormal)?;
/// let (mut gradient, mut work) = ([0.0; 4], vec![0.0; target.work_len(1)]);
/// target.gradient_into(&[0.0; 4], &mut gradient, &mut work);
/// assert_eq!(gradient, [-1.0, -1.0, 1.75, 0.5]);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct HierarchicalLogistic {
    likelihood: Likelihood<Logistic>,
    scales: ScalePrior,
}

/// Index in `z` of the first weight, after the two log scales.
const FIRST: usize = 2;

/// `|x|^2 / s^2` for `u = log s`; 0 if `x = 0`, at every scale.
fn scaled_square(x: &[f64], u: f64) -> f64 {
    square_times(x, (-2.0 * u).exp())
}

/// `|x|^2` times a precision that may have overflowed.
fn square_times(x: &[f64], precision: f64) -> f64 {
    times(x.iter().map(|x| x * x).sum(), precision)
}

/// `x` times a precision that may have overflowed; 0 stays 0.
fn times(x: f64, precision: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x * precision }
}

impl HierarchicalLogistic {
    /// A model of features `x` (one row per datum, without a column of ones), labels 0 or 1, and the prior of both scales.
    ///
    /// # Errors
    /// If the number of labels is not the number of rows, a label is neither 0 nor 1, or a number is not finite.
    pub fn new(x: MatRef<'_, f64>, labels: &[f64], scales: ScalePrior) -> Result<Self, Error> {
        let likelihood =
            Likelihood::new(x, labels, true).map_err(|error| error.within("HierarchicalLogistic"))?;
        Ok(Self { likelihood, scales })
    }

    /// Number of features, the intercept not counted.
    pub fn num_features(&self) -> usize {
        self.likelihood.weights() - 1
    }

    /// The weights and the intercept, `z[2..]`. Their moments give predictions by
    /// [`log_odds_from_moments`](crate::log_odds_from_moments), with a column of ones after the features.
    pub fn weights<'a>(&self, z: &'a [f64]) -> &'a [f64] {
        &z[FIRST..]
    }

    fn prior(&self, z: &[f64]) -> f64 {
        let mut out = [0.0];
        self.priors_into(one(z), &mut out);
        out[0]
    }

    /// Log prior of each column, written to `out`; exponentials are computed for ten columns at once.
    fn priors_into(&self, z: MatRef<'_, f64>, out: &mut [f64]) {
        let mut powers = [[0.0; 4]; GROUP];
        for (g, out) in out.chunks_mut(GROUP).enumerate() {
            let powers = &mut powers[..out.len()];
            for (c, powers) in powers.iter_mut().enumerate() {
                let z = z.column(g * GROUP + c);
                let (u, v) = (z[0], z[1]);
                *powers = [-2.0 * u, -2.0 * v, self.scales.exponent(u), self.scales.exponent(v)];
            }
            numeric::exp(powers.as_flattened_mut());
            for (c, (out, powers)) in out.iter_mut().zip(powers).enumerate() {
                *out = self.prior_with(z.column(g * GROUP + c), *powers);
            }
        }
    }

    /// Log prior, from `1 / tau^2`, `1 / sigma^2` and the exponentials in the two scale priors.
    fn prior_with(&self, z: &[f64], [wide, narrow, of_u, of_v]: [f64; 4]) -> f64 {
        let (u, v) = (z[0], z[1]);
        let (beta, alpha) = z[FIRST..].split_at(self.num_features());
        let d = beta.len() as f64;
        let hyper = self.scales.log_density_with(u, of_u) + self.scales.log_density_with(v, of_v);
        let weights = -d * u - v - 0.5 * (square_times(beta, wide) + square_times(alpha, narrow));
        hyper + weights - 0.5 * (d + 1.0) * (2.0 * PI).ln()
    }

    /// Adds the gradient of the prior to `gradient`.
    fn add_prior_gradient(&self, z: &[f64], gradient: &mut [f64]) {
        let (u, v) = (z[0], z[1]);
        let d = self.num_features();
        let (beta, alpha) = z[FIRST..].split_at(d);
        gradient[0] += self.scales.slope(u) - d as f64 + scaled_square(beta, u);
        gradient[1] += self.scales.slope(v) - 1.0 + scaled_square(alpha, v);
        let (of_beta, of_alpha) = gradient[FIRST..].split_at_mut(d);
        let (wide, narrow) = ((-2.0 * u).exp(), (-2.0 * v).exp());
        for (g, &beta) in of_beta.iter_mut().zip(beta) {
            *g -= times(beta, wide);
        }
        of_alpha[0] -= times(alpha[0], narrow);
    }

    /// Adds the product of `v` with the Hessian of the prior to `out`.
    fn add_prior_hessian_vector(&self, z: &[f64], v: &[f64], out: &mut [f64]) {
        let d = self.num_features();
        let blocks = [(0, FIRST..FIRST + d), (1, FIRST + d..FIRST + d + 1)];
        for (scale, place) in blocks {
            let (u, along) = (z[scale], v[scale]);
            let precision = (-2.0 * u).exp();
            let weights = &z[place.clone()];
            let mixed: f64 = weights.iter().zip(&v[place.clone()]).map(|(w, v)| w * v).sum();
            out[scale] += (self.scales.curvature(u) - 2.0 * scaled_square(weights, u)) * along
                + 2.0 * precision * mixed;
            for ((out, w), v) in out[place.clone()].iter_mut().zip(weights).zip(&v[place.clone()]) {
                *out += precision * (2.0 * w * along - v);
            }
        }
    }
}

impl LogDensity for HierarchicalLogistic {
    fn dim(&self) -> usize {
        FIRST + self.likelihood.weights()
    }

    fn work_len(&self, columns: usize) -> usize {
        self.likelihood.work_len(columns)
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        let mut out = [0.0];
        self.log_densities(one(z), &mut out, work);
        out[0]
    }

    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) {
        assert!(z.ncols() == out.len() && z.nrows() == self.dim(), "a density per column");
        self.priors_into(z, out);
        self.likelihood.add_logs(z, FIRST, out, work);
        for (j, out) in out.iter_mut().enumerate() {
            *out = decided(*out, z.column(j));
        }
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        out.push("sigma_beta", z[0].exp());
        out.push("sigma_alpha", z[1].exp());
        let (beta, alpha) = z[FIRST..].split_at(self.num_features());
        out.vector("beta", beta.iter().copied());
        out.push("alpha", alpha[0]);
    }
}

impl Gradient for HierarchicalLogistic {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let mut out = [0.0];
        let len = gradient.len();
        self.gradients_into(one(z), &mut out, mcsa_core::batch_mut(gradient, len, 1), work);
        out[0]
    }

    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        mut gradients: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        assert!(z.ncols() == out.len() && z.nrows() == self.dim(), "a density per column");
        assert!(gradients.ncols() == out.len() && gradients.nrows() == self.dim(), "a gradient per column");
        self.priors_into(z, out);
        let accept = |j: usize, slope: &[f64]| {
            let gradient = gradients.column_mut(j);
            gradient[..FIRST].fill(0.0);
            gradient[FIRST..].copy_from_slice(slope);
            self.add_prior_gradient(z.column(j), gradient);
        };
        self.likelihood.add_gradients(z, FIRST, out, accept, work);
        for (j, out) in out.iter_mut().enumerate() {
            *out = decided(*out, z.column(j));
            if *out == f64::NEG_INFINITY {
                gradients.column_mut(j).fill(0.0);
            }
        }
    }
}

impl Curvature for HierarchicalLogistic {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.likelihood.hessian_vector_into(&z[FIRST..], &v[FIRST..], &mut out[FIRST..], work);
        out[..FIRST].fill(0.0);
        self.add_prior_hessian_vector(z, v, out);
    }
}

impl Separable for HierarchicalLogistic {
    fn num_data(&self) -> usize {
        self.likelihood.rows()
    }

    fn log_prior(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.prior(z)
    }

    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], _: &mut [f64]) -> f64 {
        self.likelihood.log_at(rows, &z[FIRST..])
    }
}

impl Subsampled for HierarchicalLogistic {
    fn rows_work_len(&self, _: usize) -> usize {
        0
    }

    fn prior_gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        self.add_prior_gradient(z, gradient);
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
        self.likelihood.add_gradient_at(rows, scale, &z[FIRST..], &mut gradient[FIRST..])
    }

    fn prior_hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.fill(0.0);
        self.add_prior_hessian_vector(z, v, out);
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
        self.likelihood.add_hessian_vector_at(rows, scale, &z[FIRST..], &v[FIRST..], &mut out[FIRST..]);
    }
}

impl Constrained for HierarchicalLogistic {
    fn transform(&self, i: usize) -> Transform {
        if i < FIRST { Transform::Positive } else { Transform::Real }
    }

    fn log_density_at(&self, theta: &[f64]) -> f64 {
        let (tau, sigma) = (theta[0], theta[1]);
        let (beta, alpha) = theta[FIRST..].split_at(self.num_features());
        let scale = |s: f64| match self.scales {
            ScalePrior::HalfNormal => 0.5 * (2.0 / PI).ln() - 0.5 * s * s,
            ScalePrior::InverseGamma => -2.0 * s.ln() - s.recip(),
        };
        let weights: f64 = beta.iter().map(|&b| log_normal(b, tau)).sum();
        let rows: Vec<usize> = (0..self.likelihood.rows()).collect();
        scale(tau)
            + scale(sigma)
            + weights
            + log_normal(alpha[0], sigma)
            + self.likelihood.log_at(&rows, &theta[FIRST..])
    }
}
