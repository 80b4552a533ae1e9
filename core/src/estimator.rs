//! What averages scores.

use serde::{Serialize, de::DeserializeOwned};

use crate::{Error, Record, Stream};

/// A rule that estimates the direction in which `KL(p || q_lambda)` falls:
/// `E_p[d/dlambda log q_lambda(z)]`, up to the bias its state carries.
///
/// The loop addresses the streams: before step `t` (counted from 1) lane `j` stands at `(j, t)`,
/// and at [`init`](Self::init) at `(j, 0)`. So an estimator holds no generator, and a step can be replayed alone.
pub trait Estimator<P: ?Sized, F: ?Sized>: Send + Sync {
    /// Chains and whatever else moves; goes to the checkpoint.
    type State: Serialize + DeserializeOwned + Send;
    /// What a step tells.
    type Info: Record + Default + Send;

    /// The length of the vector that moves: lambda, and whatever is learned with it.
    fn num_params(&self, target: &P, family: &F) -> usize;

    /// Refuses a vector of the wrong length, one with a NaN or an infinity, or one that target or family cannot represent.
    ///
    /// # Errors
    /// Says which and where.
    fn check_params(&self, target: &P, family: &F, params: &[f64]) -> Result<(), Error>;

    /// The number of streams it draws from.
    fn lanes(&self) -> usize;

    /// Numbers of lent memory that a step needs.
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

    /// Whether a state, as read from a checkpoint, belongs to this target, family and configuration.
    ///
    /// # Errors
    /// If it does not: the message names what differs.
    fn check(&self, target: &P, family: &F, state: &Self::State) -> Result<(), Error>;

    /// Moves the state by one step and writes the direction; what stood there is overwritten.
    ///
    /// # Errors
    /// If the params are refused by the family.
    #[expect(
        clippy::too_many_arguments,
        reason = "config, target, family, lambda, state, chance, result, memory: none is part of another"
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
