//! Hamiltonian Monte Carlo with energy-conserving subsampling (HMCECS).

use std::sync::Arc;

use faer::Mat;
use mcsa_core::{
    ChainState, Ensemble, Error, Kernel, LogDensity, Metric, Proposal, Record, Stream, Subsampled, borrow,
    fits_in_memory, same_length,
};
use serde::{Deserialize, Serialize};

use crate::{GradientEnsemble, Mass, PerturbedPosterior, Tally, TaylorExpansion, Tunable};

/// Hamiltonian Monte Carlo with energy-conserving subsampling: each chain keeps `m` rows of the data, and its trajectory conserves
/// the energy of the [`PerturbedPosterior`] at these rows.
///
/// ```text
/// state (z, u),  u in {1..N}^m,   extended target  prior(z) exp(lhat(z, u) - s2(z, u) / 2) / N^m
/// 1. u: one of G blocks of rows is drawn anew, and accepted with probability min(1, ratio of targets), z fixed
/// 2. z: a transition of `kernel`, Hmc or Nuts, for the target at fixed u
/// ```
///
/// Invariant for the extended target (Dang, Quiroz, Kohn, Tran & Villani 2019, Alg. 1; block updates: Tran, Kohn, Quiroz & Villani
/// 2016). Its marginal in z is near the posterior, with an error that falls as `1 / m^2`, and not equal to it. A gradient costs two
/// gradients and one product with the Hessian of each of `m` likelihood terms, instead of `N` gradients. The recorded
/// `estimate_variance`, the mean of `s2`, should be of order one: if it is larger, blocks are rejected and the error grows; then take
/// more rows or a better `z*`.
///
/// Numerics: a proposed block at which the estimate is NaN is rejected. The last block may be shorter; the proposal is symmetric
/// all the same. The log density of a chain is that of the extended target, an estimate.
///
/// ```
/// use mcsa_core::Seed;
/// use mcsa_kernels::{Hmcecs, Nuts, Sampling, TaylorExpansion};
/// // 150 labels of 1 and 50 of 0, without features: the mode is near log 3.
/// let labels: Vec<f64> = (0..200).map(|i| if i % 4 == 0 { 0.0 } else { 1.0 }).collect();
/// let ones = faer::Mat::from_fn(200, 1, |_, _| 1.0);
/// let target = mcsa_models::LogisticRegression::new(ones.as_ref(), &labels, 10.0)?;
/// let expansion = TaylorExpansion::new(&target, vec![3.0_f64.ln()])?;
/// let kernel = Hmcecs::new(Nuts::new(0.1)?, expansion, 20, 5)?;
/// let sample = Sampling::new(4, 500).run(&kernel, &target, Seed::new(1))?;
/// assert!(sample.r_hat()[0] < 1.05 && (sample.mean()[0] - 3.0_f64.ln()).abs() < 0.05, "{sample}");
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Hmcecs<K> {
    kernel: K,
    expansion: Arc<TaylorExpansion>,
    rows: usize,
    blocks: usize,
}

impl<K> Hmcecs<K> {
    /// A kernel that moves `z` by `kernel` and keeps `rows` rows per chain, in at most `blocks` blocks of equal size.
    ///
    /// # Errors
    /// If `blocks` is not in `1..=rows`.
    pub fn new(kernel: K, expansion: TaylorExpansion, rows: usize, blocks: usize) -> Result<Self, Error> {
        if !(1..=rows).contains(&blocks) {
            let error =
                Error::parameter("blocks", blocks as f64, "at least 1 and at most the number of rows");
            return Err(error.within("Hmcecs"));
        }
        Ok(Self { kernel, expansion: Arc::new(expansion), rows, blocks })
    }

    /// The kernel that moves `z`.
    pub fn kernel(&self) -> &K {
        &self.kernel
    }

    /// The control variates.
    pub fn expansion(&self) -> &TaylorExpansion {
        &self.expansion
    }

    /// The perturbed posterior at rows that have been checked.
    fn at<'a, P: Subsampled>(&'a self, target: &'a P, rows: &'a [usize]) -> PerturbedPosterior<'a> {
        PerturbedPosterior::of(target, &self.expansion, rows)
    }

    /// The size of a block; the last one may be shorter.
    fn block(&self) -> usize {
        self.rows.div_ceil(self.blocks)
    }
}

