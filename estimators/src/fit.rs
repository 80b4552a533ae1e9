//! States of a fit.

use mcsa_core::{Seed, bits};
use serde::{Deserialize, Serialize};

use crate::Watch;
use crate::configs::{self, Configs};
use crate::iterates::Iterates;

/// The complete state of a fit, which is its checkpoint.
///
/// A fit belongs to the target, family, estimator, optimiser and seed it was started with: it keeps their configurations,
/// which are compared in every run. The data of a target are compared through the log density at the chains: the first use
/// of a fit read from a file evaluates that density once more, if the estimator caches it.
///
/// Any serde format can store it. Reading a fit with other state types returns an error that names them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fit<S, O> {
    #[serde(deserialize_with = "configs::read::<S, O, _>")]
    pub(crate) configs: Configs,
    pub(crate) seed: Seed,
    pub(crate) step: u64,
    #[serde(with = "bits::vector")]
    pub(crate) params: Vec<f64>,
    pub(crate) estimator: S,
    pub(crate) optimizer: O,
    pub(crate) watch: Watch,
    pub(crate) iterates: Option<Iterates>,
    #[serde(with = "bits::scalar")]
    pub(crate) reach: f64,
    #[serde(skip)]
    pub(crate) verified: Verified,
}

/// True if the cached densities of a fit were compared with the target since it was read from a file. Ignored by `==`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Verified(pub(crate) bool);

impl PartialEq for Verified {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<S, O> Fit<S, O> {
    /// Number of steps made, including those whose direction was rejected.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The current lambda.
    pub fn params(&self) -> &[f64] {
        &self.params
    }

    /// The estimator's state: the chains.
    pub fn estimator(&self) -> &S {
        &self.estimator
    }

    /// The optimiser's state.
    pub fn optimizer(&self) -> &O {
        &self.optimizer
    }

    /// The running record of the steps.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// The average that a stopping rule reported after the last step, and the number of steps it covers.
    pub(crate) fn stated(&self) -> Option<(u64, &[f64])> {
        self.iterates.as_ref().and_then(|iterates| iterates.stated(self.step))
    }

    /// Lambda, and the block means of its path since a stopping rule first observed the fit; the path starts now if none did.
    pub(crate) fn path(&mut self) -> (&[f64], &mut Iterates) {
        let count = self.params.len();
        (&self.params, self.iterates.get_or_insert_with(|| Iterates::new(count)))
    }
}
