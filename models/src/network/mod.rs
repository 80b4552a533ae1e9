//! Bayesian neural network regression, and its predictions.

mod rectifier;

use std::f64::consts::PI;

use faer::MatRef;
use mcsa_core::{Error, Gradient, LogDensity, Named, Separable, borrow, fits_in_memory, numeric};
use mcsa_numeric::design::{GROUP, Panels};

use crate::support::{decided, decided_with, rows_and_responses};
use rectifier::rectify_back;

/// Bayesian neural network regression: one rectified hidden layer, unknown prior and noise precisions. (pMCSA)
///
/// ```text
/// lambda, gamma ~ Gamma(6, rate 6),   W1, W2 ~ N(0, 1/lambda),   x' = (x, 1) / sqrt(D + 1)
/// h = max(W1 x', 0),   f = W2 (h, 1) / sqrt(H + 1),   y ~ N(f, 1/gamma)
/// z = (log lambda, log gamma, W1 unit by unit, W2),   log-Jacobian z_0 + z_1,   dimension H (D + 1) + H + 3
/// ```
///
/// Unlike in the paper, the output is linear and every layer is divided by the root of its fan-in, as in the paper's source code.
/// A rectified output could fit no negative response. Unlike in that code, precisions are not kept above 1e-6.
///
/// The density is continuous, but its gradient jumps where the pre-activation of a hidden unit at a datum is 0. There the
/// rectifier has slope 0; no curvature is provided. Where a precision (of logarithm above 709), an output or a square overflows,
/// the density is `-inf` and the gradient 0.
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
    inputs: Panels,
    y: Vec<f64>,
    hidden: usize,
}

/// Shape and rate of the prior of both precisions. (pMCSA)
const SHAPE: f64 = 6.0;