/// The state of [`Hmcecs`]: the chains with their estimated log densities, and the rows of each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HmcecsState {
    chains: Ensemble,
    /// The rows, chain by chain.
    rows: Vec<usize>,
    /// One chain, in which the kernel moves all chains one after the other.
    walker: GradientEnsemble,
    /// True if the chains were written from outside since their densities were last estimated.
    moved: bool,
}

impl HmcecsState {
    /// The rows, chain by chain.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }
}

impl ChainState for HmcecsState {
    fn chains(&self) -> &Ensemble {
        &self.chains
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        self.moved = true;
        &mut self.chains
    }
}

/// Metrics of the block updates of a step.
#[derive(Default)]
struct Blocks {
    tried: u32,
    accepted: f64,
    variance: f64,
}

impl Record for Blocks {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        let tried = f64::from(self.tried.max(1));
        sink(Metric::mean("block_acceptance"), self.accepted / tried);
        sink(Metric::mean("estimate_variance"), self.variance / tried);
    }
}

impl<K> Hmcecs<K> {
    /// The state of chains at the columns of `positions` with these rows, chain by chain.
    ///
    /// # Errors
    /// If the points have another dimension or are not finite, or the number of rows is not that of the kernel for each chain, or a
    /// row is not less than the number of data.
    pub fn init_at<P>(&self, target: &P, positions: Mat<f64>, rows: Vec<usize>) -> Result<HmcecsState, Error>
    where
        P: Subsampled,
        K: for<'a> Kernel<PerturbedPosterior<'a>, State = GradientEnsemble>,
    {
        self.place(target, positions, rows).map_err(|error| error.within("Hmcecs"))
    }

    fn place<P>(&self, target: &P, positions: Mat<f64>, rows: Vec<usize>) -> Result<HmcecsState, Error>
    where
        P: Subsampled,
        K: for<'a> Kernel<PerturbedPosterior<'a>, State = GradientEnsemble>,
    {
        same_length("rows of all chains", positions.ncols() * self.rows, rows.len())?;
        let mut log_p = Vec::with_capacity(positions.ncols());
        for (j, rows) in rows.chunks_exact(self.rows).enumerate() {
            let perturbed = PerturbedPosterior::new(target, &self.expansion, rows)?;
            log_p.extend(Ensemble::new(&perturbed, positions.as_ref().subcols(j, 1).to_owned())?.log_p);
        }
        let point = self.expansion.point();
        let perturbed = PerturbedPosterior::new(target, &self.expansion, &[0])?;
        let walker = self.kernel.init(&perturbed, Mat::from_fn(point.len(), 1, |i, _| point[i]))?;
        Ok(HmcecsState { chains: Ensemble { positions, log_p }, rows, walker, moved: false })
    }
}

