//! What moves points and leaves the target invariant.

use faer::{Mat, MatRef};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Ensemble, Error, Guide, LogDensity, Record, Stream};

/// The points a kernel's state offers for averaging.
pub trait Cloud {
    /// The chains: where they are, each distributed as the chain's law, and the target's density there.
    fn chains(&self) -> &Ensemble;

    /// The chains, to be placed elsewhere by a kernel that composes this one. What else the state remembers
    /// of the old places, such as gradients, must be forgotten here.
    fn chains_mut(&mut self) -> &mut Ensemble;

    /// Every point the last step offers: visited states, or candidates.
    fn points(&self) -> MatRef<'_, f64> {
        self.chains().positions.as_ref()
    }

    /// Non-negative weights of [`points`](Self::points), summing to one; `None` means equal weights.
    fn weights(&self) -> Option<&[f64]> {
        None
    }
}

/// A kernel that remembers nothing but its chains has them for its state.
impl Cloud for Ensemble {
    fn chains(&self) -> &Ensemble {
        self
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        self
    }
}

/// A Markov transition that leaves the target invariant, for `N` chains in lock step.
///
/// Lane `j` drives chain `j`. Every discrete decision goes through [`Stream::accept`] or
/// [`Stream::choose`], so that [`enumerate`](crate::enumerate) can compute the transition matrix.
/// The bound on `P` says what the kernel needs: `LogDensity` for `Imh`, `Gradient` for `Hmc`.
pub trait Kernel<P: LogDensity + ?Sized>: Send + Sync {
    /// Chains, cached densities, adaptation: whatever moves.
    type State: Cloud + Clone + Serialize + DeserializeOwned + Send;
    /// What a step tells.
    type Info: Record + Default + Send;

    /// The widest batch of a step, for so many chains: asked of the guide, or offered as a cloud.
    fn columns(&self, chains: usize) -> usize;

    /// Numbers of lent memory that a step needs, for so many chains.
    fn work_len(&self, target: &P, chains: usize) -> usize;

    /// Chains that start at the columns of `positions`.
    ///
    /// # Errors
    /// If the points do not fit the target, are not finite, or the configuration is impossible.
    fn init(&self, target: &P, positions: Mat<f64>) -> Result<Self::State, Error>;

    /// Chains that start at the columns of `positions`, and whatever else the state holds drawn from its stationary law
    /// given them; chain `j` draws from lane `j`.
    ///
    /// A kernel on an extended space overrides this: pseudo-marginal Metropolis-Hastings keeps an unbiased estimate `p(z) w`
    /// beside the point, and given `z` the noise `w` has the size-biased law `w g(w) dw`, not the law `g` of a fresh estimate.
    /// For every kernel without such variables it is [`init`](Self::init) and draws nothing.
    ///
    /// # Errors
    /// As [`init`](Self::init).
    fn start(&self, target: &P, positions: Mat<f64>, lanes: &mut [Stream]) -> Result<Self::State, Error> {
        let _ = lanes;
        self.init(target, positions)
    }

    /// Whether a state, as read from a checkpoint, belongs to this target and configuration.
    ///
    /// # Errors
    /// If it does not: the message names what differs.
    fn check(&self, target: &P, chains: usize, state: &Self::State) -> Result<(), Error> {
        state.chains().check(target.dim(), chains)
    }

    /// Whether what a state remembers of the target is true of this one. Asked once of a state that was read from a file, at the cost
    /// of an evaluation per chain. A kernel whose remembered densities are random estimates says `Ok(())`.
    ///
    /// # Errors
    /// If it is not: the state belongs to another target, or to other data.
    fn verify(&self, target: &P, state: &Self::State) -> Result<(), Error> {
        state.chains().verify(target)
    }

    /// The configuration in words, kept in checkpoints: a fit is resumed only where it is the same. Write `format!("{self:?}")`, or what
    /// says as much in fewer words; the default is the name of the type, which does not see its fields.
    fn config(&self) -> String {
        crate::type_name::<Self>()
    }

    /// One transition of every chain.
    ///
    /// # Panics
    /// If lanes and chains differ in number, or `work` is shorter than [`work_len`](Self::work_len).
    fn step(
        &self,
        target: &P,
        guide: &mut dyn Guide,
        state: &mut Self::State,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> Self::Info;
}
