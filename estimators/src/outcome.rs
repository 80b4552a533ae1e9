//! Outcomes of a run.

use std::fmt;

use mcsa_core::bits;
use serde::{Deserialize, Serialize};

/// Reason why a run ended, with supporting numbers. [`BudgetSpent`](Self::BudgetSpent) means that all steps were made, and
/// is no statement on convergence.
///
/// After every outcome the fit is valid: it can be stored, examined and continued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// A [`Stationary`](crate::Stationary) rule found its required accuracy reached.
    Converged(Accuracy),
    /// All steps were made. Under a stopping rule, with the accuracy so far if there were enough iterates.
    BudgetSpent {
        /// The rule's last estimate; its `obstacle` names the reason that the run did not end earlier.
        accuracy: Option<Accuracy>,
    },
    /// All steps were made and the iterates pass for stationary, but a chain stayed at one point for longer than the
    /// batches from which errors are computed. The apparent stationarity may be the bias of this chain.
    StationaryButStuck {
        /// The rule's last estimate.
        accuracy: Accuracy,
        /// The index of the chain.
        chain: usize,
        /// The number of steps it stayed, within the window.
        stayed: u64,
    },
    /// All steps were made, but the path of an annealed family stood still in the last ones: every step size was zero, and
    /// with it every derivative for the path. What was fitted is the base alone, and more steps change nothing. Start again
    /// with a larger step size, a smaller rate, or another parametrisation of kappa.
    PathStoodStill {
        /// Number of consecutive steps without a moving path, up to the last one.
        steps: u64,
    },
    /// A direction was finite, but the step along it led to an invalid lambda, or to one with an entry beyond `1e10` times
    /// the largest absolute entry of the initial lambda (at least 1). Lambda keeps its value from before the step; the
    /// state of the optimiser may not be usable.
    Diverged {
        /// The step.
        step: u64,
        /// The first parameter that is not finite or too large, if that is the reason.
        parameter: Option<usize>,
        /// A description of the invalid value.
        reason: String,
    },
    /// A direction was not finite. The chains have moved, lambda and the optimiser have not; continuing skips the step.
    NonFinite {
        /// The step.
        step: u64,
        /// The first parameter whose direction is not finite.
        parameter: usize,
        /// The value of the direction for this parameter.
        #[serde(with = "bits::scalar")]
        value: f64,
    },
    /// No finite log density for many steps in a row: at all chains the log density is `-inf`, NaN or `+inf`, or no draw
    /// had a finite one. Changes of lambda during these steps carry no information on the target.
    NothingFinite {
        /// The step.
        step: u64,
        /// Number of consecutive steps, up to this one, without a finite density.
        steps: u64,
        /// Number of evaluations so far that were NaN or `+inf`; the others were `-inf`, outside the support.
        #[serde(with = "bits::scalar")]
        non_finite: f64,
    },
    /// An observer requested the end.
    Stopped(Stop),
}

impl Outcome {
    /// True if the run failed: it ended although neither a rule nor an observer nor the budget required it.
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::Diverged { .. } | Self::NonFinite { .. } | Self::NothingFinite { .. })
    }
}

/// Estimated accuracy of the averaged iterate, by a [`Stationary`](crate::Stationary) rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Number of steps made at the time of the estimate.
    pub step: u64,
    /// Number of trailing steps averaged.
    pub window: u64,
    /// The averaged iterate, which is the result of a converged run.
    #[serde(with = "bits::vector")]
    pub average: Vec<f64>,
    /// The required accuracy.
    #[serde(with = "bits::scalar")]
    pub asked: f64,
    /// The largest half-width of the simultaneous confidence intervals, in the rule's units.
    #[serde(with = "bits::scalar")]
    pub half_width: f64,
    /// Allowance for the bias of the average, in the rule's units: by the curvature of the score, noise of the iterates shifts
    /// their mean by about their variance.
    #[serde(with = "bits::scalar")]
    pub bend: f64,
    /// The parameter of the largest half-width.
    pub parameter: usize,
    /// Split R-hat of the window's blocks: that of the worst parameter or the root mean square over parameters, whichever
    /// is larger relative to its limit.
    #[serde(with = "bits::scalar")]
    pub r_hat: f64,
    /// Limit of `r_hat`. It grows with the number of parameters and falls with the number of blocks.
    #[serde(with = "bits::scalar")]
    pub r_hat_limit: f64,
    /// The reason that the rule does not report convergence; `None` if there is none, which is possible when the budget
    /// ends between two looks.
    pub obstacle: Option<Obstacle>,
}

