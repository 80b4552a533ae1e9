//! What moves lambda.

use serde::{Serialize, de::DeserializeOwned};

use crate::Error;

/// A rule that turns a sequence of ascent directions into a path of lambda.
///
/// The config is `self`; what moves is the state, which goes to the checkpoint.
pub trait Optimizer: Send + Sync {
    /// Moments, counters: whatever the rule remembers.
    type State: Clone + Serialize + DeserializeOwned + Send;

    /// The state before the first step.
    fn init(&self, num_params: usize) -> Self::State;

    /// Whether a state, as read from a checkpoint, belongs to so many params.
    ///
    /// # Errors
    /// If it does not: the message names what differs.
    fn check(&self, num_params: usize, state: &Self::State) -> Result<(), Error>;

    /// The configuration in words, kept in checkpoints: a fit is resumed only where it is the same. Write `format!("{self:?}")`, or what
    /// says as much in fewer words; the default is the name of the type, which does not see its fields.
    fn config(&self) -> String {
        crate::type_name::<Self>()
    }

    /// The averaged lambda that a state holds, if the rule averages its path and has begun to. A rule around another one
    /// asks that one.
    fn average<'s>(&self, state: &'s Self::State) -> Option<&'s [f64]> {
        let _ = state;
        None
    }

    /// Moves `params` uphill along `direction`.
    ///
    /// # Panics
    /// If the lengths differ from the `num_params` of [`init`](Self::init).
    fn ascend(&self, state: &mut Self::State, params: &mut [f64], direction: &[f64]);
}
