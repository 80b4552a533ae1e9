//! Metrics of a fitted approximation, such as divergence from the target.

use mcsa_core::{Error, LogDensity, Stream};
use mcsa_families::{GaussianFamily, Normal, kl_gaussian};
use mcsa_models as models;

use crate::metric::Vector;

/// Metrics: names with values.
pub type Measures = Vec<(&'static str, f64)>;

/// Evaluator of the approximation at lambda. It has its own random stream and sees no chain, so that measuring cannot change
/// a fit.
pub trait Evaluator: Send + Sync {
    /// Metrics of the family at the parameters `params`.
    ///
    /// # Errors
    /// If the metrics cannot be computed, for instance because a covariance has no Cholesky factor.
    fn measure(&self, family: &dyn GaussianFamily, params: &[f64], stream: Stream)
    -> Result<Measures, Error>;

    /// Vectors at the end of a fit; by default none.
    fn vectors(&self, _family: &dyn GaussianFamily, _params: &[f64]) -> Vec<(Vector, Vec<f64>)> {
        Vec::new()
    }
}

/// Exact inclusive and exclusive divergence between a Gaussian family and a Gaussian target.
pub(super) struct Divergence {
    target: Normal,
    variances: Vec<f64>,
    floor: f64,
    /// `log det` of the target's covariance.
    log_volume: f64,
}

impl Divergence {
    pub(super) fn new(target: &models::Gaussian) -> Result<Self, Error> {
        if target.dim() == 0 {
            return Err(Error::parameter("dim", 0.0, "at least 1"));
        }
        let variances: Vec<f64> = (0..target.dim()).map(|i| target.variance(i)).collect();
        let floor = target.mean_field_floor();
        let covariance = target.covariance();
        let normal = Normal::new(target.mean().to_vec(), covariance.as_ref())?;
        let log_volume = variances.iter().map(|variance| variance.ln()).sum::<f64>() - 2.0 * floor;
        Ok(Self { target: normal, variances, floor, log_volume })
    }
}

impl Evaluator for Divergence {
    fn measure(&self, family: &dyn GaussianFamily, params: &[f64], _: Stream) -> Result<Measures, Error> {
        let (mean, variances) = (family.mean(params), family.variances(params)?);
        let inclusive = if family.num_params() == 2 * family.dim() {
            let terms = mean.iter().zip(&variances).enumerate().map(|(i, (m, v))| {
                let square = (self.target.mean()[i] - m).powi(2);
                (self.variances[i] + square) / v - 1.0 + v.ln()
            });
            0.5 * (terms.sum::<f64>() - self.log_volume)
        } else {
            kl_gaussian(&self.target, &family.moments(params)?)?
        };
        Ok(vec![("kl", inclusive), ("kl_floor", self.floor)])
    }
}

/// Mean and scale of the first coordinate; for targets in one dimension.
pub(super) struct Moments;

impl Evaluator for Moments {
    fn measure(&self, family: &dyn GaussianFamily, params: &[f64], _: Stream) -> Result<Measures, Error> {
        Ok(vec![("mean", family.mean(params)[0]), ("scale", family.variances(params)?[0].sqrt())])
    }
}
