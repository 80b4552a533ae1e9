//! Knowledge that a fit hands to a sampler.

use faer::Mat;
use mcsa_core::{AffineMap, Error};
use mcsa_optim::deterministic::Gaussian;

use super::moments::gaussian;
use super::{Fitted, Objection};

/// Knowledge that a fit hands to a sampler, above all when its verdict is no: starting points, a metric, and the objections.
///
/// ```
/// use mcsa::prelude::*;
/// use mcsa::core::Whitened;
/// use mcsa::fit::Options;
/// // A bent ridge, and draws too few for a yes.
/// let target = mcsa::models::Banana::new(2.0, 0.5)?;
/// let fitted = mcsa::fit(&target, &Options { draws: 100, starts: 10, ..Options::seeded(1) })?;
/// let handover = fitted.handover()?;
/// assert!(!handover.objections.is_empty());
/// // NUTS goes on from the witness chains, in coordinates in which the weighted draws have covariance I.
/// let white = Whitened::new(&target, handover.map()?)?;
/// let starts = white.map().inverse(handover.starts.as_ref());
/// let plan = Sampling::new(starts.ncols(), 200).warm_up(100);
/// let sample = plan.run_from(&Nuts::new(0.5)?, &white, starts, Seed::new(1))?;
/// let draws = white.map().forward(sample.draws.as_ref());
/// assert_eq!(draws.ncols(), 16 * 200);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Handover {
    /// Starting points, one per column: the last positions of the witness chains, as far as they are finite.
    pub starts: Mat<f64>,
    /// Mean `m = sum_i W_i z_i` of the weighted draws.
    pub mean: Vec<f64>,
    /// Metric: the covariance `sum_i W_i (z_i - m)(z_i - m)'` of the weighted draws. If their effective sample size is at most the
    /// dimension, mean and covariance are those of the draws without weights, because the weighted ones would be singular; if that
    /// covariance has no factor either, they are medians, and a diagonal from the quantiles at 16 and 84 %.
    pub covariance: Mat<f64>,
    /// Objections of the witnesses.
    pub objections: Vec<Objection>,
}

impl Fitted {
    /// Starting points, metric and objections for a sampler.
    ///
    /// # Errors
    /// If more than two thirds of the draws agree in a coordinate, or are not finite.
    pub fn handover(&self) -> Result<Handover, Error> {
        let Gaussian { mean, covariance } =
            gaussian(&self.draws).map_err(|error| error.within("handover"))?;
        let positions = &self.chains.positions;
        let is_finite = |j: &usize| positions.col_as_slice(*j).iter().all(|z| z.is_finite());
        let finite: Vec<usize> = (0..positions.ncols()).filter(is_finite).collect();
        let starts = Mat::from_fn(positions.nrows(), finite.len(), |i, j| positions[(i, finite[j])]);
        Ok(Handover { starts, mean, covariance, objections: self.verdict.objections.clone() })
    }
}

impl Handover {
    /// Map `z = m + L y` from coordinates with covariance I, where `L L'` is the metric.
    ///
    /// # Errors
    /// If the covariance is not positive definite.
    pub fn map(&self) -> Result<AffineMap, Error> {
        let covariance = self.covariance.clone();
        AffineMap::new(self.mean.clone(), Gaussian { mean: self.mean.clone(), covariance }.factor()?)
    }
}
