use std::f64::consts::PI;

use faer::{MatMut, MatRef};
use mcsa_core::{
    Columns, ColumnsMut, Curvature, Error, Gradient, LogDensity, Named, Separable, Subsampled, numeric, one,
};

use super::{Likelihood, Link, Logistic, Probit};
use crate::support::{decided, positive};

/// Bayesian regression of labels 0 and 1 with a symmetric link `F` and independent normal weights.
///
/// ```text
/// z ~ N(0, s^2 I),   P(y_i = 1) = F(x_i' z),   log p(z) = log N(z; 0, s^2 I) + sum_i log F(+-x_i' z)
/// ```
///
/// The weights are unconstrained: no transform, no Jacobian. There is one weight per column of `x`; for an
/// intercept, put a column of ones in front. With [`Probit`] and `s = 1` it is the model of (MSC).
///
/// Log concave. `-inf`, with gradient 0, where `|z|^2` or a margin overflows.
///
/// ```
/// use mcsa_core::LogDensity;
/// use mcsa_models::LogisticRegression;
/// let x = faer::mat![[1.0, 0.5], [1.0, -2.0]];
/// let target = LogisticRegression::new(x.as_ref(), &[1.0, 0.0], 1.0)?;
/// let mut work = vec![0.0; target.work_len(1)];
/// let expected = -(2.0 * std::f64::consts::PI).ln() - 2.0 * 2.0_f64.ln();
/// assert!((target.log_density(&[0.0, 0.0], &mut work) - expected).abs() < 1e-14);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BinaryRegression<L> {
    likelihood: Likelihood<L>,
    precision: f64,
    log_normaliser: f64,
}

/// Regression with the logistic link.
pub type LogisticRegression = BinaryRegression<Logistic>;

/// Regression with the probit link. (MSC)
pub type ProbitRegression = BinaryRegression<Probit>;

impl<L: Link> BinaryRegression<L> {
    /// A model of features `x` (one row per datum), labels 0 or 1, and the prior standard deviation `s` of each weight.
    ///
    /// # Errors
    /// If the number of labels is not the number of rows, a label is neither 0 nor 1, a number is not finite, or `prior_scale` is
    /// not positive.
    pub fn new(x: MatRef<'_, f64>, labels: &[f64], prior_scale: f64) -> Result<Self, Error> {
        positive("prior scale", prior_scale).map_err(|error| error.within(L::NAME))?;
        let likelihood = Likelihood::new(x, labels, false).map_err(|error| error.within(L::NAME))?;
        let log_normaliser = -(x.ncols() as f64) * (prior_scale.ln() + 0.5 * (2.0 * PI).ln());
        Ok(Self { likelihood, precision: prior_scale.powi(-2), log_normaliser })
    }

    fn prior(&self, z: &[f64]) -> f64 {
        self.log_normaliser - 0.5 * self.precision * numeric::dot(z, z)
    }
}

impl<L: Link> LogDensity for BinaryRegression<L> {
    fn dim(&self) -> usize {
        self.likelihood.weights()
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
        for (j, out) in out.iter_mut().enumerate() {
            *out = self.prior(z.column(j));
        }
        self.likelihood.add_logs(z, 0, out, work);
        for (j, out) in out.iter_mut().enumerate() {
            *out = decided(*out, z.column(j));
        }
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        out.vector("weight", z.iter().copied());
    }
}

impl<L: Link> Gradient for BinaryRegression<L> {
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
        for (j, out) in out.iter_mut().enumerate() {
            *out = self.prior(z.column(j));
        }
        let accept = |j: usize, slope: &[f64]| {
            for ((g, z), slope) in gradients.column_mut(j).iter_mut().zip(z.column(j)).zip(slope) {
                *g = slope - self.precision * z;
            }
        };
        self.likelihood.add_gradients(z, 0, out, accept, work);
        for (j, out) in out.iter_mut().enumerate() {
            *out = decided(*out, z.column(j));
            if *out == f64::NEG_INFINITY {
                gradients.column_mut(j).fill(0.0);
            }
        }
    }
}

impl<L: Link> Curvature for BinaryRegression<L> {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.likelihood.hessian_vector_into(z, v, out, work);
        numeric::axpy(-self.precision, v, out);
    }
}

impl<L: Link> Separable for BinaryRegression<L> {
    fn num_data(&self) -> usize {
        self.likelihood.rows()
    }

    fn log_prior(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.prior(z)
    }

    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], _: &mut [f64]) -> f64 {
        self.likelihood.log_at(rows, z)
    }
}

impl<L: Link> Subsampled for BinaryRegression<L> {
    fn rows_work_len(&self, _: usize) -> usize {
        0
    }

    fn prior_gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        gradient.iter_mut().zip(z).for_each(|(g, z)| *g = -self.precision * z);
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
        self.likelihood.add_gradient_at(rows, scale, z, gradient)
    }

    fn prior_hessian_vector_into(&self, _: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.iter_mut().zip(v).for_each(|(out, v)| *out = -self.precision * v);
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
        self.likelihood.add_hessian_vector_at(rows, scale, z, v, out);
    }
}
