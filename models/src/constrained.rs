//! Models with constrained parameters and their transforms to `R^d`.

use mcsa_core::LogDensity;

use crate::Transform;

/// Target given as a density of constrained parameters `theta` and transformed to `R^d` coordinate by coordinate:
///
/// ```text
/// log p(z) = log p_theta(b(z)) + sum_i log b_i'(z_i)
/// ```
///
/// The trait makes a model comparable with its paper: [`log_density_at`](Self::log_density_at) is the formula as printed,
/// written to be read and not for speed, and a law of `mcsa-testing` compares it with the fast implementation.
///
/// ```
/// use mcsa_models::{Constrained, EightSchools, Transform};
/// let model = EightSchools::non_centred();
/// assert_eq!(model.transform(1), Transform::Positive);
/// assert_eq!(model.log_jacobian(&[0.0, 0.7, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), 0.7);
/// ```
pub trait Constrained: LogDensity {
    /// Transform `b_i` of coordinate `i`.
    ///
    /// # Panics
    /// If `i` is not less than the dimension.
    fn transform(&self, i: usize) -> Transform;

    /// `log p_theta(theta)`, up to the additive constant of the density: slow, as in the paper, and allowed to allocate.
    fn log_density_at(&self, theta: &[f64]) -> f64;

    /// Log-Jacobian `sum_i log b_i'(z_i)`.
    fn log_jacobian(&self, z: &[f64]) -> f64 {
        z.iter().enumerate().map(|(i, &z)| self.transform(i).log_slope(z)).sum()
    }

    /// Writes `theta = b(z)`.
    fn constrain_into(&self, z: &[f64], theta: &mut [f64]) {
        assert_eq!(z.len(), theta.len(), "as many parameters as coordinates");
        for (i, (theta, &z)) in theta.iter_mut().zip(z).enumerate() {
            *theta = self.transform(i).constrain(z);
        }
    }

    /// Writes `z = b^-1(theta)`.
    fn unconstrain_into(&self, theta: &[f64], z: &mut [f64]) {
        assert_eq!(z.len(), theta.len(), "as many coordinates as parameters");
        for (i, (z, &theta)) in z.iter_mut().zip(theta).enumerate() {
            *z = self.transform(i).unconstrain(theta);
        }
    }
}
