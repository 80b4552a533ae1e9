//! Neal's funnel: normal coordinates with a common log-normal variance.

use faer::Mat;
use mcsa_core::{Curvature, Error, ExactDraws, Gradient, LogDensity, Named, Stream};

use crate::GroundTruth;
use crate::support::{HALF_LOG_TAU, decided, positive};

/// Neal's funnel (2003), normalised:
///
/// ```text
/// z_0 ~ N(0, scale^2),   z_i | z_0 ~ N(0, exp(z_0)),  i = 1 .. d-1
/// E z = 0,   Var z_0 = scale^2,   Var z_i = exp(scale^2 / 2),   uncorrelated
/// ```
///
/// ```
/// use mcsa_models::{Funnel, GroundTruth};
/// let target = Funnel::new(10, 3.0)?;
/// assert_eq!(target.covariance().map(|c| c[(9, 9)]), Some(4.5_f64.exp()));
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Funnel {
    dim: usize,
    scale: f64,
    log_peak: f64,
}

impl Funnel {
    /// A funnel of dimension `dim`; `scale` is the standard deviation of the log variance `z_0`, 3 in Neal (2003).
    ///
    /// # Errors
    /// If the dimension is zero, or the scale not positive and finite.
    pub fn new(dim: usize, scale: f64) -> Result<Self, Error> {
        if dim == 0 {
            return Err(Error::parameter("dim", 0.0, "at least 1").within("Funnel"));
        }
        positive("scale", scale).map_err(|e| e.within("Funnel"))?;
        Ok(Self { dim, scale, log_peak: -scale.ln() - dim as f64 * HALF_LOG_TAU })
    }

    /// `sum_i z_i^2 exp(-z_0)`, which is 0 at `z_1 = .. = 0` even if the precision overflows.
    fn form(z: &[f64]) -> f64 {
        let square: f64 = z[1..].iter().map(|z| z * z).sum();
        if square == 0.0 { 0.0 } else { square * (-z[0]).exp() }
    }

    fn value(&self, z: &[f64], form: f64) -> f64 {
        let log_scale = z[0] / self.scale;
        let log_det = (self.dim - 1) as f64 * z[0];
        decided(self.log_peak - 0.5 * (log_scale * log_scale + form + log_det), z)
    }
}

impl LogDensity for Funnel {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        assert_eq!(z.len(), self.dim, "a point of the target's dimension");
        self.value(z, Self::form(z))
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        out.push("log_variance", z[0]);
        out.each(|i| format!("z[{}]", i + 1), z[1..].iter().copied());
    }
}

impl Gradient for Funnel {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        let (form, precision) = (Self::form(z), (-z[0]).exp());
        gradient[0] = -z[0] / (self.scale * self.scale) + 0.5 * (form - (self.dim - 1) as f64);
        for (gradient, &z) in gradient[1..].iter_mut().zip(&z[1..]) {
            // At z_i = 0 the slope is 0, even if the precision overflows.
            *gradient = if z == 0.0 { -z } else { -z * precision };
        }
        self.value(z, form)
    }
}

impl Curvature for Funnel {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        let precision = (-z[0]).exp();
        out[0] = -(1.0 / (self.scale * self.scale) + 0.5 * Self::form(z)) * v[0];
        for i in 1..z.len() {
            out[0] += z[i] * precision * v[i];
            out[i] = precision * (z[i] * v[0] - v[i]);
        }
    }
}

impl ExactDraws for Funnel {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        stream.normals_into(z);
        z[0] *= self.scale;
        let scale = (0.5 * z[0]).exp();
        z[1..].iter_mut().for_each(|z| *z *= scale);
    }
}

impl GroundTruth for Funnel {
    fn log_normaliser(&self) -> f64 {
        0.0
    }

    fn mean(&self) -> Option<Vec<f64>> {
        Some(vec![0.0; self.dim])
    }

    fn covariance(&self) -> Option<Mat<f64>> {
        let variance = self.scale * self.scale;
        Some(Mat::from_fn(self.dim, self.dim, |i, j| match (i, j) {
            (0, 0) => variance,
            (i, j) if i == j => (0.5 * variance).exp(),
            _ => 0.0,
        }))
    }
}
