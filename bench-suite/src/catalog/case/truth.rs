//! Moments of a target, as far as they exist.

use mcsa_models::GroundTruth;

/// Moments of a target.
#[derive(Debug, Clone, PartialEq)]
pub enum Truth {
    /// Mean and standard deviation of each coordinate.
    Moments {
        /// The means.
        means: Vec<f64>,
        /// The standard deviations.
        sds: Vec<f64>,
    },
    /// The density has no integral, or no variance.
    None,
}

impl Truth {
    /// Moments of a target that has them in closed form.
    pub(super) fn of(target: &impl GroundTruth) -> Self {
        let (Some(means), Some(covariance)) = (target.mean(), target.covariance()) else { return Self::None };
        Self::Moments { sds: (0..means.len()).map(|i| covariance[(i, i)].sqrt()).collect(), means }
    }
}
