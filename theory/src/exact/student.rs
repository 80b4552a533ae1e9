//! Student t distribution with heavy tails.

use mcsa_core::{Gradient, LogDensity, Stream};
use statrs::function::gamma::ln_gamma;

use super::ExactDraws;

/// Multivariate Student t distribution: `z = eps sqrt(nu / chi^2_nu)`, with density
///
/// ```text
/// p(z) ∝ (1 + |z|^2 / nu)^(-(nu + d) / 2)
/// ```
///
/// ```
/// let target = mcsa_theory::exact::Student { dim: 1, freedom: 3 };
/// assert_eq!(mcsa_core::LogDensity::dim(&target), 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Student {
    /// The dimension.
    pub dim: usize,
    /// Degrees of freedom `nu`, at least one; an integer, so that a draw needs only normals.
    pub freedom: u32,
}

impl Default for Student {
    fn default() -> Self {
        Self { dim: 2, freedom: 5 }
    }
}

impl LogDensity for Student {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        let (nu, d) = (f64::from(self.freedom), self.dim as f64);
        let square: f64 = z.iter().map(|x| x * x).sum();
        let constant =
            ln_gamma(0.5 * (nu + d)) - ln_gamma(0.5 * nu) - 0.5 * d * (nu * std::f64::consts::PI).ln();
        constant - 0.5 * (nu + d) * (square / nu).ln_1p()
    }
}

impl Gradient for Student {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let (nu, d) = (f64::from(self.freedom), self.dim as f64);
        let square: f64 = z.iter().map(|x| x * x).sum();
        for (gradient, x) in gradient.iter_mut().zip(z) {
            *gradient = -(nu + d) * x / (nu + square);
        }
        self.log_density(z, work)
    }
}

impl ExactDraws for Student {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        stream.normals_into(z);
        let chi: f64 = (0..self.freedom).map(|_| stream.normal().powi(2)).sum();
        let scale = (f64::from(self.freedom) / chi).sqrt();
        z.iter_mut().for_each(|x| *x *= scale);
    }
}
