//! Synthetic data of independent cases, each with its own random stream.

use faer::Mat;
use mcsa_core::{Address, Seed, Stream};

/// Distribution of one case.
pub(super) trait Case {
    /// The number of inputs.
    fn inputs(&self) -> usize;

    /// Draws case `row` into `x` and returns its target.
    fn draw(&self, row: usize, x: &mut [f64], stream: &mut Stream) -> f64;
}

/// The first `rows` cases.
pub(super) fn draw(case: &impl Case, rows: usize, root: Seed) -> (Mat<f64>, Vec<f64>) {
    let mut stream = root.named("rows").stream(0, 0);
    let (mut x, mut y) = (Mat::zeros(rows, case.inputs()), Vec::with_capacity(rows));
    let mut inputs = vec![0.0; case.inputs()];
    for row in 0..rows {
        stream.go_to(Address::of(row as u64, 0));
        y.push(case.draw(row, &mut inputs, &mut stream));
        inputs.iter().enumerate().for_each(|(column, value)| x[(row, column)] = *value);
    }
    (x, y)
}

/// Standard normals, each correlated with the one before: an autoregression of order 1.
pub(super) fn correlated(x: &mut [f64], correlation: f64, stream: &mut Stream) {
    stream.normals_into(x);
    let rest = (1.0 - correlation * correlation).sqrt();
    for k in 1..x.len() {
        x[k] = correlation * x[k - 1] + rest * x[k];
    }
}

/// 1 with probability `1 / (1 + exp(-logit))`, else 0.
pub(super) fn label(logit: f64, stream: &mut Stream) -> f64 {
    f64::from(u8::from(stream.uniform() < 1.0 / (1.0 + (-logit).exp())))
}

/// Standard normal weights.
pub(super) fn weights(count: usize, root: Seed) -> Vec<f64> {
    let mut weights = vec![0.0; count];
    root.named("weights").stream(0, 0).normals_into(&mut weights);
    weights
}

/// `sum_i a_i b_i`.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
