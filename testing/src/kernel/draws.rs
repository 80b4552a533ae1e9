//! Groups of chains that advance together from exact draws.

use faer::Mat;
use mcsa_core::{Error, Guide, Kernel, Seed, Stream};

use mcsa_core::ExactDraws;

/// A kernel with its target, guides and lent memory.
///
/// Between positions `t` and `t + 1` of a path the guide is `guides[t mod guides]`, in both directions of the path. The guide
/// thus changes between steps, as it does when lambda is learned.
pub(crate) struct Walk<'a, 'g, P: ?Sized, K> {
    pub(crate) kernel: &'a K,
    pub(crate) target: &'a P,
    pub(crate) guides: &'a mut [&'g mut dyn Guide],
    pub(crate) chains: usize,
    work: Vec<f64>,
}

impl<'a, 'g, P: ExactDraws + ?Sized, K: Kernel<P>> Walk<'a, 'g, P, K> {
    pub(crate) fn new(
        kernel: &'a K,
        target: &'a P,
        guides: &'a mut [&'g mut dyn Guide],
        chains: usize,
    ) -> Result<Self, Error> {
        if guides.is_empty() || chains == 0 {
            return Err(Error::invalid("a test of invariance needs a guide and a chain"));
        }
        let work = vec![f64::NAN; kernel.work_len(target, chains)];
        Ok(Self { kernel, target, guides, chains, work })
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

    /// One transition with the guide of slot `slot`, with random numbers from the current position of `lanes`.
    pub(crate) fn step(&mut self, state: &mut K::State, lanes: &mut [Stream], slot: usize) {
        let guide = slot % self.guides.len();
        self.kernel.step(self.target, &mut *self.guides[guide], state, lanes, &mut self.work);
    }
}
