use std::f64::consts::PI;

use faer::MatRef;
use mcsa_core::{Error, Gradient, LogDensity, Named, Separable, all_finite, borrow, numeric, same_length};

use super::rectifier::{add_rectified, rectify_back};
use crate::support::{decided, log_normal};
use crate::{Constrained, Transform};
use mcsa_core::finite_matrix;
use mcsa_numeric::design::{GROUP, Panels};

/// Bayesian neural network regression: one rectified hidden layer, unknown prior and noise precisions. (pMCSA)
///
/// ```text
/// lambda, gamma ~ Gamma(6, rate 6),   W1, W2 ~ N(0, 1/lambda),   x' = (x, 1) / sqrt(D + 1)
/// h = max(W1 x', 0),   f = W2 (h, 1) / sqrt(H + 1),   y ~ N(f, 1/gamma)
/// z = (log lambda, log gamma, W1 unit by unit, W2),   log-Jacobian z_0 + z_1,   dimension H (D + 1) + H + 3
/// ```
///
/// Unlike the paper, the output is linear and every layer is divided by the root of its fan-in, as in its source code; a
/// rectified output could fit no negative response. Unlike that code, precisions are not kept above 1e-6.
///
/// The rectifier has a kink: the density is continuous, its gradient jumps where the pre-activation of a hidden unit at a datum is
/// 0. There the slope 0 is used, and no curvature is provided. `-inf`, with gradient 0, where a precision (its logarithm beyond
/// 709), an output or a square overflows.
///
/// ```
/// use mcsa_core::LogDensity;
/// use mcsa_models::NeuralRegression;
/// let target = NeuralRegression::new(faer::mat![[0.5], [-0.5]].as_ref(), &[1.0, -1.0], 50)?;
/// assert_eq!(target.dim(), 50 * 2 + 51 + 2);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NeuralRegression {
    /// `(x, 1) / sqrt(D + 1)`.
    pub(super) inputs: Panels,
    y: Vec<f64>,
    pub(super) hidden: usize,
}

/// Shape and rate of the prior of both precisions. (pMCSA)
const SHAPE: f64 = 6.0;

/// `ln(6^6 / Gamma(6))`.
fn log_gamma_normaliser() -> f64 {
    SHAPE * SHAPE.ln() - 120.0_f64.ln()
}

/// Log Gamma density of a precision `e^u` as a density of `u`, and its slope in `u`.
fn precision_prior(u: f64) -> (f64, f64) {
    let mean = SHAPE * u.exp();
    (log_gamma_normaliser() + SHAPE * u - mean, SHAPE - mean)
}

/// `log N(.; 0, e^-u)` of `count` numbers whose squares sum to `square`, and its slope in `u`.
fn normals(u: f64, count: usize, square: f64) -> (f64, f64) {
    let form = if square == 0.0 { 0.0 } else { 0.5 * u.exp() * square };
    let half = 0.5 * count as f64;
    (half * (u - (2.0 * PI).ln()) - form, half - form)
}

impl NeuralRegression {
    /// A model of features `x` (one row per datum, without a column of ones), responses `y`, and the number of hidden units.
    ///
    /// # Errors
    /// If the number of responses is not the number of rows, there is no hidden unit, or a number is not finite.
    pub fn new(x: MatRef<'_, f64>, y: &[f64], hidden: usize) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("NeuralRegression");
        same_length("responses", x.nrows(), y.len()).map_err(refuse)?;
        finite_matrix("features", x).map_err(refuse)?;
        all_finite("responses", y).map_err(refuse)?;
        if hidden == 0 {
            return Err(refuse(Error::parameter("hidden units", 0.0, "at least 1")));
        }
        let scale = (x.ncols() as f64 + 1.0).sqrt().recip();
        let entry = |i: usize, k: usize| if k < x.ncols() { scale * x[(i, k)] } else { scale };
        let inputs = Panels::from_fn(x.nrows(), x.ncols() + 1, entry);
        Ok(Self { inputs, y: y.to_vec(), hidden })
    }

    /// The weights `W1`, unit by unit, and `W2`.
    pub(super) fn layers<'a>(&self, weights: &'a [f64]) -> (&'a [f64], &'a [f64]) {
        weights.split_at(self.hidden * self.inputs.columns())
    }

    /// `1 / sqrt(H + 1)`.
    pub(super) fn output_scale(&self) -> f64 {
        (self.hidden as f64 + 1.0).sqrt().recip()
    }

    fn prior(&self, z: &[f64]) -> f64 {
        let weights = &z[2..];
        let squares = numeric::dot(weights, weights);
        precision_prior(z[0]).0 + precision_prior(z[1]).0 + normals(z[0], weights.len(), squares).0
    }

    /// Residual `f - y` of one datum.
    fn error(&self, i: usize, weights: &[f64]) -> f64 {
        assert!(i < self.y.len(), "row {i} of {} data", self.y.len());
        let (first, second) = self.layers(weights);
        let units = first.chunks_exact(self.inputs.columns());
        let hidden: f64 =
            units.zip(second).map(|(w, v)| v * numeric::dot(w, self.inputs.row(i)).max(0.0)).sum();
        self.output_scale() * (hidden + second[self.hidden]) - self.y[i]
    }

    /// Writes the residuals `f - y`, on whole panels with 0 in padding rows; `units` holds the pre-activations of one group, or of
    /// all.
    fn errors_into(&self, z: &[f64], units: &mut [f64], errors: &mut [f64], packed: &mut [f64]) {
        let (stride, d, scale) = (self.inputs.padded_rows(), self.inputs.columns(), self.output_scale());
        let keeps_all = units.len() == stride * self.hidden;
        let (first, second) = self.layers(&z[2..]);
        errors.fill(scale * second[self.hidden]);
        let mut begin = 0;
        while begin < self.hidden {
            let group = (self.hidden - begin).min(GROUP);
            let place = if keeps_all { begin * stride } else { 0 };
            let units = &mut units[place..place + group * stride];
            let rows = (begin..begin + group).map(|h| &first[h * d..(h + 1) * d]);
            self.inputs.multiply(rows, units, packed);
            for (unit, &weight) in units.chunks_exact(stride.max(1)).zip(&second[begin..begin + group]) {
                add_rectified(scale * weight, unit, errors);
            }
            begin += group;
        }
        for (error, y) in errors.iter_mut().zip(&self.y) {
            *error -= y;
        }
        errors[self.y.len()..].fill(0.0);
    }
}

