//! Settings of fits whose metrics are bounds of the evidence, or are compared at equal evaluations.

use mcsa_core::Error;

use super::{Fit, Metrics};
use crate::catalog::{FamilyConfig, Method, Target};

impl Metrics {
    /// Returns true for metrics of a bound, of its gap or of a race.
    pub(super) fn is_of_evidence(self) -> bool {
        matches!(self, Self::Bound { .. } | Self::Gap { .. } | Self::Race { .. })
    }
}

fn refuse(reason: impl Into<String>) -> Result<(), Error> {
    Err(Error::invalid(reason))
}

impl Fit {
    /// Refuses a fit with metrics of the bound, the gap or a race whose settings do not fit together.
    pub(super) fn check_evidence(&self) -> Result<(), Error> {
        let (name, draws) = match self.metrics {
            Metrics::Bound { draws } => ("the bound", draws),
            Metrics::Gap { draws } => ("the gap", draws),
            Metrics::Race { draws } => ("a race", draws),
            _ => return Ok(()),
        };
        if draws < 2 {
            return refuse(format!("metrics of {name}: at least 2 draws"));
        }
        let is_logistic = self.target.is_logistic();
        let is_linear = matches!(self.target, Target::SyntheticLinear { .. });
        let has_first_part = matches!(self.target, Target::SparseProcess(_) | Target::LocalRegression(_));
        let is_measured = match self.metrics {
            Metrics::Gap { .. } => is_logistic || is_linear,
            Metrics::Bound { .. } => is_logistic || has_first_part,
            _ => is_logistic,
        };
        if !is_measured {
            return refuse(format!("target {} has no rows for metrics of {name}", self.target.kind()));
        }
        let is_fitted = match &self.target {
            Target::SparseProcess(_) => match &self.family {
                FamilyConfig::Annealed(annealed) => annealed.full_rank,
                family => *family == FamilyConfig::FullRank,
            },
            Target::LocalRegression(_) => {
                matches!(self.family, FamilyConfig::SemiAnnealed(_) | FamilyConfig::MeanField { .. })
            }
            _ => !matches!(self.family, FamilyConfig::SemiAnnealed(_)),
        };
        if !is_fitted {
            let (family, target) = (self.family.title(), self.target.kind());
            return refuse(format!("family {family} has no bound of target {target}"));
        }
        if self.start.place().is_none() || self.start.warm_steps() > 0 && !has_first_part {
            return refuse(format!("a fit with metrics of {name} begins at start standard or placed"));
        }
        if self.schedule.is_some() || self.auxiliary + self.averaged > 0 {
            return refuse(format!(
                "a fit with metrics of {name} has no schedule, average or auxiliary sets"
            ));
        }
        let (family, method) = (self.family.kind(), self.method.kind());
        let is_chain = matches!(self.method, Method::Pmcsa { .. } | Method::PmcsaDelayed { .. });
        let is_bound = matches!(self.method, Method::Elbo { .. } | Method::Minibatched { .. });
        let fits = match self.metrics {
            Metrics::Race { .. } => is_chain || matches!(self.method, Method::Minibatched { .. }),
            _ => is_bound,
        };
        match &self.family {
            _ if !fits => refuse(format!("method {method} is not for metrics of {name}")),
            FamilyConfig::Twisted => refuse("twisted is for metrics of filters"),
            FamilyConfig::Annealed(_) if is_chain => {
                refuse(format!("method {method} needs a density of {family}"))
            }
            FamilyConfig::Annealed(annealed) => annealed.check(),
            _ if matches!(self.metrics, Metrics::Gap { .. }) => {
                refuse(format!("family {family} has no parts of the gap; annealed has"))
            }
            _ => Ok(()),
        }
    }
}
