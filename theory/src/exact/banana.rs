//! Banana-shaped target: a bent normal distribution.

use mcsa_core::{Gradient, LogDensity, Stream};

use super::{ExactDraws, log_normal};

/// Banana distribution in two dimensions (Haario, Saksman and Tamminen 1999):
///
/// ```text
/// z_0 ~ N(0, width^2),   z_1 | z_0 ~ N(bend (z_0^2 - width^2), 1)
/// ```
///
/// ```
/// let target = mcsa_theory::exact::Banana { width: 1.0, bend: 0.5 };
/// assert_eq!(mcsa_core::LogDensity::dim(&target), 2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Banana {
    /// Standard deviation of the first coordinate.
    pub width: f64,
    /// Factor of the first coordinate's square in the conditional mean of the second.
    pub bend: f64,
}

impl Default for Banana {
    fn default() -> Self {
        Self { width: 1.5, bend: 0.4 }
    }
}

impl Banana {
    fn ridge(&self, x: f64) -> f64 {
        self.bend * (x * x - self.width * self.width)
    }
}

impl LogDensity for Banana {
    fn dim(&self) -> usize {
        2
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        log_normal(z[0], self.width.ln()) + log_normal(z[1] - self.ridge(z[0]), 0.0)
    }
}

impl Gradient for Banana {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let off = z[1] - self.ridge(z[0]);
        gradient[0] = -z[0] / (self.width * self.width) + 2.0 * self.bend * z[0] * off;
        gradient[1] = -off;
        self.log_density(z, work)
    }
}

impl ExactDraws for Banana {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        z[0] = self.width * stream.normal();
        z[1] = self.ridge(z[0]) + stream.normal();
    }
}
