//! Ground truth: normaliser and moments in closed form.

use faer::Mat;
use mcsa_core::LogDensity;

/// Target whose normaliser and first two moments are known in closed form.
///
/// The minimiser of `KL(p || q)` over Gaussians has exactly these moments, and over mean-field Gaussians this
/// mean and the diagonal of this covariance. An approximation is compared with them.
///
/// ```
/// use mcsa_models::{Funnel, GroundTruth};
/// let funnel = Funnel::new(3, 1.0)?;
/// assert_eq!(funnel.log_normaliser(), 0.0);
/// assert_eq!(funnel.covariance().map(|c| c[(1, 1)]), Some(0.5_f64.exp()));
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub trait GroundTruth: LogDensity {
    /// `log int p(z) dz`: zero if the density is normalised.
    fn log_normaliser(&self) -> f64;

    /// `E[z]`, or `None` if the integral diverges.
    fn mean(&self) -> Option<Vec<f64>>;

    /// The covariance, or `None` if the integral diverges.
    fn covariance(&self) -> Option<Mat<f64>>;
}
