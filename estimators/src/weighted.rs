//! Weighted draws from points and their densities.

use faer::Mat;
use mcsa_core::{Error, same_length};
use mcsa_diagnostics::importance_sample_size;

use crate::log_weights::{add_log_weights, normalised};
use crate::tail_weight::TailShape;
use crate::{Draws, Judged};

impl Draws {
    /// Weighted draws from points of the caller's, one per column, with `log p` and the log density `log q` of the distribution that
    /// they were drawn from: draws of several paths or fits, for example, with the density of their mixture.
    ///
    /// The order of draws from several sources must not show their source, for k-hat is also estimated from the first quarter:
    /// take one of each in turn.
    ///
    /// ```
    /// use mcsa_core::Seed;
    /// use mcsa_estimators::Draws;
    /// use mcsa_optim::deterministic::{MultiPathfinder, Paths};
    /// let target = mcsa_models::Gaussian::standard(2);
    /// let finder = MultiPathfinder { paths: 4, ..MultiPathfinder::default() };
    /// let Paths { points, log_p, log_q, .. } = finder.run(&target, Seed::new(1))?;
    /// let draws = Draws::weighted(points, log_p, log_q)?;
    /// assert!(draws.len() == 400 && draws.sample_size > 390.0);
    /// # Ok::<(), mcsa_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is not one density of each kind per point.
    pub fn weighted(points: Mat<f64>, log_p: Vec<f64>, log_q: Vec<f64>) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("weighted");
        same_length("log_p", points.ncols(), log_p.len()).map_err(refuse)?;
        same_length("log_q", points.ncols(), log_q.len()).map_err(refuse)?;
        let mut log_w = Vec::with_capacity(log_p.len());
        let non_finite = add_log_weights(&log_p, &log_q, &mut log_w);
        let (shape, smoothed) = TailShape::smoothed(&log_w);
        Ok(Self {
            points,
            log_p,
            log_q,
            log_weights: normalised(smoothed),
            judged: Judged::Given,
            shape: shape.shape,
            shape_error: shape.error,
            shape_threshold: shape.threshold,
            sample_size: importance_sample_size(&log_w),
            non_finite,
            tail: shape.verdict(),
        })
    }
}
