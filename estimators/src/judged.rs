//! The lambda that a fit recommends.

use std::fmt;

use mcsa::{Estimator, Optimizer};
use serde::{Deserialize, Serialize};

use crate::{Ascent, Fit};

/// The origin of a lambda.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Judged {
    /// The average that a [`Stationary`](crate::Stationary) rule stated at the last step: the one in its [`Accuracy`](crate::Accuracy).
    RuleAverage {
        /// Trailing steps that are averaged.
        window: u64,
    },
    /// The average that the optimiser keeps.
    OptimizerAverage,
    /// Lambda as the last step left it: no average is kept.
    LastIterate,
    /// Lambda as the caller gave it.
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
    /// The average that the optimiser of a fit keeps, also inside other optimisers; `None` if it keeps none or has not begun.
    pub fn average<'f>(&self, fit: &'f Fit<E::State, O::State>) -> Option<&'f [f64]> {
        self.optimizer.average(fit.optimizer())
    }

    /// The lambda that a fit recommends, and what it is: the average that a [`Stationary`](crate::Stationary) rule stated at the last
    /// step, or else the average that the optimiser keeps, or else the last iterate. An average that the family cannot represent is
    /// passed over.
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
