//! Markov transition kernels that leave the target invariant, the weighted points of a step, and proposal distributions.

use faer::{Mat, MatMut, MatRef};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Ensemble, Error, Family, LogDensity, Record, Stream, same_length};

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

/// The weighted points of a kernel whose state is the chains alone: their positions with equal weights.
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

    /// Largest number of columns in a batch of a step with `chains` chains: a batch that the proposal evaluates, or the
    /// [`points`](ChainState::points) after the step. The default is 0, for kernels that use no proposal and whose points are the
    /// chains.
    fn columns(&self, chains: usize) -> usize {
        let _ = chains;
        0
    }

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
    fn start(&self, target: &P, positions: Mat<f64>, lanes: &mut [Stream]) -> Result<Self::State, Error> {
        let _ = lanes;
        self.init(target, positions)
    }

    /// Checks that a state read from a checkpoint is valid for this target, configuration and number of chains.
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
    fn step(
        &self,
        target: &P,
        proposal: &mut dyn Proposal,
        state: &mut Self::State,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> Self::Info;
}

/// Proposal distribution: draws, and log densities at any point.
///
/// Kernels see a family only as `dyn Proposal`, usually a [`FamilyProposal`]. Virtual calls happen once per batch.
pub trait Proposal {
    /// The dimension of a point.
    fn dim(&self) -> usize;

    /// Log density of each column of `z`, written to `log_q`.
    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]);

    /// Draws every column of `z` and writes the log densities of the draws to `log_q`.
    ///
    /// With `c` columns and `l` lanes, lane `j` draws columns `j c/l .. (j+1) c/l`, in that order.
    fn sample_into(&mut self, lanes: &mut [Stream], z: MatMut<'_, f64>, log_q: &mut [f64]);
}

/// The proposal of a family at a fixed lambda.
///
/// It borrows the params, so they cannot move while the proposal exists.
pub struct FamilyProposal<'a, F: ?Sized> {
    family: &'a F,
    params: &'a [f64],
    work: &'a mut [f64],
    /// True once there was a draw: the memory then holds what depends on the params alone.
    has_drawn: bool,
}

impl<'a, F: Family + ?Sized> FamilyProposal<'a, F> {
    /// The proposal of `family` at `params`, with the memory `work` for batches of `columns` columns.
    ///
    /// # Errors
    /// If the params fail [`Parametric::check`](crate::Parametric::check), or `work` is shorter than `family.work_len(columns)`.
    pub fn new(family: &'a F, params: &'a [f64], columns: usize, work: &'a mut [f64]) -> Result<Self, Error> {
        family.check(params)?;
        let needed = family.work_len(columns);
        if work.len() < needed {
            same_length("work", needed, work.len())?;
        }
        Ok(Self { family, params, work, has_drawn: false })
    }

    /// Weighted sum of scores, `gradient += sum_j weights[j] * d/dlambda log q_lambda(z_j)`, as [`Family::add_scores`].
    pub fn add_scores(&mut self, z: MatRef<'_, f64>, weights: &[f64], gradient: &mut [f64]) {
        let of_family = if self.has_drawn { F::add_scores_again } else { F::add_scores };
        of_family(self.family, self.params, z, weights, gradient, self.work);
    }

    /// Replaces `z` by its mirror image in the centre of `q_lambda`, as [`Family::reflect`].
    pub fn reflect(&self, z: &mut [f64]) -> bool {
        self.family.reflect(self.params, z)
    }
}

impl<F: Family + ?Sized> Proposal for FamilyProposal<'_, F> {
    fn dim(&self) -> usize {
        self.family.dim()
    }

    fn log_probs(&mut self, z: MatRef<'_, f64>, log_q: &mut [f64]) {
        let of_family = if self.has_drawn { F::log_probs_again } else { F::log_probs };
        of_family(self.family, self.params, z, log_q, self.work);
    }

    fn sample_into(&mut self, lanes: &mut [Stream], z: MatMut<'_, f64>, log_q: &mut [f64]) {
        self.family.sample_into(self.params, lanes, z, log_q, self.work);
        self.has_drawn = true;
    }
}
