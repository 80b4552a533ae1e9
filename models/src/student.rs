//! Student t target with heavy tails.

use std::f64::consts::PI;

use faer::Mat;
use mcsa_core::numeric::{scalar::ln_gamma, sum_squares_scaled};
use mcsa_core::{Curvature, Error, ExactDraws, Gradient, LogDensity, Stream, all_finite, same_length};
use rand_distr::{ChiSquared, Distribution};

use crate::GroundTruth;
use crate::support::{decided, positive};

/// Multivariate Student t distribution with diagonal scale, normalised:
///
/// ```text
/// z = location + scale * e sqrt(nu / chi^2_nu),   p(z) ∝ (1 + q / nu)^(-(nu + d) / 2),   q = sum ((z - location) / scale)^2
/// E z = location if nu > 1,   Cov z = nu / (nu - 2) diag(scale^2) if nu > 2
/// ```
///
/// All coordinates share one `chi^2`: they are uncorrelated but not independent.
///
/// ```
/// use mcsa_models::{GroundTruth, Student};
/// let cauchy = Student::new(vec![0.0], vec![1.0], 1.0)?;
/// assert_eq!(cauchy.mean(), None);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Student {
    location: Vec<f64>,
    scale: Vec<f64>,
    inverse: Vec<f64>,
    chi: ChiSquared<f64>,
    freedom: f64,
    log_peak: f64,
}

impl Student {
    /// A Student t distribution with location, scales and degrees of freedom `nu`.
    ///
    /// # Errors
    /// If the lengths differ, a number is not finite, or a scale or `freedom` not positive.
    pub fn new(location: Vec<f64>, scale: Vec<f64>, freedom: f64) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("Student");
        all_finite("location", &location).map_err(refuse)?;
        same_length("scale", location.len(), scale.len()).map_err(refuse)?;
        scale.iter().try_for_each(|&scale| positive("scale", scale)).map_err(refuse)?;
        positive("freedom", freedom).map_err(refuse)?;
        let chi = ChiSquared::new(freedom)
            .map_err(|_| refuse(Error::parameter("freedom", freedom, "positive and finite")))?;
        let half = 0.5 * location.len() as f64;
        let log_det: f64 = scale.iter().map(|s| s.ln()).sum();
        let ratio = ln_gamma(0.5 * freedom + half) - ln_gamma(0.5 * freedom);
        let log_peak = ratio - half * (freedom * PI).ln() - log_det;
        let inverse = scale.iter().map(|s| s.recip()).collect();
        Ok(Self { location, scale, inverse, chi, freedom, log_peak })
    }

    /// Degrees of freedom.
    pub fn freedom(&self) -> f64 {
        self.freedom
    }

    fn form(&self, z: &[f64]) -> f64 {
        sum_squares_scaled(z, &self.location, &self.inverse)
    }

    /// `nu + d`.
    fn power(&self) -> f64 {
        self.freedom + self.location.len() as f64
    }

    fn value(&self, form: f64, z: &[f64]) -> f64 {
        decided(self.log_peak - 0.5 * self.power() * (form / self.freedom).ln_1p(), z)
    }

    /// `(z_i - location_i) / scale_i^2`.
    fn pull(&self, i: usize, z: f64) -> f64 {
        (z - self.location[i]) * self.inverse[i] * self.inverse[i]
    }
}

impl LogDensity for Student {
    fn dim(&self) -> usize {
        self.location.len()
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.value(self.form(z), z)
    }
}

impl Gradient for Student {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        assert_eq!(gradient.len(), self.location.len(), "a gradient of the target's dimension");
        let form = self.form(z);
        let strength = -self.power() / (self.freedom + form);
        for (i, (gradient, &z)) in gradient.iter_mut().zip(z).enumerate() {
            *gradient = strength * self.pull(i, z);
        }
        self.value(form, z)
    }
}

impl Curvature for Student {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        let strength = self.power() / (self.freedom + self.form(z));
        let along: f64 = z.iter().zip(v).enumerate().map(|(i, (&z, v))| self.pull(i, z) * v).sum();
        let turn = 2.0 * strength * strength / self.power() * along;
        for (i, out) in out.iter_mut().enumerate() {
            *out = turn * self.pull(i, z[i]) - strength * self.inverse[i] * self.inverse[i] * v[i];
        }
    }
}

impl ExactDraws for Student {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        stream.normals_into(z);
        let stretch = (self.freedom / self.chi.sample(stream)).sqrt();
        for ((z, location), scale) in z.iter_mut().zip(&self.location).zip(&self.scale) {
            *z = location + scale * stretch * *z;
        }
    }
}

impl GroundTruth for Student {
    fn log_normaliser(&self) -> f64 {
        0.0
    }

    fn mean(&self) -> Option<Vec<f64>> {
        (self.freedom > 1.0).then(|| self.location.clone())
    }

    fn covariance(&self) -> Option<Mat<f64>> {
        let (dim, stretch) = (self.location.len(), self.freedom / (self.freedom - 2.0));
        let variance = |i: usize| stretch * self.scale[i] * self.scale[i];
        (self.freedom > 2.0).then(|| Mat::from_fn(dim, dim, |i, j| if i == j { variance(i) } else { 0.0 }))
    }
}
