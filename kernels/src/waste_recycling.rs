//! Waste recycling: independent Metropolis-Hastings whose cloud contains the rejected proposals.

use faer::{Mat, MatRef};
use mcsa_core::{
    ChainState, Ensemble, Error, Kernel, LogDensity, Proposal, Stream, bits, fits_in_memory, same_length,
};
use serde::{Deserialize, Serialize};

use crate::{Imh, ImhInfo, Reversible};

/// Independent Metropolis-Hastings with all proposals in the cloud, weighted by their acceptance probabilities (Frenkel 2004).
///
/// ```text
/// z' ~ q_lambda,   alpha = acceptance probability of z' from z,    cloud: z with weight 1 - alpha, z' with weight alpha
/// ```
/// The chains are those of [`Imh`], bit for bit. The mean over the cloud is the conditional expectation of the mean over the
/// visited points of [`Imh`], given each transition's state and proposal: it has the same expectation, without the noise of the
/// decision to accept. From correlated states its variance over many steps may be greater all the same (Delmas & Jourdain 2009).
///
/// Numerics: a proposal of weight zero is replaced by the chain's state, so that the cloud is finite.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WasteRecycling {
    /// The kernel that moves the chains.
    pub imh: Imh,
}

/// The state of [`WasteRecycling`]: the chains, and the weighted points of the last step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecycledState {
    /// The chains.
    pub chains: Ensemble,
    /// State and proposal of each transition, chain by chain.
    #[serde(with = "bits::matrix")]
    points: Mat<f64>,
    /// Weights of the points; their sum is one.
    #[serde(with = "bits::vector")]
    weights: Vec<f64>,
}

impl ChainState for RecycledState {
    fn chains(&self) -> &Ensemble {
        &self.chains
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        &mut self.chains
    }

    fn points(&self) -> MatRef<'_, f64> {
        self.points.as_ref()
    }

    fn weights(&self) -> Option<&[f64]> {
        Some(&self.weights)
    }
}

impl Reversible for WasteRecycling {}

impl<P: LogDensity + ?Sized> Kernel<P> for WasteRecycling {
    type State = RecycledState;
    type Info = ImhInfo;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn columns(&self, chains: usize) -> usize {
        Kernel::<P>::columns(&self.imh, chains).saturating_mul(2)
    }

    fn work_len(&self, target: &P, chains: usize) -> usize {
        self.imh.work_len(target, chains)
    }

    fn init(&self, target: &P, positions: Mat<f64>) -> Result<RecycledState, Error> {
        let within = |error: Error| error.within("WasteRecycling");
        let (columns, count) = (Kernel::<P>::columns(self, positions.ncols()), positions.ncols());
        fits_in_memory("twice chains times sweeps", columns, target.dim()).map_err(within)?;
        let chains = self.imh.init(target, positions).map_err(within)?.chains;
        // Before the first step the cloud consists of the chains.
        let each = columns / count.max(1);
        let points = Mat::from_fn(target.dim(), columns, |i, k| chains.positions[(i, k / each)]);
        Ok(RecycledState { chains, points, weights: vec![1.0 / columns as f64; columns] })
    }

    fn check(&self, target: &P, chains: usize, state: &RecycledState) -> Result<(), Error> {
        let columns = Kernel::<P>::columns(self, chains);
        state
            .chains
            .check(target.dim(), chains)
            .and_then(|()| same_length("points", columns, state.points.ncols()))
            .and_then(|()| same_length("a point", target.dim(), state.points.nrows()))
            .and_then(|()| same_length("weights", columns, state.weights.len()))
            .map_err(|error| error.within("WasteRecycling"))
    }

    fn step(
        &self,
        target: &P,
        proposal: &mut dyn Proposal,
        state: &mut RecycledState,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> ImhInfo {
        let RecycledState { chains, points, weights } = state;
        let share = 2.0 / weights.len() as f64;
        self.imh.transitions(target, proposal, chains, lanes, work, |k, here, proposal, log_alpha| {
            let alpha = if log_alpha.is_nan() { 0.0 } else { log_alpha.min(0.0).exp() };
            weights[2 * k] = share * (1.0 - alpha);
            weights[2 * k + 1] = share * alpha;
            points.col_as_slice_mut(2 * k).copy_from_slice(here);
            let proposal = if alpha > 0.0 { proposal } else { here };
            points.col_as_slice_mut(2 * k + 1).copy_from_slice(proposal);
        })
    }
}
