//! Methods of approximate inference that are compared within budgets of evaluations.

use serde::{Deserialize, Serialize};

use super::FamilyConfig;

/// Method of approximate inference with its settings, from the start to draws.
///
/// None is given the moments of the target. Starts, warm-up and weighted draws are part of the budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Entrant {
    /// Running moments of parallel chains, about as many as dimensions, from Laplace's approximation.
    Moments {
        /// The family.
        family: Moment,
    },
    /// Score ascent of the mean field with parallel chains and Adam, as in pMCSA.
    Pmcsa {
        /// Number of chains.
        chains: usize,
        /// Rate of Adam.
        rate: f64,
        /// True: from Laplace's approximation. False: from a round normal.
        #[serde(default)]
        laplace: bool,
    },
    /// Score ascent of a flow with parallel chains, from Laplace's approximation, with a rate that falls like `t^(-1/2)`.
    Flow {
        /// The flow.
        family: FamilyConfig,
        /// Number of chains.
        chains: usize,
        /// Rate of Adam in the first step.
        rate: f64,
    },
    /// Exclusive divergence with Adam.
    Elbo {
        /// The family.
        family: FamilyConfig,
        /// Draws per step.
        samples: usize,
        /// Rate of Adam.
        rate: f64,
        /// True: from Laplace's approximation. False: from a round normal.
        #[serde(default)]
        laplace: bool,
    },
    /// Batch and match of a Gaussian (Cai et al. 2024).
    BatchMatch {
        /// Draws per step.
        samples: usize,
        /// True: from Laplace's approximation. False: from a round normal.
        #[serde(default)]
        laplace: bool,
    },
    /// Pathfinder from as many starts as the budget allows, at most twenty (Zhang et al. 2022).
    Pathfinder,
    /// The No-U-Turn sampler, about half of whose evaluations are warm-up.
    Nuts,
    /// `mcsa::fit`, with its verdict.
    Fit,
}

/// Family of running moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// Independent Gaussian coordinates.
    MeanField,
    /// Gaussian with a diagonal covariance and ten factors.
    LowRank,
    /// Gaussian.
    FullRank,
    /// Student t with learned degrees of freedom.
    StudentT,
    /// Mixture of such Student t, one for each mode that is found, at least four.
    Mixture,
}

impl Entrant {
    /// Name of the method and its family in files: a key of tables and presets.
    pub fn kind(&self) -> &'static str {
        let is_flow = |family: &FamilyConfig| !family.is_gaussian();
        match self {
            Self::Moments { family } => match family {
                Moment::MeanField => "moments-mean-field",
                Moment::LowRank => "moments-low-rank",
                Moment::FullRank => "moments-full-rank",
                Moment::StudentT => "moments-student-t",
                Moment::Mixture => "moments-mixture",
            },
            Self::Pmcsa { .. } => "pmcsa-adam",
            Self::Flow { .. } => "pmcsa-flow",
            Self::Elbo { family, .. } if is_flow(family) => "elbo-flow",
            Self::Elbo { family: FamilyConfig::MeanField { .. }, .. } => "elbo-mean-field",
            Self::Elbo { family: FamilyConfig::LowRank { .. }, .. } => "elbo-low-rank",
            Self::Elbo { .. } => "elbo-full-rank",
            Self::BatchMatch { .. } => "batch-match",
            Self::Pathfinder => "pathfinder",
            Self::Nuts => "nuts",
            Self::Fit => "fit",
        }
    }

    /// Kind, with the settings that are numbers, and the start.
    pub fn title(&self) -> String {
        let (name, from) = (self.kind(), |laplace: bool| if laplace { ", from Laplace" } else { "" });
        match self {
            Self::Pmcsa { chains, rate, laplace } => {
                format!("{name} ({chains} chains, rate {rate}{})", from(*laplace))
            }
            Self::Flow { chains, rate, .. } => format!("{name} ({chains} chains, rate {rate})"),
            Self::Elbo { samples, rate, laplace, .. } => {
                format!("{name} ({samples} draws, rate {rate}{})", from(*laplace))
            }
            Self::BatchMatch { samples, laplace } => format!("{name} ({samples} draws{})", from(*laplace)),
            _ => name.to_owned(),
        }
    }

    /// Cost of an evaluation relative to that of running moments: for estimates of time, not for results.
    pub(crate) fn effort(&self) -> u64 {
        match self {
            Self::Flow { .. } => 20,
            Self::Elbo { .. } | Self::BatchMatch { .. } => 4,
            Self::Nuts | Self::Pathfinder => 3,
            _ => 1,
        }
    }
}
