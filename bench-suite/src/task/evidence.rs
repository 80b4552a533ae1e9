//! Settings of fits whose metrics are bounds of the evidence.

use mcsa_core::Error;

use super::Fit;
use crate::catalog::{FamilyConfig, Method, Target};

fn refuse(reason: impl Into<String>) -> Result<(), Error> {
    Err(Error::invalid(reason))
}

impl Fit {
    /// Refuses a fit with metrics of the bound whose settings do not fit together.
    pub(super) fn check_bound(&self, draws: usize) -> Result<(), Error> {
        if draws < 2 {
            return refuse("metrics of the bound: at least 2 draws");
        }
        let has_first_part = matches!(self.target, Target::SparseProcess(_) | Target::LocalRegression(_));
        if !self.target.is_logistic() && !has_first_part {
            return refuse(format!("target {} has no rows for metrics of the bound", self.target.kind()));
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
            return refuse("a fit with metrics of the bound begins at start standard or placed");
        }
        if self.schedule.is_some() || self.auxiliary + self.averaged > 0 {
            return refuse("a fit with metrics of the bound has no schedule, average or auxiliary sets");
        }
        if !matches!(self.method, Method::Elbo { .. } | Method::Minibatched { .. }) {
            return refuse(format!("method {} is not for metrics of the bound", self.method.kind()));
        }
        match &self.family {
            FamilyConfig::Twisted => refuse("twisted is for metrics of filters"),
            FamilyConfig::Annealed(annealed) => annealed.check(),
            _ => Ok(()),
        }
    }
}
