//! Banana-shaped target: a bent normal distribution in two dimensions.

use faer::{Mat, mat};
use mcsa_core::{Curvature, Error, ExactDraws, Gradient, LogDensity, Named, Stream};

use crate::GroundTruth;
use crate::support::{HALF_LOG_TAU, decided, finite, positive};

/// Banana distribution (Haario, Saksman and Tamminen 1999), normalised:
///
/// ```text
/// z_0 ~ N(0, width^2),   z_1 | z_0 ~ N(bend (z_0^2 - width^2), 1)
/// E z = 0,   Var z_0 = width^2,   Var z_1 = 1 + 2 bend^2 width^4,   Cov = 0
/// ```
///
/// ```
/// use mcsa_core::LogDensity;
/// let target = mcsa_models::Banana::new(1.0, 0.5)?;
/// assert!((target.log_density(&[0.0, -0.5], &mut []) + (2.0 * std::f64::consts::PI).ln()).abs() < 1e-15);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Banana {
    width: f64,
    bend: f64,
    log_width: f64,
}

impl Banana {
    /// A banana with `width` the standard deviation of `z_0` and `bend` the factor of its square in the conditional mean of `z_1`.
    ///
    /// # Errors
    /// If the width is not positive and finite, or the bend not finite.
    pub fn new(width: f64, bend: f64) -> Result<Self, Error> {
        positive("width", width).map_err(|e| e.within("Banana"))?;
        finite("bend", bend).map_err(|e| e.within("Banana"))?;
        Ok(Self { width, bend, log_width: width.ln() })
    }

    /// Conditional mean of the second coordinate, `E[z_1 | z_0 = x]`.
    pub fn ridge(&self, x: f64) -> f64 {
        self.bend * (x * x - self.width * self.width)
    }
}

impl LogDensity for Banana {
    fn dim(&self) -> usize {
        2
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        assert_eq!(z.len(), 2, "a point of the plane");
        let (along, off) = (z[0] / self.width, z[1] - self.ridge(z[0]));
        decided(-0.5 * (along * along + off * off) - self.log_width - 2.0 * HALF_LOG_TAU, z)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        out.push("along", z[0]);
        out.push("across", z[1]);
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

impl Curvature for Banana {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        let (off, lean) = (z[1] - self.ridge(z[0]), 2.0 * self.bend * z[0]);
        let along = -1.0 / (self.width * self.width) + 2.0 * self.bend * off - lean * lean;
        out[0] = along * v[0] + lean * v[1];
        out[1] = lean * v[0] - v[1];
    }
}

impl ExactDraws for Banana {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        z[0] = self.width * stream.normal();
        z[1] = self.ridge(z[0]) + stream.normal();
    }
}

impl GroundTruth for Banana {
    fn log_normaliser(&self) -> f64 {
        0.0
    }

    fn mean(&self) -> Option<Vec<f64>> {
        Some(vec![0.0; 2])
    }

    fn covariance(&self) -> Option<Mat<f64>> {
        let variance = self.width * self.width;
        let bent = self.bend * variance;
        Some(mat![[variance, 0.0], [0.0, 1.0 + 2.0 * bent * bent]])
    }
}
