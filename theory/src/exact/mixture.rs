//! Mixture of two normals with separate modes.

use mcsa_core::{Gradient, LogDensity, Stream};

use super::{ExactDraws, log_normal};

/// Mixture of two standard normals in `R^dim`, centred at `-distance/2` and `distance/2` on the first axis:
///
/// ```text
/// p(z) = (1 - share) N(z; -distance/2 e_0, I) + share N(z; distance/2 e_0, I)
/// ```
///
/// ```
/// let target = mcsa_theory::exact::Mixture { dim: 1, distance: 4.0, share: 0.5 };
/// assert_eq!(mcsa_core::LogDensity::dim(&target), 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mixture {
    /// The dimension, at least one.
    pub dim: usize,
    /// Distance between the two centres.
    pub distance: f64,
    /// The probability of the component on the positive side.
    pub share: f64,
}

impl Default for Mixture {
    fn default() -> Self {
        Self { dim: 2, distance: 4.0, share: 0.3 }
    }
}

impl Mixture {
    /// Weighted log densities of the two components on the first axis.
    fn parts(&self, x: f64) -> [f64; 2] {
        let half = 0.5 * self.distance;
        [(1.0 - self.share).ln() + log_normal(x + half, 0.0), self.share.ln() + log_normal(x - half, 0.0)]
    }
}

impl LogDensity for Mixture {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        let [a, b] = self.parts(z[0]);
        let rest: f64 = z[1..].iter().map(|x| log_normal(*x, 0.0)).sum();
        a.max(b) + (-(a - b).abs()).exp().ln_1p() + rest
    }
}

impl Gradient for Mixture {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let [a, b] = self.parts(z[0]);
        let positive = 1.0 / (1.0 + (a - b).exp());
        gradient[0] = -z[0] + (positive - 0.5) * self.distance;
        for i in 1..z.len() {
            gradient[i] = -z[i];
        }
        self.log_density(z, work)
    }
}

impl ExactDraws for Mixture {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        let positive = stream.accept(self.share.ln());
        stream.normals_into(z);
        z[0] += if positive { 0.5 * self.distance } else { -0.5 * self.distance };
    }
}