impl Accuracy {
    /// The accuracy reached: the sum of half-width and bend.
    pub fn reached(&self) -> f64 {
        self.half_width + self.bend
    }
}

/// Reason that a rule does not report convergence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
    /// The iterates still drift.
    Drift,
    /// The iterates are correlated over more than a block, so their errors cannot be estimated yet.
    #[serde(rename = "memory")]
    Autocorrelation,
    /// A chain stayed at one point for longer than a batch.
    Stuck,
    /// The noise of the iterates shifts their mean by more than the required accuracy, however long they are averaged: a
    /// smaller learning rate helps, more steps do not.
    Rate,
    /// The half-width is still too large: more steps help.
    Noise,
}

impl Obstacle {
    const fn in_words(self) -> &'static str {
        match self {
            Self::Drift => "lambda still drifts",
            Self::Autocorrelation => "the autocorrelation time of lambda exceeds a block of steps",
            Self::Stuck => "a chain is stuck",
            Self::Rate => "the rate is too large for this accuracy",
            Self::Noise => "more steps are needed",
        }
    }
}

/// A request of an observer to end the run after this step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// The reason.
    pub reason: String,
}

impl Stop {
    /// A request with this reason.
    pub fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "accuracy {:.2e} (required {:.2e}), over the last {} steps (parameter {}: +-{:.2e}, bias allowance {:.2e}, R-hat {:.3}, limit {:.3})",
            self.reached(),
            self.asked,
            self.window,
            self.parameter,
            self.half_width,
            self.bend,
            self.r_hat,
            self.r_hat_limit
        )?;
        self.obstacle.map_or(Ok(()), |obstacle| write!(f, "; {}", obstacle.in_words()))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Converged(accuracy) => write!(f, "converged at step {}: {accuracy}", accuracy.step),
            Self::BudgetSpent { accuracy: None } => f.write_str("all steps made"),
            Self::BudgetSpent { accuracy: Some(accuracy) } if accuracy.obstacle.is_none() => {
                write!(f, "step limit reached before the next convergence check: {accuracy}")
            }
            Self::BudgetSpent { accuracy: Some(accuracy) } => {
                write!(f, "all steps made, not converged: {accuracy}")
            }
            Self::StationaryButStuck { accuracy, chain, stayed } => {
                write!(
                    f,
                    "all steps made, stationary, but chain {chain} stayed for {stayed} steps: {accuracy}"
                )
            }
            Self::PathStoodStill { steps } => write!(
                f,
                "all steps made, but every step size of the path was zero in the last {steps}: what was fitted is the base alone; \
                 begin with a larger step size or a smaller rate"
            ),
            Self::Diverged { step, reason, .. } => write!(f, "diverged at step {step}: {reason}"),
            Self::NonFinite { step, parameter, value } => {
                write!(f, "direction[{parameter}] is {value} at step {step}")
            }
            Self::NothingFinite { step, steps, non_finite } => write!(
                f,
                "no finite log density in the {steps} steps up to {step}; {non_finite} evaluations were NaN or +inf, the others lay \
                 outside the support: start where the target has mass"
            ),
            Self::Stopped(stop) => write!(f, "stopped by an observer: {}", stop.reason),
        }
    }
}
