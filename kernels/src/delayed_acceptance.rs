//! Delayed acceptance with a surrogate density.

use faer::Mat;
use mcsa_core::{
    ChainState, Columns, ColumnsMut, Ensemble, Error, Kernel, LogDensity, Metric, Proposal, Record, Stream,
    batch, batch_mut, borrow, type_name,
};
use serde::{Deserialize, Serialize};

use crate::Reversible;

/// Delayed acceptance: a cheap surrogate density screens the proposals, and the exact density is evaluated only for those
/// that pass.
///
/// ```text
/// z' ~ K_surrogate(z, .),    keep z' with probability  min(1, (p(z') s(z)) / (p(z) s(z')))
/// ```
///
/// Invariant for p because the inner kernel is [`Reversible`] for the surrogate s (Christen & Fox 2005): then `s(z) / s(z')` is
/// the ratio of the inner kernel's transition densities from `z'` to `z` and from `z` to `z'`. Several sweeps of one kernel,
/// `Repeat<Cis>`, are reversible and cost one exact evaluation; a [`Cycle`](crate::Cycle) is not.
///
/// The recorded `second_acceptance` says how good the surrogate is where chains go: it is 1 if s is p up to a constant.
///
/// Numerics: a chain that the inner kernel left in place costs no exact evaluation. A proposal whose exact density is NaN
/// or `+inf` is rejected and counted.
#[derive(Debug, Clone, PartialEq)]
pub struct DelayedAcceptance<K, S> {
    /// The proposal kernel, reversible for the surrogate.
    pub inner: K,
    /// The surrogate: a cheap approximation of the target.
    pub surrogate: S,
}

/// The state of [`DelayedAcceptance`]: the chains with their exact densities, and the inner kernel's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DelayedState<S> {
    chains: Ensemble,
    inner: S,
    /// True if the chains were written from outside since the surrogate was last evaluated there.
    moved: bool,
}

/// Metrics of one step of [`DelayedAcceptance`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DelayedInfo {
    /// Number of chains.
    pub tried: u64,
    /// Chains whose proposal passed the surrogate; each costs one exact evaluation.
    pub promoted: u64,
    /// Chains that moved.
    pub accepted: u64,
    /// The acceptance probability `min(1, ratio)` at the exact density, summed over the chains whose proposal passed the surrogate.
    pub second: f64,
    /// Proposals at which the exact density was NaN or `+inf`; all were rejected.
    pub non_finite: u64,
}

impl Record for DelayedInfo {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        let share = |count: u64| count as f64 / self.tried.max(1) as f64;
        sink(Metric::mean("promoted"), share(self.promoted));
        sink(Metric::ACCEPTANCE, share(self.accepted));
        if self.promoted > 0 {
            let parts = u32::try_from(self.promoted).unwrap_or(u32::MAX);
            sink(Metric::mean("second_acceptance").over(parts), self.second / self.promoted as f64);
        }
        sink(Metric::NON_FINITE, self.non_finite as f64);
    }
}

impl<S: ChainState> ChainState for DelayedState<S> {
    fn chains(&self) -> &Ensemble {
        &self.chains
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        self.moved = true;
        &mut self.chains
    }
}

/// Initial state from the inner kernel's initial state and the positions.
fn begin<P: LogDensity + ?Sized, S>(
    target: &P,
    inner: Result<S, Error>,
    positions: Mat<f64>,
) -> Result<DelayedState<S>, Error> {
    let inner = inner.map_err(|error| error.within("surrogate").within("DelayedAcceptance"))?;
    let chains = Ensemble::new(target, positions).map_err(|error| error.within("DelayedAcceptance"))?;
    Ok(DelayedState { chains, inner, moved: false })
}

impl<K: Reversible, S> Reversible for DelayedAcceptance<K, S> {}

