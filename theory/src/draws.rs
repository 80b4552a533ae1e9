//! Exact draws, and the same pushed through a kernel.

use faer::Mat;
use mcsa::{Cloud, Columns, Error, Guide, Kernel, Seed, Stream};

use crate::exact::ExactDraws;
use crate::statistic::Statistics;

/// A kernel at work on a target, with what it needs lent.
///
/// Between positions `t` and `t + 1` of a path the guide is `guides[t mod guides]`, in whichever direction the
/// path is walked: the guide moves, as it does when lambda is learnt.
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

    /// Independent exact draws, a chain each. Replicate `r` owns the lanes `r * chains ..` of the seed.
    pub(crate) fn start(&self, seed: Seed, replicate: usize) -> Mat<f64> {
        let mut positions = Mat::zeros(self.target.dim(), self.chains);
        for (j, mut stream) in self.lanes(seed, replicate, 0).into_iter().enumerate() {
            self.target.draw_into(&mut stream, positions.col_as_slice_mut(j));
        }
        positions
    }

    pub(crate) fn lanes(&self, seed: Seed, replicate: usize, step: usize) -> Vec<Stream> {
        let lane = |j: usize| (replicate * self.chains + j) as u64;
        (0..self.chains).map(|j| seed.stream(lane(j), step as u64)).collect()
    }

    /// One transition with the guide of slot `slot`; its chance stands at step `slot + 1`.
    pub(crate) fn step(&mut self, state: &mut K::State, seed: Seed, replicate: usize, slot: usize) {
        let mut lanes = self.lanes(seed, replicate, slot + 1);
        let guide = slot % self.guides.len();
        self.kernel.step(self.target, &mut *self.guides[guide], state, &mut lanes, &mut self.work);
    }

    pub(crate) fn look(&mut self, statistics: &mut Statistics, z: &[f64], rows: &mut [Vec<f64>]) {
        statistics.push(self.target, &mut *self.guides[0], z, rows);
    }
}

/// Statistics of draws, a row per statistic.
pub(crate) struct Draws {
    /// Exact draws of their own.
    pub(crate) fresh: Vec<Vec<f64>>,
    /// The exact draws from which chains started.
    pub(crate) before: Vec<Vec<f64>>,
    /// Where these chains were after the steps.
    pub(crate) after: Vec<Vec<f64>>,
    /// Chains that were elsewhere after the steps.
    pub(crate) moved: usize,
}

impl Draws {
    pub(crate) fn new<P: ExactDraws + ?Sized, K: Kernel<P>>(
        walk: &mut Walk<'_, '_, P, K>,
        statistics: &mut Statistics,
        seed: Seed,
        draws: usize,
        steps: usize,
    ) -> Result<Self, Error> {
        let empty = || vec![Vec::with_capacity(draws); statistics.count()];
        let mut found = Self { fresh: empty(), before: empty(), after: empty(), moved: 0 };
        let (alone, pushed) = (seed.child(0), seed.child(1));
        for replicate in 0..draws {
            // One chain of each replicate is looked at, for chains may depend on each other; another one each
            // time, for a mistake may sit in the last.
            let chain = replicate % walk.chains;
            let fresh = walk.start(alone, replicate);
            walk.look(statistics, fresh.as_ref().column(chain), &mut found.fresh);
            let before = walk.start(pushed, replicate);
            let mut state = walk.kernel.init(walk.target, before.clone())?;
            (0..steps).for_each(|t| walk.step(&mut state, pushed, replicate, t));
            let after = state.chains().positions.as_ref().column(chain);
            found.moved += usize::from(after != before.as_ref().column(chain));
            walk.look(statistics, before.as_ref().column(chain), &mut found.before);
            walk.look(statistics, after, &mut found.after);
        }
        Ok(found)
    }
}
