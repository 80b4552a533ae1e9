//! Neal's funnel.

use mcsa_core::{Gradient, LogDensity, Stream};

use super::{ExactDraws, log_normal};

/// Neal's funnel (2003): `z_0 ~ N(0, scale^2)`, and the others `z_i | z_0 ~ N(0, exp(z_0))`.
///
/// ```
/// let target = mcsa_theory::exact::Funnel { dim: 3, scale: 1.0 };
/// assert_eq!(mcsa_core::LogDensity::dim(&target), 3);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Funnel {
    /// The dimension, at least one.
    pub dim: usize,
    /// Standard deviation of the log variance; 3 in Neal (2003).
    pub scale: f64,
}

impl Default for Funnel {
    /// Three dimensions and scale 1, so that short chains still reach both ends.
    fn default() -> Self {
        Self { dim: 3, scale: 1.0 }
    }
}

impl LogDensity for Funnel {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        let rest: f64 = z[1..].iter().map(|x| log_normal(*x, 0.5 * z[0])).sum();
        log_normal(z[0], self.scale.ln()) + rest
    }
}

impl Gradient for Funnel {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let precision = (-z[0]).exp();
        gradient[0] = -z[0] / (self.scale * self.scale);
        for i in 1..z.len() {
            gradient[i] = -z[i] * precision;
            gradient[0] += 0.5 * (z[i] * z[i] * precision - 1.0);
        }
        self.log_density(z, work)
    }
}

impl ExactDraws for Funnel {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        stream.normals_into(z);
        z[0] *= self.scale;
        let scale = (0.5 * z[0]).exp();
        z[1..].iter_mut().for_each(|x| *x *= scale);
    }
}
