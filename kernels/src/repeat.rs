//! Power `K^n` of a kernel: several transitions in one step.

use faer::{Mat, MatRef};
use mcsa_core::{
    ChainState, Ensemble, Error, Kernel, LogDensity, Proposal, Stream, bits, fits_in_memory, same_length,
};
use serde::{Deserialize, Serialize};

use crate::{Reversible, Tally};

/// A kernel applied `times` times within one step, at a fixed proposal. The cloud consists of every visited point.
///
/// ```text
/// K^n(z, .)
/// ```
///
/// For [`Imh`](crate::Imh) prefer its `sweeps`: the same transitions, with all proposals in one batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat<K> {
    /// The repeated kernel.
    pub kernel: K,
    /// Number of transitions per step; at least one.
    pub times: usize,
}

/// The state of [`Repeat`]: the repeated kernel's state, and the points visited in the last step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepeatState<S> {
    inner: S,
    /// Visited points, transition by transition; within a transition one column per chain.
    #[serde(with = "bits::matrix")]
    visited: Mat<f64>,
}

impl<S: ChainState> ChainState for RepeatState<S> {
    fn chains(&self) -> &Ensemble {
        self.inner.chains()
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        self.inner.chains_mut()
    }

    fn points(&self) -> MatRef<'_, f64> {
        self.visited.as_ref()
    }
}

impl<K> Repeat<K> {
    /// Memory for the visited points, filled with the starting points.
    fn room(&self, positions: &Mat<f64>) -> Result<Mat<f64>, Error> {
        if self.times == 0 {
            return Err(Error::parameter("times", 0.0, "at least 1").within("Repeat"));
        }
        let chains = positions.ncols();
        fits_in_memory("chains times transitions", chains.saturating_mul(self.times), positions.nrows())
            .map_err(|error| error.within("Repeat"))?;
        Ok(Mat::from_fn(positions.nrows(), chains * self.times, |i, k| positions[(i, k % chains)]))
    }
}

impl<K: Reversible> Reversible for Repeat<K> {}

impl<P: LogDensity + ?Sized, K: Kernel<P>> Kernel<P> for Repeat<K> {
    type State = RepeatState<K::State>;
    type Info = Tally;

    fn config(&self) -> String {
        format!("Repeat {{ kernel: {}, times: {} }}", self.kernel.config(), self.times)
    }

    fn verify(&self, target: &P, state: &Self::State) -> Result<(), Error> {
        self.kernel.verify(target, &state.inner)
    }

    fn columns(&self, chains: usize) -> usize {
        self.kernel.columns(chains).max(chains.saturating_mul(self.times))
    }

    fn work_len(&self, target: &P, chains: usize) -> usize {
        self.kernel.work_len(target, chains)
    }

    fn init(&self, target: &P, positions: Mat<f64>) -> Result<Self::State, Error> {
        let visited = self.room(&positions)?;
        Ok(RepeatState { inner: self.kernel.init(target, positions)?, visited })
    }

    fn start(&self, target: &P, positions: Mat<f64>, lanes: &mut [Stream]) -> Result<Self::State, Error> {
        let visited = self.room(&positions)?;
        Ok(RepeatState { inner: self.kernel.start(target, positions, lanes)?, visited })
    }

    fn check(&self, target: &P, chains: usize, state: &Self::State) -> Result<(), Error> {
        self.kernel
            .check(target, chains, &state.inner)
            .and_then(|()| same_length("visited states", chains * self.times, state.visited.ncols()))
            .and_then(|()| same_length("a visited state", target.dim(), state.visited.nrows()))
            .map_err(|error| error.within("Repeat"))
    }

    fn step(
        &self,
        target: &P,
        proposal: &mut dyn Proposal,
        state: &mut Self::State,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> Tally {
        let mut tally = Tally::default();
        for k in 0..self.times {
            tally.add(&self.kernel.step(target, proposal, &mut state.inner, lanes, work));
            let positions = state.inner.chains().positions.as_ref();
            state.visited.as_mut().subcols_mut(k * lanes.len(), lanes.len()).copy_from(positions);
        }
        tally
    }
}
