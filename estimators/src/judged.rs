//! The recommended lambda of a fit.

use std::fmt;

use mcsa_core::{Estimator, Optimizer};
use serde::{Deserialize, Serialize};

use crate::{Ascent, Fit};

/// Origin of a lambda that was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Judged {
    /// The average that a [`Stationary`](crate::Stationary) rule reported at the last step, as in its
    /// [`Accuracy`](crate::Accuracy).
    RuleAverage {
        /// Number of trailing steps averaged.
        window: u64,
    },
    /// The average kept by the optimiser.
    OptimizerAverage,
    /// The last iterate: no average is kept.
    LastIterate,
    /// A lambda given by the caller.
    Given,
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RuleAverage { window } => write!(f, "average of the last {window} steps"),
            Self::OptimizerAverage => f.write_str("the optimiser's average"),
            Self::LastIterate => f.write_str("last iterate"),
            Self::Given => f.write_str("given lambda"),
        }
    }
}

impl<P, F, E, O> Ascent<'_, P, F, E, O>
where
    P: ?Sized,
    F: ?Sized,
    E: Estimator<P, F>,
    O: Optimizer,
{
    /// The average that the optimiser keeps, also if that optimiser is wrapped in others; `None` if there is none yet.
    pub fn average<'f>(&self, fit: &'f Fit<E::State, O::State>) -> Option<&'f [f64]> {
        self.optimizer.average(fit.optimizer())
    }

    /// The recommended lambda and its origin: the average that a [`Stationary`](crate::Stationary) rule reported at the
    /// last step, else the average that the optimiser keeps, else the last iterate. An average that is invalid for the
    /// family is skipped.
    pub fn recommended<'f>(&self, fit: &'f Fit<E::State, O::State>) -> (Judged, &'f [f64]) {
        let sound = |params: &[f64]| self.estimator.check_params(self.target, self.family, params).is_ok();
        if let Some((window, average)) = fit.stated().filter(|(_, average)| sound(average)) {
            return (Judged::RuleAverage { window }, average);
        }
        match self.average(fit).filter(|average| sound(average)) {
            Some(average) => (Judged::OptimizerAverage, average),
            None => (Judged::LastIterate, fit.params()),
        }
    }
}
