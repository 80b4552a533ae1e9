//! Outcomes of a run, with the evidence for each.

use std::fmt;

use mcsa::bits;
use serde::{Deserialize, Serialize};

use crate::Stop;

/// Why a run ended, with the evidence. "All steps were made" is [`BudgetSpent`](Self::BudgetSpent) and says nothing of convergence.
///
/// The fit is whole after each: it can be kept, looked at, and run on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// A [`Stationary`](crate::Stationary) rule found its accuracy reached.
    Converged(Accuracy),
    /// All steps were made. Under a rule: how far it was, if there were iterates enough to say.
    BudgetSpent {
        /// What the rule saw last; its `obstacle` says what kept the run from ending earlier.
        accuracy: Option<Accuracy>,
    },
    /// All steps were made, and the iterates would pass for stationary, but a chain stayed at one place for
    /// longer than the batches from which errors are computed. What looks like rest may be this chain's bias.
    StationaryButStuck {
        /// What the rule saw last.
        accuracy: Accuracy,
        /// The chain.
        chain: usize,
        /// For how many steps it stayed, within the window.
        stayed: u64,
    },
    /// A direction was finite, but the step along it led to an impossible lambda, or to one that is `1e10` times farther from 0 than
    /// lambda was at the start and than 1. Lambda is where the last good step left it; the optimiser's memory may not be usable.
    Diverged {
        /// The step.
        step: u64,
        /// The first parameter that is not finite or too far off, if it is that.
        parameter: Option<usize>,
        /// What is impossible.
        reason: String,
    },
    /// A direction was not finite. Chains have moved, lambda and optimiser have not: going on skips the step.
    NonFinite {
        /// The step.
        step: u64,
        /// The first parameter whose direction is not finite.
        parameter: usize,
        /// What the direction is there.
        #[serde(with = "bits::scalar")]
        value: f64,
    },
    /// For many steps in a row nothing finite was seen: all chains stood where the log density is `-inf`, NaN or `+inf`, or no draw
    /// had a finite one. What lambda did meanwhile says nothing of the target.
    NothingFinite {
        /// The step.
        step: u64,
        /// Consecutive steps, up to this one, in which nothing was finite.
        steps: u64,
        /// Evaluations so far that were NaN or `+inf`; the others were `-inf`, outside the support.
        #[serde(with = "bits::scalar")]
        non_finite: f64,
    },
    /// An observer asked for it.
    Stopped(Stop),
}

impl Outcome {
    /// Whether something went wrong: the run ended although neither a rule nor an observer nor the budget asked for it.
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::Diverged { .. } | Self::NonFinite { .. } | Self::NothingFinite { .. })
    }
}

/// What a [`Stationary`](crate::Stationary) rule knows of the averaged iterate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Steps made when this was found.
    pub step: u64,
    /// Trailing steps that are averaged.
    pub window: u64,
    /// The averaged iterate: what a run that converged should be asked for.
    #[serde(with = "bits::vector")]
    pub average: Vec<f64>,
    /// The accuracy asked for.
    #[serde(with = "bits::scalar")]
    pub asked: f64,
    /// The largest half-width of the simultaneous confidence intervals, in the rule's units.
    #[serde(with = "bits::scalar")]
    pub half_width: f64,
    /// The allowance for the bend of the map: noise of iterates moves their mean by about their variance.
    #[serde(with = "bits::scalar")]
    pub bend: f64,
    /// The parameter of the largest half-width.
    pub parameter: usize,
    /// The largest split R-hat of the window's blocks.
    #[serde(with = "bits::scalar")]
    pub r_hat: f64,
    /// What keeps the rule from calling this converged; `None` if nothing does. A budget that ends between two looks may end so too.
    pub obstacle: Option<Obstacle>,
}

impl Accuracy {
    /// The accuracy reached: half-width and bend together.
    pub fn reached(&self) -> f64 {
        self.half_width + self.bend
    }
}

/// What keeps a rule from calling a fit converged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
    /// Iterates still drift.
    Drift,
    /// Iterates remember for longer than a block: their errors cannot be told yet.
    Memory,
    /// A chain stayed at one place for longer than a batch.
    Stuck,
    /// Iterates are so noisy that the mean is off by more than was asked for, however long they are averaged: a smaller rate helps,
    /// more steps do not.
    Rate,
    /// More steps would do.
    Noise,
}

impl Obstacle {
    const fn in_words(self) -> &'static str {
        match self {
            Self::Drift => "lambda still drifts",
            Self::Memory => "lambda remembers for longer than a block of steps",
            Self::Stuck => "a chain is stuck",
            Self::Rate => "the rate is too large for this accuracy",
            Self::Noise => "more steps are needed",
        }
    }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "accuracy {:.2e} of {:.2e} asked, over the last {} steps (parameter {}: +-{:.2e}, bend {:.2e}, R-hat {:.3})",
            self.reached(),
            self.asked,
            self.window,
            self.parameter,
            self.half_width,
            self.bend,
            self.r_hat
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
                write!(f, "all steps made; between two looks: {accuracy}")
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
