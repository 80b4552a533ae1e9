//! Synthetic data of the shape of SUSY, HIGGS and MiniBooNE.

use mcsa_core::{Seed, Stream};

use super::cases::{Case, correlated, dot, label, weights};

/// Measured inputs that are correlated normals, inputs derived from pairs of these, and a label that is logistic in all
/// inputs.
pub(super) struct Collisions {
    measured: usize,
    weights: Vec<f64>,
}

impl Collisions {
    pub(super) fn new(measured: usize, inputs: usize, root: Seed) -> Self {
        let scale = 2.0 / (inputs as f64).sqrt();
        let weights = weights(inputs, root).into_iter().map(|weight| scale * weight).collect();
        Self { measured, weights }
    }
}

impl Case for Collisions {
    fn inputs(&self) -> usize {
        self.weights.len()
    }

    fn draw(&self, _: usize, x: &mut [f64], stream: &mut Stream) -> f64 {
        let (measured, derived) = x.split_at_mut(self.measured);
        correlated(measured, 0.5, stream);
        for (k, value) in derived.iter_mut().enumerate() {
            let (a, b) = (measured[k % self.measured], measured[(k + 3) % self.measured]);
            *value = match k % 3 {
                0 => (a * a + b * b).sqrt() - 1.25, // the mean length of two standard normals is about 1.25
                1 => a * b,
                _ => (a - b).tanh(),
            };
        }
        label(dot(x, &self.weights), stream)
    }
}

/// One row in this number has no measurement: 468 of 130064.
const MISSING_EVERY: usize = 278;
/// Code for a missing measurement.
const MISSING: f64 = -999.0;

/// Inputs with the heavy tails of Student's t with 3 degrees of freedom, some rows without measurement, and about 28 percent
/// of labels 1.
pub(super) struct Flashes {
    weights: Vec<f64>,
}

impl Flashes {
    pub(super) fn new(inputs: usize, root: Seed) -> Self {
        let scale = 2.0 / (inputs as f64).sqrt();
        Self { weights: weights(inputs, root).into_iter().map(|weight| scale * weight).collect() }
    }
}

impl Case for Flashes {
    fn inputs(&self) -> usize {
        self.weights.len()
    }

    fn draw(&self, row: usize, x: &mut [f64], stream: &mut Stream) -> f64 {
        for value in x.iter_mut() {
            let mut normals = [0.0; 4];
            stream.normals_into(&mut normals);
            let [a, rest @ ..] = normals;
            *value = a / (dot(&rest, &rest) / 3.0).sqrt();
        }
        // Inputs to the logit are bounded, so that a single tail value does not decide a label.
        let logit: f64 = x.iter().zip(&self.weights).map(|(x, weight)| weight * x.tanh()).sum();
        if row.is_multiple_of(MISSING_EVERY) {
            x.fill(MISSING);
        }
        label(logit - 1.2, stream)
    }
}
