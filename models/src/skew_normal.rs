//! Skew-normal target in one dimension.

use std::f64::consts::{FRAC_2_PI, LN_2};

use faer::{Mat, MatMut, MatRef, mat};
use mcsa_core::numeric::{log_ndtr, ndtr_hazard, scalar};
use mcsa_core::{
    Columns, ColumnsMut, Curvature, Error, ExactDraws, Gradient, LogDensity, Named, Stream, borrow,
};

use crate::GroundTruth;
use crate::support::{HALF_LOG_TAU, decided, finite, positive};

/// Azzalini's skew-normal distribution (1985) in one dimension, normalised:
///
/// ```text
/// p(z) = (2 / scale) phi(u) Phi(slant u),   u = (z - location) / scale
/// E z = location + scale delta sqrt(2/pi),   Var z = scale^2 (1 - 2 delta^2 / pi),   delta = slant / sqrt(1 + slant^2)
/// ```
///
/// Draws: `u = delta |e| + sqrt(1 - delta^2) e'` with `e, e'` standard normal. The Gaussian of least `KL(p || q)` has
/// these moments, so the optimum of score climbing is known exactly (MSC, Fig. 1).
///
/// ```
/// use mcsa_models::{GroundTruth, SkewNormal};
/// let target = SkewNormal::msc();
/// let (mean, covariance) = (target.mean().unwrap()[0], target.covariance().unwrap()[(0, 0)]);
/// assert!((mean - 2.064_780_4).abs() < 1e-7 && (covariance - 1.551_462_4).abs() < 1e-7);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SkewNormal {
    location: f64,
    scale: f64,
    slant: f64,
    log_peak: f64,
}

impl SkewNormal {
    /// A skew-normal with `location`, `scale` and `slant`, whose sign is the side of the longer tail.
    ///
    /// # Errors
    /// If the scale is not positive and finite, or another number not finite.
    pub fn new(location: f64, scale: f64, slant: f64) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("SkewNormal");
        finite("location", location).map_err(refuse)?;
        positive("scale", scale).map_err(refuse)?;
        finite("slant", slant).map_err(refuse)?;
        Ok(Self::of(location, scale, slant))
    }

    /// Location 0.5, scale 2, slant 5: the target of MSC, Fig. 1.
    pub fn msc() -> Self {
        Self::of(0.5, 2.0, 5.0)
    }

    fn of(location: f64, scale: f64, slant: f64) -> Self {
        Self { location, scale, slant, log_peak: LN_2 - scale.ln() - HALF_LOG_TAU }
    }

    fn standard(&self, z: f64) -> f64 {
        (z - self.location) / self.scale
    }

    /// `slant / sqrt(1 + slant^2)`.
    pub fn delta(&self) -> f64 {
        self.slant / 1.0_f64.hypot(self.slant)
    }

    fn value(&self, z: f64, log_ndtr: f64) -> f64 {
        let u = self.standard(z);
        decided(self.log_peak - 0.5 * u * u + log_ndtr, &[z])
    }
}

impl LogDensity for SkewNormal {
    fn dim(&self) -> usize {
        1
    }

    fn work_len(&self, columns: usize) -> usize {
        columns
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.value(z[0], scalar::log_ndtr(self.slant * self.standard(z[0])))
    }

    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], mut work: &mut [f64]) {
        assert_eq!(z.ncols(), out.len(), "a density per column");
        let tails = borrow(&mut work, out.len());
        for (j, tail) in tails.iter_mut().enumerate() {
            *tail = self.slant * self.standard(z.column(j)[0]);
        }
        log_ndtr(tails);
        for (j, (out, &tail)) in out.iter_mut().zip(&*tails).enumerate() {
            *out = self.value(z.column(j)[0], tail);
        }
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        out.push("z", z[0]);
    }
}

impl Gradient for SkewNormal {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let u = self.standard(z[0]);
        gradient[0] = (self.slant * scalar::ndtr_hazard(self.slant * u) - u) / self.scale;
        self.log_density(z, work)
    }

    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        mut gradients: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) {
        assert!(
            z.ncols() == out.len() && z.ncols() == gradients.ncols(),
            "a density and a gradient per column"
        );
        let hazards = borrow(&mut work, out.len());
        for (j, hazard) in hazards.iter_mut().enumerate() {
            *hazard = self.slant * self.standard(z.column(j)[0]);
        }
        ndtr_hazard(hazards);
        for (j, hazard) in hazards.iter().enumerate() {
            gradients.column_mut(j)[0] = (self.slant * hazard - self.standard(z.column(j)[0])) / self.scale;
        }
        self.log_densities(z, out, hazards);
    }
}

impl Curvature for SkewNormal {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        let lean = self.slant * self.standard(z[0]);
        let hazard = scalar::ndtr_hazard(lean);
        let bend = 1.0 + self.slant * self.slant * hazard * (lean + hazard);
        out[0] = -bend * v[0] / (self.scale * self.scale);
    }
}

impl ExactDraws for SkewNormal {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        let (folded, free) = (stream.normal().abs(), stream.normal());
        let u = self.delta() * folded + free / 1.0_f64.hypot(self.slant);
        z[0] = self.location + self.scale * u;
    }
}

impl GroundTruth for SkewNormal {
    fn log_normaliser(&self) -> f64 {
        0.0
    }

    fn mean(&self) -> Option<Vec<f64>> {
        Some(vec![self.location + self.scale * self.delta() * FRAC_2_PI.sqrt()])
    }

    fn covariance(&self) -> Option<Mat<f64>> {
        let delta = self.delta();
        Some(mat![[self.scale * self.scale * (1.0 - FRAC_2_PI * delta * delta)]])
    }
}
