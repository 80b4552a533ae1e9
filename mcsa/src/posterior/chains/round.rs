//! A round of chains: No-U-turn steps of each from its place, with one metric.

use faer::Mat;
use mcsa_core::{Address, ChainState, Ensemble, Error, Gradient, Kernel, Seed, Transport, Whitened, bits};
use mcsa_kernels::{GradientEnsemble, Leapfrog, Mass, NoProposal, Nuts, StepSize};
use serde::{Deserialize, Serialize};

use super::metric::Metric;

/// What the chains of a round have in common.
pub(crate) struct Round<'a> {
    pub(crate) metric: &'a Metric,
    /// Steps of each chain.
    pub(crate) length: usize,
    /// Largest depth of a tree.
    pub(crate) depth: usize,
    /// Acceptance at which the step sizes aim.
    pub(crate) acceptance: f64,
    /// True if the step sizes were not tuned yet.
    pub(crate) is_first: bool,
    /// True if the step sizes stay.
    pub(crate) is_frozen: bool,
    pub(crate) seed: Seed,
}

/// Steps of all chains in one kind of coordinates, chain after chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Block {
    /// Draws.
    #[serde(with = "bits::matrix")]
    pub(crate) points: Mat<f64>,
    /// Draws in the coordinates of the chains.
    #[serde(with = "bits::matrix")]
    pub(crate) white: Mat<f64>,
    /// Gradients in these coordinates.
    #[serde(with = "bits::matrix")]
    pub(crate) slopes: Mat<f64>,
    #[serde(with = "bits::vector")]
    pub(crate) log_p: Vec<f64>,
    pub(crate) divergences: u64,
    pub(crate) leapfrogs: u64,
}

/// Steps of one chain.
pub(crate) struct Walk {
    pub(crate) block: Block,
    /// Logarithm of the step size after them.
    pub(crate) step: f64,
    pub(crate) has_moved: bool,
}

/// Points whose gradients are evaluated together.
const TOGETHER: usize = 50;

impl Round<'_> {
    /// Steps of chain j from its position, with the logarithm of its step size; `None` if a limit ended them.
    pub(crate) fn walk(
        &self,
        target: &dyn Gradient,
        j: usize,
        position: &[f64],
        step: f64,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Option<Walk>, Error> {
        let dim = position.len();
        let [points, whites, slopes] = std::array::from_fn(|_| Mat::zeros(dim, self.length));
        let mut block = Block {
            points,
            white: whites,
            slopes,
            log_p: vec![0.0; self.length],
            divergences: 0,
            leapfrogs: 0,
        };
        let white = Whitened::new(target, self.metric.clone())?;
        let kernel_of =
            |log: f64| Nuts::with(Leapfrog::new(log.clamp(-300.0, 300.0).exp(), Mass::unit())?, self.depth);
        let mut kernel = kernel_of(step)?;
        let mut work = vec![0.0; kernel.work_len(&white, 1).max(self.metric.work_len())];
        let mut start = Mat::zeros(dim, 1);
        self.metric.preimage_into(position, start.col_as_slice_mut(0), &mut work);
        let mut state: GradientEnsemble = kernel.init(&white, start)?;
        let mut step_size = if self.is_first { StepSize::new(step) } else { StepSize::near(step) };
        let (mut lanes, mut has_moved) = ([self.seed.stream(j as u64, 0)], false);
        for t in 0..self.length {
            if !goes_on() {
                return Ok(None);
            }
            lanes[0].go_to(Address::of(j as u64, t as u64));
            let info = kernel.step(&white, &mut NoProposal { dim }, &mut state, &mut lanes, &mut work);
            block.divergences += info.divergences;
            block.leapfrogs += info.leapfrogs;
            has_moved |= info.moved > 0;
            if !self.is_frozen {
                step_size.learn(self.acceptance, info.acceptance);
                kernel = kernel_of(step_size.current().ln())?;
            }
            let Ensemble { positions, log_p, .. } = state.chains();
            let y = positions.col_as_slice(0);
            block.log_p[t] =
                log_p[0] - self.metric.image_into(y, block.points.col_as_slice_mut(t), &mut work);
            block.white.col_as_slice_mut(t).copy_from_slice(y);
            block.slopes.col_as_slice_mut(t).copy_from_slice(state.gradient(0));
        }
        let step = if self.is_frozen { step } else { step_size.log_average() };
        Ok(Some(Walk { block, step, has_moved }))
    }
}

impl Block {
    /// The steps of all walks.
    pub(crate) fn of(walks: &[Walk]) -> Self {
        let (dim, length) = walks.first().map_or((0, 0), |walk| walk.block.points.shape());
        let join = |of: fn(&Block) -> &Mat<f64>| {
            Mat::from_fn(dim, walks.len() * length, |i, c| of(&walks[c / length].block)[(i, c % length)])
        };
        Self {
            points: join(|block| &block.points),
            white: join(|block| &block.white),
            slopes: join(|block| &block.slopes),
            log_p: walks.iter().flat_map(|walk| walk.block.log_p.iter().copied()).collect(),
            divergences: walks.iter().map(|walk| walk.block.divergences).sum(),
            leapfrogs: walks.iter().map(|walk| walk.block.leapfrogs).sum(),
        }
    }
}

/// Gradients at the columns of `points`, some at a time: differences of the log density take a point per dimension for each.
pub(crate) fn gradients(target: &dyn Gradient, points: &Mat<f64>) -> Mat<f64> {
    let mut slopes = Mat::zeros(points.nrows(), points.ncols());
    let (mut log_p, mut work) = ([0.0; TOGETHER], vec![0.0; target.work_len(TOGETHER)]);
    for first in (0..points.ncols()).step_by(TOGETHER) {
        let count = TOGETHER.min(points.ncols() - first);
        let slopes = slopes.as_mut().subcols_mut(first, count);
        target.gradients_into(points.subcols(first, count), &mut log_p[..count], slopes, &mut work);
    }
    slopes
}