/// Log Gamma density of a precision `e^u` as a density of `u`, and its slope in `u`.
fn precision_prior(u: f64) -> (f64, f64) {
    let mean = SHAPE * u.exp();
    // The normaliser is 6^6 / Gamma(6).
    (SHAPE * SHAPE.ln() - 120.0_f64.ln() + SHAPE * u - mean, SHAPE - mean)
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
        rows_and_responses(x, y).map_err(refuse)?;
        if hidden == 0 {
            return Err(refuse(Error::parameter("hidden units", 0.0, "at least 1")));
        }
        fits_in_memory("hidden units", hidden, x.ncols() + 2).map_err(refuse)?;
        let scale = (x.ncols() as f64 + 1.0).sqrt().recip();
        let entry = |i: usize, k: usize| if k < x.ncols() { scale * x[(i, k)] } else { scale };
        let inputs = Panels::from_fn(x.nrows(), x.ncols() + 1, entry);
        Ok(Self { inputs, y: y.to_vec(), hidden })
    }

    /// The weights `W1`, unit by unit, and `W2`.
    fn layers<'a>(&self, weights: &'a [f64]) -> (&'a [f64], &'a [f64]) {
        weights.split_at(self.hidden * self.inputs.columns())
    }

    /// `1 / sqrt(H + 1)`.
    fn output_scale(&self) -> f64 {
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
            units.zip(second).map(|(w, v)| v * numeric::dot(w, self.inputs.by_row().row(i)).max(0.0)).sum();
        self.output_scale() * (hidden + second[self.hidden]) - self.y[i]
    }

    /// Writes the residuals `f - y`, on whole panels with 0 in padding rows; `units` receives the pre-activations, or is empty.
    fn errors_into(&self, z: &[f64], units: &mut [f64], errors: &mut [f64], packed: &mut [f64]) {
        let (stride, d, scale) =
            (self.inputs.view().padded_rows(), self.inputs.columns(), self.output_scale());
        let (first, second) = self.layers(&z[2..]);
        errors.fill(scale * second[self.hidden]);
        for begin in (0..self.hidden).step_by(GROUP) {
            let end = self.hidden.min(begin + GROUP);
            let rows = (begin..end).map(|h| &first[h * d..(h + 1) * d]);
            let mut factors = [0.0; GROUP];
            factors.iter_mut().zip(&second[begin..end]).for_each(|(factor, weight)| *factor = scale * weight);
            let units = units.get_mut(begin * stride..end * stride).unwrap_or_default();
            self.inputs.view().add_rectified(rows, &factors[..end - begin], errors, units, packed);
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

    fn work_len(&self, _: usize) -> usize {
        let inputs = self.inputs.view();
        inputs.padded_rows() * (self.hidden + 1) + inputs.multiply_work_len()
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        assert_eq!(z.len(), self.dim(), "a point of the target's dimension");
        let stride = self.inputs.view().padded_rows();
        let packed = borrow(&mut work, self.inputs.view().multiply_work_len());
        let errors = borrow(&mut work, stride);
        self.errors_into(z, &mut [], errors, packed);
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
        let (stride, d, scale) =
            (self.inputs.view().padded_rows(), self.inputs.columns(), self.output_scale());
        let packed = borrow(&mut work, self.inputs.view().multiply_work_len());
        let errors = borrow(&mut work, stride);
        let units = borrow(&mut work, stride * self.hidden);
        self.errors_into(z, units, errors, packed);
        let square = numeric::dot(errors, errors);
        let (likelihood, slope) = normals(z[1], self.y.len(), square);
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
            self.inputs.view().pull_back(units, out.len() / d, out);
        }
        let shrink = -z[0].exp();
        for (g, &w) in gradient[2..].iter_mut().zip(weights) {
            *g += if w == 0.0 { 0.0 } else { shrink * w };
        }
        decided_with(self.prior(z) + likelihood, z, gradient)
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

/// Mean and variance of a rectified normal, `max(a, 0)` for `a ~ N(mean, variance)`.
///
/// ```text
/// m Phi(c) + s phi(c),   c = m / s;   (m^2 + s^2) Phi(c) + m s phi(c) - mean^2
/// ```
/// Far below 0 both are computed from the Mills ratio `phi/Phi`, without cancellation of the leading terms.
fn rectified(mean: f64, variance: f64) -> (f64, f64) {
    if variance <= 0.0 {
        return (mean.max(0.0), 0.0);
    }
    let s = variance.sqrt();
    let c = mean / s;
    let log_p = numeric::scalar::log_ndtr(c);
    let (p, hazard) = (log_p.exp(), numeric::scalar::ndtr_hazard(c));
    // E[max(a, 0) | a > 0] / s; below -1e3, c + hazard has no correct digits and 1/|c| is exact to 2e-6.
    let above = if c < -1e3 { -1.0 / c } else { c + hazard };
    let first = p * s * above;
    // E[(a/s)^2 | a > 0] = 1 + c (c + hazard).
    let second = if c < -1e3 { 2.0 / (c * c) } else { 1.0 + c * above };
    (first, (p * variance * (second - p * above * above)).max(0.0))
}

impl NeuralRegression {
    /// Predictive mean and variance at each row of `x`, by moment propagation through a `q` with independent coordinates.
    ///
    /// ```text
    /// layer  m' = M m / sqrt(n),  v' = (M^2 v + V m^2 + V v) / n;   rectifier: moments of max(a, 0);   noise 1 / E[gamma]
    /// ```
    /// `mean` and `variance` are those of `z` under `q`. Hidden units share no weight, so under such a `q` the moments of the
    /// output are exact. Two things are approximations: the response is taken as normal with these moments, and its noise variance
    /// as `1/E[gamma] = exp(-m_1 - v_1/2)`, as in the source code of `pMCSA`.
    pub fn predict_from_moments(
        &self,
        x: MatRef<'_, f64>,
        mean: &[f64],
        variance: &[f64],
        means: &mut [f64],
        variances: &mut [f64],
    ) {
        let d = self.inputs.columns();
        let dim = 2 + self.hidden * (d + 1) + 1;
        assert!(mean.len() == dim && variance.len() == dim, "a moment per coordinate");
        assert!(
            x.ncols() + 1 == d && x.nrows() == means.len() && x.nrows() == variances.len(),
            "shapes agree"
        );
        let ((first, second), (v_first, v_second)) = (self.layers(&mean[2..]), self.layers(&variance[2..]));
        let noise = (-mean[1] - 0.5 * variance[1]).exp();
        let (fan_in, fan_out) = (d as f64, self.hidden as f64 + 1.0);
        for i in 0..x.nrows() {
            let input: Vec<f64> = x.row(i).iter().copied().chain([1.0]).collect();
            let (mut m, mut v) = (second[self.hidden], v_second[self.hidden]);
            for h in 0..self.hidden {
                let (w, s) = (&first[h * d..(h + 1) * d], &v_first[h * d..(h + 1) * d]);
                let a: f64 = w.iter().zip(&input).map(|(w, x)| w * x).sum();
                let b: f64 = s.iter().zip(&input).map(|(s, x)| s * x * x).sum();
                let (unit, spread) = rectified(a / fan_in.sqrt(), b / fan_in);
                m += second[h] * unit;
                v += second[h].powi(2) * spread + v_second[h] * (unit * unit + spread);
            }
            means[i] = m / fan_out.sqrt();
            variances[i] = v / fan_out + noise;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    /// Against the integrals, by the trapezoid rule on 20,000 points.
    #[test]
    fn moments_of_a_rectified_normal_are_integrals() {
        for (mean, s) in [(0.0_f64, 1.0_f64), (2.0, 0.5), (-3.0, 1.0), (1.0, 3.0), (-6.0, 1.0)] {
            let (low, high, n) = (0.0, mean.max(0.0) + 12.0 * s, 20_000);
            let h: f64 = (high - low) / f64::from(n);
            let (mut m1, mut m2) = (0.0, 0.0);
            for i in 0..=n {
                let a = low + h * f64::from(i);
                let density = (-0.5 * ((a - mean) / s).powi(2)).exp() / (s * (2.0 * PI).sqrt());
                m1 += a * density * h;
                m2 += a * a * density * h;
            }
            let (first, variance) = rectified(mean, s * s);
            assert!((first / m1 - 1.0).abs() < 1e-5, "{mean} {s}: {first} {m1}");
            assert!((variance / (m2 - m1 * m1) - 1.0).abs() < 1e-5, "{mean} {s}: {variance}");
        }
        assert_eq!(rectified(-1e5, 1.0), (0.0, 0.0));
        assert_eq!(rectified(2.0, 0.0), (2.0, 0.0));
    }

    /// 40,000 draws; 5 standard errors of the mean and about 5 of the variance.
    #[test]
    fn moments_and_draws_agree() {
        let x = faer::mat![[0.3, -1.0], [2.0, 0.5]];
        let target = NeuralRegression::new(x.as_ref(), &[0.0, 1.0], 4).unwrap();
        let (dim, n) = (target.dim(), 40_000);
        let mut stream = Seed::new(5).stream(0, 0);
        let mean: Vec<f64> = (0..dim).map(|_| 0.7 * stream.normal()).collect();
        let variance = vec![0.2_f64; dim];
        let (mut m, mut v, mut squares) = ([0.0; 2], [0.0; 2], [[0.0; 2]; 2]);
        target.predict_from_moments(x.as_ref(), &mean, &variance, &mut m, &mut v);
        for _ in 0..n {
            let z: Vec<f64> = mean.iter().map(|mean| mean + 0.2_f64.sqrt() * stream.normal()).collect();
            for (i, [first, second]) in squares.iter_mut().enumerate() {
                let off = target.error(i, &z[2..]) + target.y[i] - m[i];
                *first += off / f64::from(n);
                *second += off * off / f64::from(n);
            }
        }
        let noise = (-mean[1] - 0.5 * variance[1]).exp();
        for (i, [first, second]) in squares.into_iter().enumerate() {
            let spread = v[i] - noise;
            assert!(first.abs() < 5.0 * (spread / f64::from(n)).sqrt(), "{m:?} {first}");
            assert!((spread - second + first * first).abs() < 0.06 * spread, "{v:?} {second}");
        }
    }
}
