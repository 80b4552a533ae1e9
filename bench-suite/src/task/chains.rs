//! Markov chains whose draws are measured, without a fit, as a task.

use mcsa_core::Error;
use serde::{Deserialize, Serialize};

use crate::catalog::{Method, Target};

/// Markov chains on the posterior of a logistic regression, or on an approximation of it (see [`Method::NutsCs`] and
/// [`Method::Hmcecs`]). Each chain has its own warm-up, of half as many steps as it has draws.
///
/// One row at the end: predictions of held-out labels, the largest R-hat and the smallest bulk effective sample size of a
/// coordinate, and the evaluated likelihood terms. The unit of progress and of checkpoints is a chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chains {
    /// Target.
    pub target: Target,
    /// Method of sampling.
    pub method: Method,
    /// Number of draws of each chain.
    pub draws: u64,
}

impl Chains {
    /// Steps of the warm-up of each chain.
    pub fn warm_up(&self) -> u64 {
        self.draws / 2
    }

    /// Number of chains.
    pub(crate) fn count(&self) -> u64 {
        self.method.sampling().unwrap_or(0) as u64
    }

    /// Work of one chain.
    pub(crate) fn work_of_chain(&self) -> u64 {
        (self.warm_up() + self.draws) * self.method.effort()
    }

    /// Refuses chains that cannot be run.
    ///
    /// # Errors
    /// If so; the message names the setting.
    pub(super) fn check(&self) -> Result<(), Error> {
        let kind = self.method.kind();
        if !self.target.is_logistic() {
            return Err(Error::invalid(format!(
                "target {} has no rows for method {kind}",
                self.target.kind()
            )));
        }
        match (self.draws, self.count()) {
            (0, _) => Err(Error::invalid(format!("method {kind} needs a number of draws in the preset"))),
            (_, 0) => Err(Error::invalid(format!("method {kind} needs at least one chain"))),
            _ => Ok(()),
        }
    }
}
