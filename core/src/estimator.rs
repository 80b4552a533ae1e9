//! Gradient estimators of the expected score `E_p[d/dlambda log q_lambda(z)]`, and the optimisers that follow them.

use faer::Mat;
use serde::{Serialize, de::DeserializeOwned};

use crate::{Ensemble, Error, Record, Stream};

/// Gradient estimator: an estimate of `E_p[d/dlambda log q_lambda(z)]`, the direction of steepest descent of `KL(p || q_lambda)`.
///
/// The estimate may be biased, for example by chains that have not yet reached `p`.
///
/// The caller addresses the random streams: before step `t` (counted from 1) it moves lane `j` to address `(j, t)`, and before
/// [`init`](Self::init) to `(j, 0)`. So an estimator holds no random number generator, and a single step can be replayed alone.
pub trait Estimator<P: ?Sized, F: ?Sized>: Send + Sync {
    /// Chains and every other quantity that changes from step to step; a checkpoint stores it.
    type State: Serialize + DeserializeOwned + Send + 'static;
    /// Metrics of a step.
    type Info: Record + Default + Send;

    /// Length of the parameter vector: lambda, and any parameters that are learned together with lambda.
    fn num_params(&self, target: &P, family: &F) -> usize;

    /// Checks that `params` has the right length, is finite, and lies where target and family are defined.
    fn check_params(&self, target: &P, family: &F, params: &[f64]) -> Result<(), Error>;

    /// Number of random streams that a step draws from; by default one.
    fn lanes(&self) -> usize {
        1
    }

    /// Length of the slice `work` that a step needs.
    fn work_len(&self, target: &P, family: &F) -> usize;

    /// The state before the first step.
    ///
    /// # Errors
    /// If target, family, params and configuration do not fit each other.
    fn init(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        lanes: &mut [Stream],
    ) -> Result<Self::State, Error>;

    /// The state before the first step, with the chains at the columns of `positions` instead of draws of the family.
    ///
    /// The default is an error: an estimator without chains has none to place.
    ///
    /// # Errors
    /// As [`init`](Self::init); if the number or the dimension of the points differs from that of the chains; if the estimator has no
    /// chains.
    fn init_at(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        positions: Mat<f64>,
        lanes: &mut [Stream],
    ) -> Result<Self::State, Error> {
        let _ = (target, family, params, positions, lanes);
        Err(Error::invalid("this estimator has no chains that could start at given points"))
    }

    /// Checks that a state read from a checkpoint is valid for this target, family and configuration.
    ///
    /// The default accepts every state. It suits estimators whose state holds only numbers that may have any value.
    fn check(&self, target: &P, family: &F, state: &Self::State) -> Result<(), Error> {
        let _ = (target, family, state);
        Ok(())
    }

    /// Checks the log densities cached in a state against this target.
    ///
    /// Called once for a state that was read from a file; costs one evaluation per chain. An estimator that computes all densities
    /// anew in every step keeps the default, which checks nothing.
    ///
    /// # Errors
    /// If a cached value differs: the state belongs to another target, or to other data.
    fn verify(&self, target: &P, family: &F, state: &Self::State) -> Result<(), Error> {
        let _ = (target, family, state);
        Ok(())
    }

    /// Text of the configuration, which a checkpoint stores; implement it as [`Parametric::config`](crate::Parametric::config).
    fn config(&self) -> String {
        crate::type_name::<Self>()
    }

    /// Text of the family's configuration, stored in checkpoints beside that of the estimator: `family.config()`, if the family has
    /// that method; by default the name of the family's type.
    fn family_config(&self, family: &F) -> String {
        let _ = family;
        crate::type_name::<F>()
    }

    /// The chains in a state, if the estimator moves an ensemble of chains. Observers of a fit detect from them chains that do not
    /// move.
    fn chains<'s>(&self, state: &'s Self::State) -> Option<&'s Ensemble> {
        let _ = state;
        None
    }

    /// Advances the state by one step and overwrites `direction` with the estimate of the ascent direction.
    ///
    /// # Errors
    /// If the params are not valid for the family.
    #[expect(
        clippy::too_many_arguments,
        reason = "config, target, family, lambda, state, random streams, output, workspace: none is part of another"
    )]
    fn ascent_direction(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        state: &mut Self::State,
        lanes: &mut [Stream],
        direction: &mut [f64],
        work: &mut [f64],
    ) -> Result<Self::Info, Error>;
}

/// Stochastic gradient ascent rule: it turns a sequence of ascent directions into a path of lambda.
///
/// The config is `self` and does not change. Moments and counters are in the state, which a checkpoint stores.
pub trait Optimizer: Send + Sync {
    /// Moments, counters: the quantities that a rule keeps from step to step.
    type State: Clone + Serialize + DeserializeOwned + Send + 'static;

    /// The state before the first step.
    fn init(&self, num_params: usize) -> Self::State;

    /// Checks that a state read from a checkpoint belongs to `num_params` params.
    fn check(&self, num_params: usize, state: &Self::State) -> Result<(), Error>;

    /// Text of the configuration, which a checkpoint stores; implement it as [`Parametric::config`](crate::Parametric::config).
    fn config(&self) -> String {
        crate::type_name::<Self>()
    }

    /// The averaged lambda in a state, if the rule averages its path and averaging has begun; by default `None`.
    ///
    /// A rule that wraps another one returns the average of the wrapped rule.
    fn average<'s>(&self, state: &'s Self::State) -> Option<&'s [f64]> {
        let _ = state;
        None
    }

    /// One ascent step: moves `params` along `direction`.
    fn ascend(&self, state: &mut Self::State, params: &mut [f64], direction: &[f64]);
}
