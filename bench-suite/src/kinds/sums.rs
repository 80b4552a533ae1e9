//! Running means and squared deviations of directions, coordinate by coordinate (Welford).

use mcsa_core::{Error, bits, same_length};
use serde::{Deserialize, Serialize};

/// Count, mean and sum of squared deviations from the mean.
///
/// ```text
/// mean_n = mean_{n-1} + (g - mean_{n-1}) / n,     square_n = square_{n-1} + (g - mean_{n-1}) (g - mean_n)
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Sums {
    pub(super) count: u64,
    #[serde(with = "bits::vector")]
    pub(super) mean: Vec<f64>,
    #[serde(with = "bits::vector")]
    pub(super) square: Vec<f64>,
}

impl Sums {
    pub(super) fn new(len: usize) -> Self {
        Self { count: 0, mean: vec![0.0; len], square: vec![0.0; len] }
    }

    /// Refuses sums read from a checkpoint unless they have `len` coordinates.
    pub(super) fn check(&self, len: usize) -> Result<(), Error> {
        same_length("means of directions", len, self.mean.len())?;
        same_length("squares of directions", len, self.square.len())
    }

    pub(super) fn add(&mut self, direction: &[f64]) {
        self.count += 1;
        for ((g, mean), square) in direction.iter().zip(&mut self.mean).zip(&mut self.square) {
            let off = g - *mean;
            *mean += off / self.count as f64;
            *square += off * (g - *mean);
        }
    }
}
