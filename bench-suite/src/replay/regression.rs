//! Weighted rows of a regression: log likelihood, slope, curvature, and derivatives for weights and covariates.

use mcsa_core::numeric::dot;
use mcsa_core::numeric::scalar::{log_sigmoid, sigmoid};

/// Log likelihood `sum_n l_n(x_n . z)` over rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rows {
    /// Covariates, one row of length d after another.
    pub(super) x: Vec<f64>,
    pub(super) likelihood: Terms,
}

/// Terms of a log likelihood in the predictor t.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Terms {
    /// `l_n = w+_n log sg(t) + w-_n log sg(-t)`; a row with label y and weight w has `w+ = w y` and `w- = w (1 - y)`.
    Logistic { positive: Vec<f64>, negative: Vec<f64> },
    /// `l_n = w_n log N(y_n; t, s^2)`.
    Normal { y: Vec<f64>, weights: Vec<f64>, deviation: f64 },
}

/// Derivatives for the parameters of [`Rows`]: covariates, then `w+` and `w-`, or weights and deviation.
pub(super) struct RowParams<'a> {
    pub(super) x: &'a mut [f64],
    pub(super) first: &'a mut [f64],
    pub(super) second: &'a mut [f64],
}

impl Rows {
    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        match &self.likelihood {
            Terms::Logistic { positive, .. } => positive.len(),
            Terms::Normal { y, .. } => y.len(),
        }
    }

    /// Number of parameters.
    pub(super) fn num_params(&self) -> usize {
        let second = if let Terms::Logistic { .. } = self.likelihood { self.len() } else { 1 };
        self.x.len() + self.len() + second
    }

    pub(super) fn params<'a>(&self, flat: &'a mut [f64]) -> RowParams<'a> {
        let (x, rest) = flat.split_at_mut(self.x.len());
        let (first, second) = rest.split_at_mut(self.len());
        RowParams { x, first, second }
    }

    fn row(&self, n: usize, d: usize) -> &[f64] {
        &self.x[n * d..(n + 1) * d]
    }

    /// `l_n(t)`.
    fn value(&self, n: usize, t: f64) -> f64 {
        match &self.likelihood {
            Terms::Logistic { positive, negative } => {
                positive[n] * log_sigmoid(t) + negative[n] * log_sigmoid(-t)
            }
            Terms::Normal { y, weights, deviation } => {
                let e = (y[n] - t) / deviation;
                -weights[n] * (0.5 * e * e + deviation.ln() + 0.5 * std::f64::consts::TAU.ln())
            }
        }
    }

    /// `l_n'(t)` and `-l_n''(t)`.
    fn slope_and_curvature(&self, n: usize, t: f64) -> (f64, f64) {
        match &self.likelihood {
            Terms::Logistic { positive, negative } => {
                let (up, down) = (sigmoid(t), sigmoid(-t));
                (positive[n] * down - negative[n] * up, (positive[n] + negative[n]) * up * down)
            }
            Terms::Normal { y, weights, deviation } => {
                let precision = weights[n] / (deviation * deviation);
                (precision * (y[n] - t), precision)
            }
        }
    }

    /// Log likelihood; adds its gradient to `gradient`, and its derivative for the deviation to `deviation_bar`.
    pub(super) fn add_value(&self, z: &[f64], gradient: &mut [f64], deviation_bar: &mut [f64]) -> f64 {
        let mut value = 0.0;
        for n in 0..self.len() {
            let t = dot(self.row(n, z.len()), z);
            value += self.value(n, t);
            if let (Terms::Normal { y, weights, deviation }, Some(bar)) =
                (&self.likelihood, deviation_bar.first_mut())
            {
                let e = (y[n] - t) / deviation;
                *bar += weights[n] * (e * e - 1.0) / deviation;
            }
        }
        self.add_gradient(z, gradient);
        value
    }

    /// `gradient += sum_n l_n'(t_n) x_n`.
    pub(super) fn add_gradient(&self, z: &[f64], gradient: &mut [f64]) {
        for n in 0..self.len() {
            let x = self.row(n, z.len());
            let (slope, _) = self.slope_and_curvature(n, dot(x, z));
            gradient.iter_mut().zip(x).for_each(|(g, x)| *g += slope * x);
        }
    }

    /// Adds `scale` times the product of the second derivatives with u, and the derivatives of `scale * u . gradient`.
    pub(super) fn add_second(
        &self,
        z: &[f64],
        u: &[f64],
        scale: f64,
        product: &mut [f64],
        bars: &mut RowParams<'_>,
    ) {
        let d = z.len();
        for n in 0..self.len() {
            let x = self.row(n, d);
            let (t, along) = (dot(x, z), dot(x, u));
            let (slope, curvature) = self.slope_and_curvature(n, t);
            for i in 0..d {
                product[i] -= scale * curvature * along * x[i];
                bars.x[n * d + i] += scale * (slope * u[i] - curvature * along * z[i]);
            }
            match &self.likelihood {
                Terms::Logistic { .. } => {
                    bars.first[n] += scale * sigmoid(-t) * along;
                    bars.second[n] -= scale * sigmoid(t) * along;
                }
                Terms::Normal { y, deviation, .. } => {
                    bars.first[n] += scale * (y[n] - t) / (deviation * deviation) * along;
                    bars.second[0] -= scale * 2.0 * slope / deviation * along;
                }
            }
        }
    }
}
