//! Groups of chains that advance together from exact draws.

use faer::Mat;
use mcsa_core::{Error, Kernel, Proposal, Seed, Stream};

use mcsa_core::ExactDraws;

/// A kernel with its target, proposals and lent memory.
///
/// Between positions `t` and `t + 1` of a path the proposal is `proposals[t mod proposals]`, in both directions of the path. The proposal
/// thus changes between steps, as it does when lambda is learned.
pub(crate) struct Walk<'a, 'g, P: ?Sized, K> {
    pub(crate) kernel: &'a K,
    pub(crate) target: &'a P,
    pub(crate) proposals: &'a mut [&'g mut dyn Proposal],
    pub(crate) chains: usize,
    work: Vec<f64>,
}

impl<'a, 'g, P: ExactDraws + ?Sized, K: Kernel<P>> Walk<'a, 'g, P, K> {
    pub(crate) fn new(
        kernel: &'a K,
        target: &'a P,
        proposals: &'a mut [&'g mut dyn Proposal],
        chains: usize,
    ) -> Result<Self, Error> {
        if proposals.is_empty() || chains == 0 {
            return Err(Error::invalid("a test of invariance needs a proposal and a chain"));
        }
        let work = vec![f64::NAN; kernel.work_len(target, chains)];
        Ok(Self { kernel, target, proposals, chains, work })
    }

    /// Independent exact draws, one per chain.
    pub(crate) fn draw(&self, seed: Seed) -> Mat<f64> {
        let mut positions = Mat::zeros(self.target.dim(), self.chains);
        let mut stream = seed.stream(0, 0);
        (0..self.chains).for_each(|j| self.target.draw_into(&mut stream, positions.col_as_slice_mut(j)));
        positions
    }

    /// A state at `positions` (exact draws); auxiliary variables are drawn from their stationary distribution.
    pub(crate) fn start(&self, positions: Mat<f64>, lanes: &mut [Stream]) -> Result<K::State, Error> {
        self.kernel.start(self.target, positions, lanes)
    }

    /// One transition with the proposal of slot `slot`, with random numbers from the current position of `lanes`.
    pub(crate) fn step(&mut self, state: &mut K::State, lanes: &mut [Stream], slot: usize) {
        let proposal = slot % self.proposals.len();
        self.kernel.step(self.target, &mut *self.proposals[proposal], state, lanes, &mut self.work);
    }
}
