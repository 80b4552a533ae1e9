//! Conditional importance sampling kernel (i-SIR).

use faer::Mat;
use mcsa_core::{
    Columns, Ensemble, Error, Kernel, LogDensity, Proposal, Stream, borrow, fits_in_memory, numeric,
};

use crate::weights::{log_weight, normalise};
use crate::{ImportanceInfo, Reversible, WeightedState};

/// Conditional importance sampling (i-SIR): one retained point competes with `candidates - 1` fresh draws of the proposal.
///
/// ```text
/// z_1 = z,   z_i ~ q_lambda (i = 2..K),   z' = z_k  with  P(k) ∝ p(z_k) / q_lambda(z_k)
/// ```
///
/// Invariant for p at every lambda (MSC, Alg. 2) and reversible; with two candidates it is Barker's rule.
/// `candidates` always counts the retained point: where a paper has N fresh candidates, `candidates` is N + 1. The cloud of
/// a step consists of all candidates with their normalised weights, over which a Rao-Blackwellised score is averaged.
///
/// Numerics: weights are normalised in log space. A candidate whose density is NaN has weight zero and is counted. If all
/// weights vanish, the retained point stays, and the chain is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cis {
    /// Number of candidates, the retained point included; at least two.
    pub candidates: usize,
}

impl Cis {
    /// A kernel with `candidates` candidates, the retained point included.
    pub const fn with_candidates(candidates: usize) -> Self {
        Self { candidates }
    }

    /// A kernel with `fresh` fresh candidates beside the retained point.
    pub const fn with_fresh(fresh: usize) -> Self {
        Self { candidates: fresh + 1 }
    }

    const fn fresh(&self) -> usize {
        self.candidates.saturating_sub(1)
    }
}

impl Reversible for Cis {}

impl<P: LogDensity + ?Sized> Kernel<P> for Cis {
    type State = WeightedState;
    type Info = ImportanceInfo;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn columns(&self, chains: usize) -> usize {
        chains.saturating_mul(self.candidates)
    }

    fn work_len(&self, target: &P, chains: usize) -> usize {
        let fresh = chains * self.fresh();
        2 * fresh + chains + self.candidates + target.work_len(fresh)
    }

    /// Before the first step the cloud consists of the chains. In it the fresh candidates come first, chain by chain, then the
    /// retained points.
    fn init(&self, target: &P, positions: Mat<f64>) -> Result<WeightedState, Error> {
        let within = |error: Error| error.within("Cis");
        if self.candidates < 2 {
            let (count, expected) = (self.candidates as f64, "at least 2, the retained point included");
            return Err(within(Error::parameter("candidates", count, expected)));
        }
        let (chains, columns) = (positions.ncols(), Kernel::<P>::columns(self, positions.ncols()));
        fits_in_memory("chains times candidates", columns, target.dim()).map_err(within)?;
        let ensemble = Ensemble::new(target, positions).map_err(within)?;
        let fresh = columns - chains;
        Ok(WeightedState::new(ensemble, columns, |k| match k.checked_sub(fresh) {
            Some(j) => (j, 1.0 / chains as f64),
            None => (k / self.fresh(), 0.0),
        }))
    }

    fn check(&self, target: &P, chains: usize, state: &WeightedState) -> Result<(), Error> {
        state.check(target.dim(), chains, chains * self.candidates).map_err(|error| error.within("Cis"))
    }

    fn step(
        &self,
        target: &P,
        proposal: &mut dyn Proposal,
        state: &mut WeightedState,
        lanes: &mut [Stream],
        mut work: &mut [f64],
    ) -> ImportanceInfo {
        let (chains, fresh) = (state.chains.len(), self.fresh());
        assert_eq!(lanes.len(), chains, "a lane per chain");
        let columns = chains * fresh;
        let log_q = borrow(&mut work, columns);
        let log_p = borrow(&mut work, columns);
        let log_q_here = borrow(&mut work, chains);
        let weights = borrow(&mut work, self.candidates);
        proposal.sample_into(lanes, state.points.as_mut().subcols_mut(0, columns), log_q);
        target.log_densities(state.points.as_ref().subcols(0, columns), log_p, work);
        proposal.log_probs(state.chains.positions.as_ref(), log_q_here);

        let mut info =
            ImportanceInfo { tried: chains as u64, vanished: Some(0), ..ImportanceInfo::default() };
        for (j, lane) in lanes.iter_mut().enumerate() {
            let own = j * fresh..(j + 1) * fresh;
            let retained = columns + j;
            state.points.col_as_slice_mut(retained).copy_from_slice(state.chains.positions.col_as_slice(j));
            let densities = std::iter::once((state.chains.log_p[j], log_q_here[j]));
            let densities =
                densities.chain(log_p[own.clone()].iter().copied().zip(log_q[own.clone()].iter().copied()));
            for (weight, (log_p, log_q)) in weights.iter_mut().zip(densities) {
                *weight = log_weight(log_p, log_q).unwrap_or_else(|| {
                    info.non_finite += 1;
                    f64::NEG_INFINITY
                });
            }
            match lane.choose(weights) {
                None => info.vanished = info.vanished.map(|vanished| vanished + 1),
                Some(0) => {}
                Some(k) => {
                    let k = own.start + k - 1;
                    state.chains.place(j, state.points.as_ref().column(k), log_p[k]);
                    info.accepted += 1;
                }
            }
            match normalise(weights) {
                None => weights[0] = 1.0,
                Some(evenness) => {
                    info.max_weight = info.max_weight.max(evenness.largest);
                    info.ess += evenness.effective / chains as f64;
                    info.log_weight_top = info.log_weight_top.max(evenness.log_top);
                    // The retained point is not a draw of q: the mean is over the fresh candidates.
                    let fresh_share =
                        weights[1..].iter().sum::<f64>() * weights.len() as f64 / columns as f64;
                    info.log_weight_mean =
                        numeric::log_add_exp(info.log_weight_mean, evenness.log_mean + fresh_share.ln());
                }
            }
            state.weights[retained] = weights[0] / chains as f64;
            for (kept, weight) in state.weights[own].iter_mut().zip(&weights[1..]) {
                *kept = weight / chains as f64;
            }
        }
        info
    }
}