impl<P, S, K> Kernel<P> for DelayedAcceptance<K, S>
where
    P: LogDensity + ?Sized,
    S: LogDensity,
    K: Kernel<S> + Reversible,
{
    type State = DelayedState<K::State>;
    type Info = DelayedInfo;

    fn config(&self) -> String {
        format!("DelayedAcceptance {{ inner: {}, surrogate: {} }}", self.inner.config(), type_name::<S>())
    }

    fn columns(&self, chains: usize) -> usize {
        self.inner.columns(chains)
    }

    fn work_len(&self, target: &P, chains: usize) -> usize {
        let inner = self.inner.work_len(&self.surrogate, chains).max(self.surrogate.work_len(chains));
        (target.dim() + 2) * chains + inner.max(target.work_len(chains))
    }

    fn init(&self, target: &P, positions: Mat<f64>) -> Result<Self::State, Error> {
        begin(target, self.inner.init(&self.surrogate, positions.clone()), positions)
    }

    fn start(&self, target: &P, positions: Mat<f64>, lanes: &mut [Stream]) -> Result<Self::State, Error> {
        begin(target, self.inner.start(&self.surrogate, positions.clone(), lanes), positions)
    }

    fn check(&self, target: &P, chains: usize, state: &Self::State) -> Result<(), Error> {
        state
            .chains
            .check(target.dim(), chains)
            .and_then(|()| self.inner.check(&self.surrogate, chains, &state.inner))
            .map_err(|error| error.within("DelayedAcceptance"))
    }

    fn step(
        &self,
        target: &P,
        proposal: &mut dyn Proposal,
        state: &mut Self::State,
        lanes: &mut [Stream],
        mut work: &mut [f64],
    ) -> DelayedInfo {
        let (dim, chains) = (target.dim(), state.chains.len());
        if state.moved {
            let inner = state.inner.chains_mut();
            inner.copy_from(&state.chains);
            self.surrogate.log_densities(state.chains.positions.as_ref(), &mut inner.log_p, work);
            state.moved = false;
        }
        let log_s = borrow(&mut work, chains);
        let log_p = borrow(&mut work, chains);
        let points = borrow(&mut work, dim * chains);
        log_s.copy_from_slice(&state.inner.chains().log_p);
        self.inner.step(&self.surrogate, proposal, &mut state.inner, lanes, work);

        let promoted = |j: usize, there: &Ensemble, here: &Ensemble| {
            there.positions.col_as_slice(j) != here.positions.col_as_slice(j)
        };
        let mut packed = 0;
        for j in (0..chains).filter(|&j| promoted(j, state.inner.chains(), &state.chains)) {
            batch_mut(points, dim, chains)
                .column_mut(packed)
                .copy_from_slice(state.inner.chains().positions.col_as_slice(j));
            packed += 1;
        }
        let points = batch(&points[..dim * packed], dim, packed);
        target.log_densities(points, &mut log_p[..packed], work);

        let mut info =
            DelayedInfo { tried: chains as u64, promoted: packed as u64, ..DelayedInfo::default() };
        let mut k = 0;
        for (j, lane) in lanes.iter_mut().enumerate() {
            if !promoted(j, state.inner.chains(), &state.chains) {
                continue;
            }
            let broken = log_p[k].is_nan() || log_p[k] == f64::INFINITY;
            info.non_finite += u64::from(broken);
            let surrogate_ratio = log_s[j] - state.inner.chains().log_p[j];
            // From a point without a finite density any point with one is accepted, whatever the surrogate.
            let log_alpha = match (log_p[k].is_finite(), state.chains.log_p[j].is_finite()) {
                _ if broken => f64::NAN,
                (true, false) => f64::INFINITY,
                _ => log_p[k] - state.chains.log_p[j] + surrogate_ratio,
            };
            info.second += if log_alpha.is_nan() { 0.0 } else { log_alpha.min(0.0).exp() };
            if lane.accept(log_alpha) {
                state.chains.place(j, points.column(k), log_p[k]);
                info.accepted += 1;
            } else {
                state.inner.chains_mut().place(j, state.chains.positions.col_as_slice(j), log_s[j]);
            }
            k += 1;
        }
        info
    }
}
