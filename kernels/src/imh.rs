//! Independent Metropolis-Hastings, also with the rejected proposals in the cloud.

use faer::{Mat, MatRef};
use mcsa_core::{
    ChainState, Columns, Ensemble, Error, Kernel, LogDensity, Proposal, Stream, at_least_one, batch,
    batch_mut, bits, borrow, fits_in_memory, same_length,
};
use serde::{Deserialize, Serialize};

use crate::weights::{log_weight, normalise};
use crate::{ImportanceInfo, Reversible, WeightedState};

/// Acceptance probability as a function of the ratio `r = w(z') / w(z)` of importance weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acceptance {
    /// `min(1, r)`: of all reversible rules the one that moves most often (Peskun).
    #[default]
    Metropolis,
    /// `r / (1 + r)`: equal to conditional importance sampling with two candidates.
    Barker,
}

/// Independent Metropolis-Hastings: each proposal is a draw of q, independent of the chain's state.
///
/// ```text
/// z' ~ q_lambda,   w = p / q_lambda,   move with probability min(1, w(z') / w(z))
/// ```
///
/// Invariant for p at every lambda (pMCSA, Alg. 3; JSA). Because proposals do not depend on the chains, those of all chains
/// and all `sweeps` of a step are drawn and evaluated as one batch, then accepted or rejected one by one.
///
/// Numerics: weights are compared in log space. A proposal whose density is NaN is rejected and counted. A chain outside
/// the support of p accepts the first proposal inside; a chain at which q vanishes stays.
#[derive(Debug, Clone, PartialEq)]
pub struct Imh {
    /// The acceptance rule.
    pub acceptance: Acceptance,
    /// Transitions of each chain per step, at least one.
    pub sweeps: usize,
}

impl Default for Imh {
    /// One sweep, Metropolis.
    fn default() -> Self {
        Self { acceptance: Acceptance::Metropolis, sweeps: 1 }
    }
}

/// The state of [`Imh`]: the chains, and every point visited in the last step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImhState {
    /// The chains.
    pub chains: Ensemble,
    /// The points visited in the last step, chain by chain; empty for a single sweep, after which they equal the chains.
    #[serde(with = "bits::matrix")]
    visited: Mat<f64>,
}

impl ChainState for ImhState {
    fn chains(&self) -> &Ensemble {
        &self.chains
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        &mut self.chains
    }

    fn points(&self) -> MatRef<'_, f64> {
        if self.visited.ncols() == 0 { self.chains.positions.as_ref() } else { self.visited.as_ref() }
    }
}

impl Acceptance {
    /// Log acceptance probability from two log weights, not yet truncated at 0.
    pub fn log_alpha(self, from: f64, to: f64) -> f64 {
        let ratio = match from {
            // Outside the support of p: leave for any point inside.
            f64::NEG_INFINITY if to > from => f64::INFINITY,
            f64::NEG_INFINITY => return f64::NEG_INFINITY,
            // Where q vanishes the chain's weight is infinite: it stays.
            f64::INFINITY => return f64::NEG_INFINITY,
            _ => to - from,
        };
        match self {
            Self::Metropolis => ratio,
            Self::Barker if ratio > 0.0 => -(-ratio).exp().ln_1p(),
            Self::Barker => ratio - ratio.exp().ln_1p(),
        }
    }
}

impl Reversible for Imh {}

impl<P: LogDensity + ?Sized> Kernel<P> for Imh {
    type State = ImhState;
    type Info = ImportanceInfo;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn columns(&self, chains: usize) -> usize {
        chains.saturating_mul(self.sweeps)
    }

    fn work_len(&self, target: &P, chains: usize) -> usize {
        let columns = chains * self.sweeps;
        (target.dim() + 2) * columns + chains + target.work_len(columns)
    }

    fn init(&self, target: &P, positions: Mat<f64>) -> Result<ImhState, Error> {
        let (columns, dim) = (Kernel::<P>::columns(self, positions.ncols()), target.dim());
        let visited = if self.sweeps == 1 { 0 } else { columns };
        at_least_one("sweeps", self.sweeps)
            .and_then(|()| fits_in_memory("chains times sweeps", columns, dim))
            .and_then(|()| Ensemble::new(target, positions))
            .map(|chains| ImhState { visited: Mat::zeros(dim, visited), chains })
            .map_err(|error| error.within("Imh"))
    }

    fn check(&self, target: &P, chains: usize, state: &ImhState) -> Result<(), Error> {
        let visited = if self.sweeps == 1 { 0 } else { chains * self.sweeps };
        state
            .chains
            .check(target.dim(), chains)
            .and_then(|()| same_length("visited states", visited, state.visited.ncols()))
            .and_then(|()| same_length("a visited state", target.dim(), state.visited.nrows()))
            .map_err(|error| error.within("Imh"))
    }

