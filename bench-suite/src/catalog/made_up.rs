//! Synthetic targets.

use faer::Mat;
use mcsa_core::{Error, Stream};
use mcsa_models::{Gaussian, Mixture};

use super::Target;

/// Gaussian with means `1, -1, 1, ..`, standard deviations spaced geometrically from 0.5 to 2, and equal correlation of all
/// pairs.
///
/// # Errors
/// If the covariance is not positive definite: the correlation must lie in `(-1/(dim - 1), 1)`.
pub fn correlated_gaussian(dim: usize, correlation: f64) -> Result<Gaussian, Error> {
    let scale = |i: usize| 0.5 * 4.0_f64.powf(i as f64 / (dim.max(2) - 1) as f64);
    let mean = (0..dim).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let entry = |i, j| scale(i) * scale(j) * if i == j { 1.0 } else { correlation };
    Gaussian::new(mean, Mat::from_fn(dim, dim, entry).as_ref())
}

/// Gaussian around 0 with the covariance `I + B B'`, where B has `factors` columns of standard normal numbers.
///
/// # Errors
/// If `dim` is 0.
pub(super) fn of_factors(dim: usize, factors: usize, stream: &mut Stream) -> Result<Gaussian, Error> {
    let loadings = Mat::from_fn(dim, factors, |_, _| stream.normal());
    let mut covariance = &loadings * loadings.transpose();
    (0..dim).for_each(|i| covariance[(i, i)] += 1.0);
    Gaussian::new(vec![0.0; dim], covariance.as_ref())
}

impl Target {
    /// The target, if it is a mixture.
    pub(super) fn mixture(&self) -> Result<Mixture, Error> {
        match self {
            Self::Moons { per_moon, noise } => Mixture::moons(*per_moon, *noise),
            Self::Modes { dim, distance, share } => Mixture::modes(*dim, *distance, *share),
            _ => Err(Error::invalid(format!("{} is no mixture", self.kind()))),
        }
    }
}
