//! What averages scores.

use serde::{Serialize, de::DeserializeOwned};

use crate::{Ensemble, Error, Record, Stream};

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

    /// Whether what a state remembers of the target is true of this one. Asked once of a state that was read from a file, at the cost
    /// of an evaluation per chain; nothing to ask if densities are found again in every step.
    ///
    /// # Errors
    /// If it is not: the state belongs to another target, or to other data.
    fn verify(&self, target: &P, family: &F, state: &Self::State) -> Result<(), Error> {
        let _ = (target, family, state);
        Ok(())
    }

    /// The configuration in words, kept in checkpoints: a fit is resumed only where it is the same. Write `format!("{self:?}")`, or what
    /// says as much in fewer words; the default is the name of the type, which does not see its fields.
    fn config(&self) -> String {
        crate::type_name::<Self>()
    }

    /// The configuration of the family in words, kept in checkpoints beside that of the estimator: `family.config()`, where the
    /// family has one.
    fn family_config(&self, family: &F) -> String {
        let _ = family;
        crate::type_name::<F>()
    }

    /// The chains in a state, if the rule has any that move together: whoever watches a fit sees from them which chain stays.
    fn chains<'s>(&self, state: &'s Self::State) -> Option<&'s Ensemble> {
        let _ = state;
        None
    }

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
