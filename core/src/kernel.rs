//! Markov transition kernels that leave the target invariant, and the weighted points of a step.

use faer::{Mat, MatRef};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Ensemble, Error, LogDensity, Proposal, Record, Stream};

/// The weighted points of a step: the points at which scores are averaged, kept in the state of a kernel.
pub trait ChainState {
    /// The chains: the position of each, an unweighted state of its Markov chain, and the target's log density there.
    fn chains(&self) -> &Ensemble;

    /// Mutable access to the chains, for a kernel that is composed of several and moves the chains from one to the next.
    ///
    /// The implementation must discard every other quantity cached at the old positions, such as gradients.
    fn chains_mut(&mut self) -> &mut Ensemble;

    /// The points of the last step: visited states, or candidates. By default the positions of the chains.
    fn points(&self) -> MatRef<'_, f64> {
        self.chains().positions.as_ref()
    }

    /// Non-negative weights of [`points`](Self::points), summing to one; `None` means equal weights.
    fn weights(&self) -> Option<&[f64]> {
        None
    }
}

/// The cloud of a kernel whose state is the chains alone: their positions with equal weights.
impl ChainState for Ensemble {
    fn chains(&self) -> &Ensemble {
        self
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        self
    }
}

/// Markov transition kernel that leaves the target invariant, for `N` chains that step together.
///
/// Chain `j` draws from lane `j`. Every discrete decision goes through a method of [`Stream`] such as [`Stream::accept`] or
/// [`Stream::choose`], so that [`enumerate`](crate::enumerate) can compute the exact transition matrix of a finite problem.
/// The bound on `P` is what the kernel needs of the target: `LogDensity` for `Imh`, `Gradient` for `Hmc`.
pub trait Kernel<P: LogDensity + ?Sized>: Send + Sync {
    /// Chains, cached log densities, adaptation: every quantity that changes from step to step.
    type State: ChainState + Clone + Serialize + DeserializeOwned + Send + 'static;
    /// Metrics of a step.
    type Info: Record + Default + Send;

    /// Largest number of columns in a batch of a step with `chains` chains, be it evaluated by the proposal or offered as a cloud.
    fn columns(&self, chains: usize) -> usize;

    /// Length of the slice `work` that a step with `chains` chains needs.
    fn work_len(&self, target: &P, chains: usize) -> usize;

    /// The state of chains that start at the columns of `positions`.
    ///
    /// # Errors
    /// If the points have another dimension than the target or are not finite, or the configuration is impossible.
    fn init(&self, target: &P, positions: Mat<f64>) -> Result<Self::State, Error>;

    /// The state of chains that start at the columns of `positions`, with auxiliary variables drawn from their stationary
    /// distribution given these positions; chain `j` draws from lane `j`.
    ///
    /// Kernels on an extended space override this method. For example, pseudo-marginal Metropolis-Hastings keeps an unbiased
    /// estimate `p(z) w` beside the point, and given `z` the noise `w` has the size-biased distribution `w g(w) dw`, not the
    /// distribution `g` of a fresh estimate. The default, for kernels without auxiliary variables, is [`init`](Self::init) and
    /// draws nothing.
    ///
    /// # Errors
    /// If [`init`](Self::init) fails.
    fn start(&self, target: &P, positions: Mat<f64>, lanes: &mut [Stream]) -> Result<Self::State, Error> {
        let _ = lanes;
        self.init(target, positions)
    }

    /// Checks that a state read from a checkpoint is valid for this target, configuration and number of chains.
    ///
    /// # Errors
    /// If it is not; the message names the difference.
    fn check(&self, target: &P, chains: usize, state: &Self::State) -> Result<(), Error> {
        state.chains().check(target.dim(), chains)
    }

    /// Checks the log densities cached in a state against this target.
    ///
    /// Called once for a state that was read from a file; costs one evaluation per chain. A kernel whose cached densities are
    /// random estimates returns `Ok(())`.
    ///
    /// # Errors
    /// If a cached value differs: the state belongs to another target, or to other data.
    fn verify(&self, target: &P, state: &Self::State) -> Result<(), Error> {
        state.chains().verify(target)
    }

    /// Text of the configuration, which a checkpoint stores; implement it as [`Parametric::config`](crate::Parametric::config).
    fn config(&self) -> String {
        crate::type_name::<Self>()
    }

    /// One transition of every chain.
    ///
    /// # Panics
    /// If the numbers of lanes and chains differ, or `work` is shorter than [`work_len`](Self::work_len).
    fn step(
        &self,
        target: &P,
        proposal: &mut dyn Proposal,
        state: &mut Self::State,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> Self::Info;
}
