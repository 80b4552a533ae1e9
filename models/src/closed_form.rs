//! Targets in closed form, with ground truth: banana, funnel, skew-normal and Student t.

use std::f64::consts::{FRAC_2_PI, LN_2, PI};

use faer::{Mat, mat};
use mcsa_core::numeric::scalar::ln_gamma;
use mcsa_core::numeric::{scalar, sum_squares_scaled};
use mcsa_core::{
    Error, ExactDraws, Gradient, LogDensity, Named, Stream, all_finite, at_least_one, same_length,
};
use rand_distr::{ChiSquared, Distribution};

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

impl ExactDraws for Banana {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        z[0] = self.width * stream.normal();
        z[1] = self.ridge(z[0]) + stream.normal();
    }
}

impl GroundTruth for Banana {
    fn mean(&self) -> Option<Vec<f64>> {
        Some(vec![0.0; 2])
    }

    fn covariance(&self) -> Option<Mat<f64>> {
        let variance = self.width * self.width;
        let bent = self.bend * variance;
        Some(mat![[variance, 0.0], [0.0, 1.0 + 2.0 * bent * bent]])
    }
}

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
        at_least_one("dim", dim).and_then(|()| positive("scale", scale)).map_err(|e| e.within("Funnel"))?;
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

impl ExactDraws for Funnel {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        stream.normals_into(z);
        z[0] *= self.scale;
        let scale = (0.5 * z[0]).exp();
        z[1..].iter_mut().for_each(|z| *z *= scale);
    }
}

impl GroundTruth for Funnel {
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
    fn delta(&self) -> f64 {
        self.slant / 1.0_f64.hypot(self.slant)
    }
}

impl LogDensity for SkewNormal {
    fn dim(&self) -> usize {
        1
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        let u = self.standard(z[0]);
        decided(self.log_peak - 0.5 * u * u + scalar::log_ndtr(self.slant * u), z)
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
}

impl ExactDraws for SkewNormal {
    fn draw_into(&self, stream: &mut Stream, z: &mut [f64]) {
        let (folded, free) = (stream.normal().abs(), stream.normal());
        let u = self.delta() * folded + free / 1.0_f64.hypot(self.slant);
        z[0] = self.location + self.scale * u;
    }
}

impl GroundTruth for SkewNormal {
    fn mean(&self) -> Option<Vec<f64>> {
        Some(vec![self.location + self.scale * self.delta() * FRAC_2_PI.sqrt()])
    }

    fn covariance(&self) -> Option<Mat<f64>> {
        let delta = self.delta();
        Some(mat![[self.scale * self.scale * (1.0 - FRAC_2_PI * delta * delta)]])
    }
}

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
    fn mean(&self) -> Option<Vec<f64>> {
        (self.freedom > 1.0).then(|| self.location.clone())
    }

    fn covariance(&self) -> Option<Mat<f64>> {
        let (dim, stretch) = (self.location.len(), self.freedom / (self.freedom - 2.0));
        let variance = |i: usize| stretch * self.scale[i] * self.scale[i];
        (self.freedom > 2.0).then(|| Mat::from_fn(dim, dim, |i, j| if i == j { variance(i) } else { 0.0 }))
    }
}
