//! Synthetic data of the shape of CovType: measurements and two categories.

use mcsa_core::{Seed, Stream};

use super::cases::{Case, correlated, dot, label, weights};

const MEASURED: usize = 10;
const CATEGORIES: [usize; 2] = [4, 40];
const INPUTS: usize = MEASURED + CATEGORIES[0] + CATEGORIES[1];

/// Correlated normals, then two categories in one-hot coding; category `k` has a probability proportional to `1/k` (Zipf).
/// The label is logistic in all inputs, and centred so that about half of the labels are 1.
pub(super) struct Forest {
    weights: Vec<f64>,
    centre: f64,
}

impl Forest {
    pub(super) fn new(root: Seed) -> Self {
        let weights = weights(INPUTS, root);
        let mut start = MEASURED;
        let mut centre = 0.0;
        for count in CATEGORIES {
            centre += (1..=count).map(|k| weights[start + k - 1] / k as f64).sum::<f64>() / total(count);
            start += count;
        }
        Self { weights, centre }
    }
}

impl Case for Forest {
    fn inputs(&self) -> usize {
        INPUTS
    }

    fn draw(&self, _: usize, x: &mut [f64], stream: &mut Stream) -> f64 {
        let (measured, coded) = x.split_at_mut(MEASURED);
        correlated(measured, 0.5, stream);
        coded.fill(0.0);
        let mut start = 0;
        for count in CATEGORIES {
            coded[start + zipf(count, stream.uniform())] = 1.0;
            start += count;
        }
        label(dot(x, &self.weights) - self.centre, stream)
    }
}

/// `1 + 1/2 + .. + 1/count`.
fn total(count: usize) -> f64 {
    (1..=count).map(|k| 1.0 / k as f64).sum()
}

/// Category whose interval of cumulative probability contains `uniform`, counted from 0.
fn zipf(count: usize, uniform: f64) -> usize {
    let mut left = uniform * total(count);
    for k in 1..count {
        left -= 1.0 / k as f64;
        if left < 0.0 {
            return k - 1;
        }
    }
    count - 1
}