    fn step(
        &self,
        target: &P,
        proposal: &mut dyn Proposal,
        state: &mut ImhState,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> ImportanceInfo {
        let ImhState { chains, visited } = state;
        let sweeps = self.sweeps;
        // The state before a transition is the one visited by the transition before.
        let info = self.transitions(target, proposal, chains, lanes, work, |k, here, _, _| {
            if !k.is_multiple_of(sweeps) {
                visited.col_as_slice_mut(k - 1).copy_from_slice(here);
            }
        });
        if sweeps > 1 {
            for j in 0..chains.len() {
                let last = (j + 1) * sweeps - 1;
                visited.col_as_slice_mut(last).copy_from_slice(chains.positions.col_as_slice(j));
            }
        }
        info
    }
}

impl Imh {
    /// All transitions of a step. Before transition `k` of all is decided, `tell` receives `k`, the state, the proposal and the log
    /// acceptance probability, not yet truncated at 0.
    pub(crate) fn transitions<P: LogDensity + ?Sized>(
        &self,
        target: &P,
        proposal: &mut dyn Proposal,
        ensemble: &mut Ensemble,
        lanes: &mut [Stream],
        mut work: &mut [f64],
        mut tell: impl FnMut(usize, &[f64], &[f64], f64),
    ) -> ImportanceInfo {
        let (dim, chains, sweeps) = (target.dim(), ensemble.len(), self.sweeps);
        assert_eq!(lanes.len(), chains, "a lane per chain");
        let columns = chains * sweeps;
        let points = borrow(&mut work, dim * columns);
        let log_q = borrow(&mut work, columns);
        let log_p = borrow(&mut work, columns);
        let log_q_here = borrow(&mut work, chains);
        proposal.sample_into(lanes, batch_mut(points, dim, columns), log_q);
        let points = batch(points, dim, columns);
        target.log_densities(points, log_p, work);
        proposal.log_probs(ensemble.positions.as_ref(), log_q_here);

        let mut info = ImportanceInfo { tried: columns as u64, ..ImportanceInfo::default() };
        let log_w = log_q;
        for (log_w, &log_p) in log_w.iter_mut().zip(log_p.iter()) {
            *log_w = log_weight(log_p, *log_w).unwrap_or_else(|| {
                info.non_finite += 1;
                f64::NEG_INFINITY
            });
        }
        let log_w_here = log_q_here;
        for (log_w, &log_p) in log_w_here.iter_mut().zip(&ensemble.log_p) {
            *log_w = log_weight(log_p, *log_w).unwrap_or(f64::NEG_INFINITY);
            info.log_weight_top = info.log_weight_top.max(*log_w);
        }
        for (j, lane) in lanes.iter_mut().enumerate() {
            for k in j * sweeps..(j + 1) * sweeps {
                let log_alpha = self.acceptance.log_alpha(log_w_here[j], log_w[k]);
                tell(k, ensemble.positions.col_as_slice(j), points.column(k), log_alpha);
                if lane.accept(log_alpha) {
                    ensemble.place(j, points.column(k), log_p[k]);
                    log_w_here[j] = log_w[k];
                    info.accepted += 1;
                }
            }
        }
        if let Some(evenness) = normalise(log_w) {
            (info.max_weight, info.ess) = (evenness.largest, evenness.effective);
            info.log_weight_top = info.log_weight_top.max(evenness.log_top);
            info.log_weight_mean = evenness.log_mean;
        }
        info
    }
}

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
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WasteRecycling {
    /// The kernel that moves the chains.
    pub imh: Imh,
}

impl Reversible for WasteRecycling {}

impl<P: LogDensity + ?Sized> Kernel<P> for WasteRecycling {
    type State = WeightedState;
    type Info = ImportanceInfo;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn columns(&self, chains: usize) -> usize {
        Kernel::<P>::columns(&self.imh, chains).saturating_mul(2)
    }

    fn work_len(&self, target: &P, chains: usize) -> usize {
        self.imh.work_len(target, chains)
    }

    /// Before the first step the cloud consists of the chains.
    fn init(&self, target: &P, positions: Mat<f64>) -> Result<WeightedState, Error> {
        let within = |error: Error| error.within("WasteRecycling");
        let (columns, count) = (Kernel::<P>::columns(self, positions.ncols()), positions.ncols());
        fits_in_memory("twice chains times sweeps", columns, target.dim()).map_err(within)?;
        let chains = self.imh.init(target, positions).map_err(within)?.chains;
        let each = columns / count.max(1);
        Ok(WeightedState::new(chains, columns, |k| (k / each, 1.0 / columns as f64)))
    }

    fn check(&self, target: &P, chains: usize, state: &WeightedState) -> Result<(), Error> {
        let columns = Kernel::<P>::columns(self, chains);
        state.check(target.dim(), chains, columns).map_err(|error| error.within("WasteRecycling"))
    }

    fn step(
        &self,
        target: &P,
        proposal: &mut dyn Proposal,
        state: &mut WeightedState,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> ImportanceInfo {
        let WeightedState { chains, points, weights } = state;
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
