//! Quadratic log likelihoods, those of linear regression with known noise.

use faer::Mat;

use super::normal::Normal;

/// Log likelihood `log l(z) = constant + a . z - z^T B z / 2`.
#[derive(Debug, Clone, PartialEq)]
pub struct Quadratic {
    /// The slope `a`.
    pub slope: Vec<f64>,
    /// The symmetric curvature `B`.
    pub curvature: Mat<f64>,
    /// The constant.
    pub constant: f64,
}

impl Quadratic {
    /// `a z - B z^2 / 2` in one dimension.
    pub fn scalar(slope: f64, curvature: f64) -> Self {
        Self { slope: vec![slope], curvature: Mat::from_fn(1, 1, |_, _| curvature), constant: 0.0 }
    }

    /// Linear regression on weighted rows, `sum_n weight_n log N(y_n; x_n . z, deviation^2)`, with one row of `covariates` per
    /// response.
    ///
    /// # Panics
    /// If there are fewer responses or weights than rows.
    pub fn regression(covariates: &Mat<f64>, responses: &[f64], weights: &[f64], deviation: f64) -> Self {
        let (rows, d) = covariates.shape();
        let precision = 1.0 / (deviation * deviation);
        let total = |f: &dyn Fn(usize) -> f64| -> f64 { (0..rows).map(|n| weights[n] * f(n)).sum() };
        let volume = (std::f64::consts::TAU * deviation * deviation).ln();
        let bend = |i: usize, j: usize| precision * total(&|n| covariates[(n, i)] * covariates[(n, j)]);
        Self {
            slope: (0..d).map(|i| precision * total(&|n| covariates[(n, i)] * responses[n])).collect(),
            curvature: Mat::from_fn(d, d, bend),
            constant: -0.5 * total(&|n| precision * responses[n] * responses[n] + volume),
        }
    }

    /// The difference `log l(z) - log l'(z)` from another likelihood l'.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        Self {
            slope: self.slope.iter().zip(&other.slope).map(|(a, b)| a - b).collect(),
            curvature: &self.curvature - &other.curvature,
            constant: self.constant - other.constant,
        }
    }

    /// `E_law[log l]`.
    pub fn mean(&self, law: &Normal) -> f64 {
        let (m, covariance) = (law.mean(), law.covariance());
        let mut mean = self.constant;
        for i in 0..m.len() {
            mean += self.slope[i] * m[i];
            for j in 0..m.len() {
                mean -= 0.5 * self.curvature[(i, j)] * (covariance[(i, j)] + m[i] * m[j]);
            }
        }
        mean
    }
}
