//! Synthetic data of the shape of energy, sml, gas and pol.

use mcsa_core::{Seed, Stream};

use super::cases::{Case, correlated, dot, weights};

const UNITS: usize = 10;
const NOISE: f64 = 0.1;

/// Correlated normal inputs; the target is a random sum of ten smooth steps, with noise.
///
/// ```text
/// y = sum_k a_k tanh(w_k' x / sqrt(d) + b_k) / sqrt(10) + 0.1 eps
/// ```
pub(super) struct Smooth {
    inputs: usize,
    weights: Vec<f64>,
}

impl Smooth {
    pub(super) fn new(inputs: usize, root: Seed) -> Self {
        Self { inputs, weights: weights(UNITS * (inputs + 2), root) }
    }
}

impl Case for Smooth {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn draw(&self, _: usize, x: &mut [f64], stream: &mut Stream) -> f64 {
        correlated(x, 0.5, stream);
        let step = |unit: &[f64]| {
            let (slopes, rest) = unit.split_at(self.inputs);
            rest[0] * (dot(slopes, x) / (self.inputs as f64).sqrt() + rest[1]).tanh()
        };
        let sum: f64 = self.weights.chunks_exact(self.inputs + 2).map(step).sum();
        sum / (UNITS as f64).sqrt() + NOISE * stream.normal()
    }
}