impl<P, K> Kernel<P> for Hmcecs<K>
where
    P: Subsampled,
    K: for<'a> Kernel<PerturbedPosterior<'a>, State = GradientEnsemble>,
{
    type State = HmcecsState;
    type Info = Tally;

    fn config(&self) -> String {
        let Self { kernel, expansion, rows, blocks } = self;
        let (kernel, point) = (<K as Kernel<PerturbedPosterior<'_>>>::config(kernel), expansion.point());
        format!("Hmcecs {{ kernel: {kernel}, point: {point:?}, rows: {rows}, blocks: {blocks} }}")
    }

    fn columns(&self, _: usize) -> usize {
        <K as Kernel<PerturbedPosterior<'_>>>::columns(&self.kernel, 1)
    }

    fn work_len(&self, target: &P, _: usize) -> usize {
        let perturbed = self.at(target, &[]);
        self.block() + self.kernel.work_len(&perturbed, 1).max(perturbed.work_len(1))
    }

    /// Every chain begins with the same rows, equally spaced.
    fn init(&self, target: &P, positions: Mat<f64>) -> Result<HmcecsState, Error> {
        fits_in_memory("chains times rows", positions.ncols().saturating_mul(self.rows), 1)
            .map_err(|error| error.within("Hmcecs"))?;
        let rows = (0..positions.ncols() * self.rows)
            .map(|k| (k % self.rows) * target.num_data() / self.rows)
            .collect();
        self.init_at(target, positions, rows)
    }

    /// Draws the rows uniformly: their stationary distribution given `z` has weights `exp(lhat - s2 / 2)`, which are nearly constant
    /// if `estimate_variance` is small, and are not drawn exactly.
    fn start(&self, target: &P, positions: Mat<f64>, lanes: &mut [Stream]) -> Result<HmcecsState, Error> {
        let mut rows = Vec::with_capacity(lanes.len() * self.rows);
        for lane in lanes {
            rows.extend((0..self.rows).map(|_| lane.index(target.num_data()).unwrap_or(0)));
        }
        self.init_at(target, positions, rows)
    }

    fn check(&self, target: &P, chains: usize, state: &HmcecsState) -> Result<(), Error> {
        let rows = || {
            same_length("rows of all chains", chains * self.rows, state.rows.len())?;
            state.rows.chunks_exact(self.rows).try_for_each(|rows| {
                let perturbed = PerturbedPosterior::new(target, &self.expansion, rows)?;
                self.kernel.check(&perturbed, 1, &state.walker)
            })
        };
        state.chains.check(target.dim(), chains).and_then(|()| rows()).map_err(|error| error.within("Hmcecs"))
    }

    /// Estimates the log density of each chain again, at its rows.
    fn verify(&self, target: &P, state: &HmcecsState) -> Result<(), Error> {
        for (j, rows) in state.rows.chunks_exact(self.rows).enumerate().filter(|_| !state.moved) {
            let positions = state.chains.positions.as_ref().subcols(j, 1).to_owned();
            let chain = Ensemble { positions, log_p: vec![state.chains.log_p[j]] };
            chain.verify(&PerturbedPosterior::new(target, &self.expansion, rows)?)?;
        }
        Ok(())
    }

    fn step(
        &self,
        target: &P,
        proposal: &mut dyn Proposal,
        state: &mut HmcecsState,
        lanes: &mut [Stream],
        mut work: &mut [f64],
    ) -> Tally {
        assert_eq!(lanes.len(), state.chains.len(), "a lane per chain");
        let (data, block) = (target.num_data(), self.block());
        let kept: &mut [usize] = &mut bytemuck::cast_slice_mut(borrow(&mut work, block))[..block];
        let (mut tally, mut blocks) = (Tally::default(), Blocks::default());
        for (j, rows) in state.rows.chunks_exact_mut(self.rows).enumerate() {
            let lane = &mut lanes[j..=j];
            let z = state.chains.positions.col_as_slice(j);
            let mut log_p = state.chains.log_p[j];
            if state.moved {
                log_p = self.at(target, rows).log_density(z, work);
            }
            let first = block * lane[0].index(self.rows.div_ceil(block)).unwrap_or(0);
            let last = self.rows.min(first + block);
            kept[..last - first].copy_from_slice(&rows[first..last]);
            rows[first..last].iter_mut().for_each(|row| *row = lane[0].index(data).unwrap_or(0));
            let proposed = self.at(target, rows);
            let estimate = proposed.difference_estimate(z, work);
            let there = target.log_prior(z, work) + estimate.perturbed();
            blocks.tried += 1;
            blocks.variance += estimate.variance;
            if lane[0].accept(if there == f64::INFINITY { f64::NAN } else { there - log_p }) {
                log_p = there;
                blocks.accepted += 1.0;
            } else {
                rows[first..last].copy_from_slice(&kept[..last - first]);
            }
            state.walker.chains_mut().place(0, z, log_p);
            let perturbed = self.at(target, rows);
            tally.add(&self.kernel.step(&perturbed, proposal, &mut state.walker, lane, work));
            state.chains.place(j, state.walker.position(0), state.walker.log_p(0));
        }
        state.moved = false;
        tally.add(&blocks);
        tally
    }
}

impl<K: Tunable> Tunable for Hmcecs<K> {
    fn step_size(&self) -> f64 {
        self.kernel.step_size()
    }

    fn tuned(&self, step_size: f64, mass: Option<Mass>) -> Result<Self, Error> {
        let kernel = self.kernel.tuned(step_size, mass).map_err(|error| error.within("Hmcecs"))?;
        Ok(Self { kernel, expansion: Arc::clone(&self.expansion), ..*self })
    }
}