impl LogDensity for NeuralRegression {
    fn dim(&self) -> usize {
        2 + self.hidden * (self.inputs.columns() + 1) + 1
    }

    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        let (stride, d) = (self.inputs.padded_rows(), self.inputs.columns());
        stride * (self.hidden.max(GROUP) + 1) + self.inputs.multiply_work_len() + GROUP * d
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        assert_eq!(z.len(), self.dim(), "a point of the target's dimension");
        let stride = self.inputs.padded_rows();
        let packed = borrow(&mut work, self.inputs.multiply_work_len());
        let errors = borrow(&mut work, stride);
        let units = borrow(&mut work, stride * GROUP.min(self.hidden));
        self.errors_into(z, units, errors, packed);
        decided(self.prior(z) + normals(z[1], self.y.len(), numeric::dot(errors, errors)).0, z)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        out.push("lambda", z[0].exp());
        out.push("gamma", z[1].exp());
        let d = self.inputs.columns();
        let (first, second) = self.layers(&z[2..]);
        out.each(|at| format!("W1[{}, {}]", at / d, at % d), first.iter().copied());
        out.vector("W2", second.iter().copied());
    }
}

impl Gradient for NeuralRegression {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], mut work: &mut [f64]) -> f64 {
        assert!(z.len() == self.dim() && gradient.len() == self.dim(), "points of the target's dimension");
        let (stride, d, scale) = (self.inputs.padded_rows(), self.inputs.columns(), self.output_scale());
        let packed = borrow(&mut work, self.inputs.multiply_work_len());
        let errors = borrow(&mut work, stride);
        let units = borrow(&mut work, stride * self.hidden);
        self.errors_into(z, units, errors, packed);
        let square = numeric::dot(errors, errors);
        let (likelihood, slope) = normals(z[1], self.y.len(), square);
        let log_p = decided(self.prior(z) + likelihood, z);
        if log_p == f64::NEG_INFINITY {
            gradient.fill(0.0);
            return log_p;
        }
        let weights = &z[2..];
        gradient[0] =
            precision_prior(z[0]).1 + normals(z[0], weights.len(), numeric::dot(weights, weights)).1;
        gradient[1] = precision_prior(z[1]).1 + slope;
        let precision = z[1].exp();
        for error in &mut *errors {
            *error *= -precision * scale;
        }
        let (_, second) = self.layers(weights);
        let (of_first, of_second) = gradient[2..].split_at_mut(self.hidden * d);
        of_second[self.hidden] = numeric::sum(errors);
        let group = stride.max(1) * GROUP;
        for (g, (units, out)) in units.chunks_mut(group).zip(of_first.chunks_mut(GROUP * d)).enumerate() {
            for (u, unit) in units.chunks_exact_mut(stride.max(1)).enumerate() {
                let h = g * GROUP + u;
                of_second[h] = rectify_back(second[h], unit, errors);
            }
            self.inputs.pull_back(units, out.len() / d, out);
        }
        let shrink = -z[0].exp();
        for (g, &w) in gradient[2..].iter_mut().zip(weights) {
            *g += if w == 0.0 { 0.0 } else { shrink * w };
        }
        log_p
    }
}

impl Separable for NeuralRegression {
    fn num_data(&self) -> usize {
        self.y.len()
    }

    fn log_prior(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.prior(z)
    }

    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], _: &mut [f64]) -> f64 {
        let square = rows.iter().map(|&i| self.error(i, &z[2..]).powi(2)).sum();
        normals(z[1], rows.len(), square).0
    }
}

impl Constrained for NeuralRegression {
    fn transform(&self, i: usize) -> Transform {
        if i < 2 { Transform::Positive } else { Transform::Real }
    }

    fn log_density_at(&self, theta: &[f64]) -> f64 {
        let gamma = |x: f64| log_gamma_normaliser() + (SHAPE - 1.0) * x.ln() - SHAPE * x;
        let (lambda, precision) = (theta[0], theta[1]);
        let weights: f64 = theta[2..].iter().map(|&w| log_normal(w, lambda.sqrt().recip())).sum();
        let terms =
            (0..self.y.len()).map(|i| log_normal(self.error(i, &theta[2..]), precision.sqrt().recip()));
        gamma(lambda) + gamma(precision) + weights + terms.sum::<f64>()
    }
}
