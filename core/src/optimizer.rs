//! Stochastic gradient ascent rules.

use serde::{Serialize, de::DeserializeOwned};

use crate::Error;

/// Stochastic gradient ascent rule: it turns a sequence of ascent directions into a path of lambda.
///
/// The config is `self` and does not change. Moments and counters are in the state, which a checkpoint stores.
pub trait Optimizer: Send + Sync {
    /// Moments, counters: the quantities that a rule keeps from step to step.
    type State: Clone + Serialize + DeserializeOwned + Send + 'static;

    /// The state before the first step.
    fn init(&self, num_params: usize) -> Self::State;

    /// Checks that a state read from a checkpoint belongs to `num_params` params.
    ///
    /// # Errors
    /// If it does not; the message names the difference.
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
    ///
    /// # Panics
    /// If the lengths differ from the `num_params` of [`init`](Self::init).
    fn ascend(&self, state: &mut Self::State, params: &mut [f64], direction: &[f64]);
}
