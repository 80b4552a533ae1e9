//! Hamiltonian Monte Carlo with energy-conserving subsampling (HMCECS), and its target: log likelihoods estimated from some rows,
//! with second-order Taylor control variates.

use std::sync::Arc;

use faer::Mat;
use mcsa_core::{
    ChainState, Ensemble, Error, Gradient, Kernel, LogDensity, Metric, Part, Proposal, Stream, Subsampled,
    all_finite, borrow, fits_in_memory, numeric, same_length,
};
use serde::{Deserialize, Serialize};

use crate::{GradientEnsemble, Mass, Tally, Tunable};

/// Second-order Taylor expansion of every likelihood term at a point `z*`, summed over all data.
///
/// ```text
/// q_i(z) = l_i(z*) + g_i . d + d . H_i d / 2,   d = z - z*
/// sum_i q_i(z) = A + g . d + d . H d / 2
/// ```
///
/// The sums `A`, `g` and `H` are computed once, from all data. The expansion is a control variate for the subsampled log likelihood
/// (Bardenet, Doucet & Holmes 2017; Quiroz, Kohn, Villani & Tran 2019): choose `z*` near the mode of the posterior.
#[derive(Debug, Clone, PartialEq)]
pub struct TaylorExpansion {
    point: Vec<f64>,
    log_likelihood: f64,
    gradient: Vec<f64>,
    hessian: Mat<f64>,
}

impl TaylorExpansion {
    /// The expansion of `target` at `point`: one gradient and `d` products with the Hessian, over all data.
    ///
    /// # Errors
    /// If the point has another dimension or is not finite, or a sum is not finite there.
    pub fn new(target: &dyn Subsampled, point: Vec<f64>) -> Result<Self, Error> {
        Self::sums(target, point).map_err(|error| error.within("TaylorExpansion"))
    }

    fn sums(target: &dyn Subsampled, point: Vec<f64>) -> Result<Self, Error> {
        let dim = target.dim();
        same_length("the point of an expansion", dim, point.len())?;
        all_finite("the point of an expansion", &point)?;
        let rows: Vec<usize> = (0..target.num_data()).collect();
        let mut work = vec![0.0; target.rows_work_len(rows.len())];
        let (mut gradient, mut hessian, mut unit) = (vec![0.0; dim], Mat::zeros(dim, dim), vec![0.0; dim]);
        let all = Part { rows: &rows, scale: 1.0 };
        let log_likelihood = target.add_gradient_at(all, &point, &mut gradient, &mut work);
        for j in 0..dim {
            unit[j] = 1.0;
            target.add_hessian_vector_at(all, &point, &unit, hessian.col_as_slice_mut(j), &mut work);
            unit[j] = 0.0;
            all_finite("the Hessian of the log likelihood", hessian.col_as_slice(j))?;
        }
        all_finite("the log likelihood", &[log_likelihood])?;
        all_finite("the gradient of the log likelihood", &gradient)?;
        Ok(Self { point, log_likelihood, gradient, hessian })
    }

    /// The point `z*`.
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// Writes `H d` and returns `A + g . d + d . H d / 2`.
    fn value(&self, d: &[f64], product: &mut [f64]) -> f64 {
        product.fill(0.0);
        for (j, &d) in d.iter().enumerate() {
            numeric::axpy(d, self.hessian.col_as_slice(j), product);
        }
        self.log_likelihood + numeric::dot(&self.gradient, d) + 0.5 * numeric::dot(product, d)
    }
}

/// Estimate of a log likelihood from some rows, with its estimated variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DifferenceEstimate {
    /// The estimate; unbiased if the rows are drawn uniformly with replacement.
    pub log_likelihood: f64,
    /// The variance of the estimate, itself estimated from the rows.
    pub variance: f64,
}

impl DifferenceEstimate {
    /// The perturbed log likelihood: the estimate less half its variance.
    pub fn perturbed(&self) -> f64 {
        self.log_likelihood - 0.5 * self.variance
    }
}

/// Perturbed posterior at `m` fixed rows `u`, a target on `z` that costs `m` likelihood terms instead of `N`.
///
/// ```text
/// d_k = l_{u_k}(z) - q_{u_k}(z),   lhat = sum_i q_i(z) + N mean(d),   s2 = N^2 / m Var(d)
/// log p(z, u) = log prior(z) + lhat - s2 / 2
/// ```
///
/// `Var` divides by `m`. The difference estimate `lhat` is unbiased over rows drawn uniformly with replacement; the perturbation
/// `-s2 / 2` removes the bias of `exp(lhat)` where `lhat` is normal and `s2` its variance. What remains is of order `1 / m^2` in z's
/// marginal (Quiroz, Kohn, Villani & Tran 2019; Dang, Quiroz, Kohn, Tran & Villani 2019): the marginal is near the posterior, not
/// equal to it.
#[derive(Clone, Copy)]
pub struct PerturbedPosterior<'a> {
    target: &'a dyn Subsampled,
    expansion: &'a TaylorExpansion,
    rows: &'a [usize],
}

impl<'a> PerturbedPosterior<'a> {
    /// The perturbed posterior of `target` with the terms of `rows`; a row listed twice counts twice.
    ///
    /// # Errors
    /// If there is no row, a row is not less than the number of data, or the expansion has another dimension.
    pub fn new(
        target: &'a dyn Subsampled,
        expansion: &'a TaylorExpansion,
        rows: &'a [usize],
    ) -> Result<Self, Error> {
        let data = target.num_data();
        let check = || {
            same_length("the point of the expansion", target.dim(), expansion.point.len())?;
            if rows.is_empty() {
                return Err(Error::invalid("no row"));
            }
            match rows.iter().find(|&&row| row >= data) {
                Some(row) => Err(Error::invalid(format!("row {row}: the target has {data} data"))),
                None => Ok(Self { target, expansion, rows }),
            }
        };
        check().map_err(|error: Error| error.within("PerturbedPosterior"))
    }

    /// The difference estimate of the log likelihood at `z`; the gradient of its perturbed log likelihood is added to `gradient`.
    ///
    /// ```text
    /// g + H d + N/m sum_k e_k - N^2/m^2 sum_k (d_k - mean(d)) e_k,   e_k = d/dz d_k
    /// ```
    pub fn estimate(
        &self,
        z: &[f64],
        gradient: Option<&mut [f64]>,
        mut work: &mut [f64],
    ) -> DifferenceEstimate {
        let Self { target, expansion, rows } = *self;
        let (dim, data, count) = (z.len(), target.num_data() as f64, rows.len() as f64);
        let [d, product, slope, bend, plain, weighted] = std::array::from_fn(|_| borrow(&mut work, dim));
        for ((d, z), point) in d.iter_mut().zip(z).zip(&expansion.point) {
            *d = z - point;
        }
        plain.fill(0.0);
        weighted.fill(0.0);
        // Sums over rows, with the first difference subtracted from all, which keeps the variance accurate.
        let [mut first, mut total, mut squares] = [0.0; 3];
        for (k, row) in rows.iter().enumerate() {
            let part = Part { rows: std::slice::from_ref(row), scale: 1.0 };
            slope.fill(0.0);
            bend.fill(0.0);
            let there = target.add_gradient_at(part, &expansion.point, slope, work);
            target.add_hessian_vector_at(part, &expansion.point, d, bend, work);
            let expanded = there + numeric::dot(slope, d) + 0.5 * numeric::dot(bend, d);
            let here = if gradient.is_some() {
                slope.iter_mut().zip(&*bend).for_each(|(slope, bend)| *slope = -*slope - bend);
                target.add_gradient_at(part, z, slope, work)
            } else {
                target.log_likelihood_at(part.rows, z, work)
            };
            if k == 0 {
                first = here - expanded;
            }
            let difference = here - expanded - first;
            total += difference;
            squares += difference * difference;
            if gradient.is_some() {
                numeric::axpy(1.0, slope, plain);
                numeric::axpy(difference, slope, weighted);
            }
        }
        let mean = total / count;
        let value = expansion.value(d, product);
        if let Some(gradient) = gradient {
            let scale = data / count;
            for (i, gradient) in gradient.iter_mut().enumerate() {
                let covariance = weighted[i] - mean * plain[i];
                *gradient +=
                    expansion.gradient[i] + product[i] + scale * plain[i] - scale * scale * covariance;
            }
        }
        DifferenceEstimate {
            log_likelihood: value + data * (first + mean),
            variance: data * data / count * (squares / count - mean * mean).max(0.0),
        }
    }
}

impl LogDensity for PerturbedPosterior<'_> {
    fn dim(&self) -> usize {
        self.target.dim()
    }

    fn work_len(&self, _: usize) -> usize {
        6 * self.target.dim() + self.target.rows_work_len(1)
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.target.log_prior(z, work) + self.estimate(z, None, work).perturbed()
    }
}

impl Gradient for PerturbedPosterior<'_> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let prior = self.target.prior_gradient_into(z, gradient, work);
        prior + self.estimate(z, Some(gradient), work).perturbed()
    }
}

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

    /// The perturbed posterior at rows that have been checked.
    fn at<'a, P: Subsampled>(&'a self, target: &'a P, rows: &'a [usize]) -> PerturbedPosterior<'a> {
        PerturbedPosterior { target, expansion: &self.expansion, rows }
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
        let place = || {
            same_length("rows of all chains", positions.ncols() * self.rows, rows.len())?;
            let mut log_p = Vec::with_capacity(positions.ncols());
            for (j, rows) in rows.chunks_exact(self.rows).enumerate() {
                let perturbed = PerturbedPosterior::new(target, &self.expansion, rows)?;
                log_p.extend(Ensemble::new(&perturbed, positions.as_ref().subcols(j, 1).to_owned())?.log_p);
            }
            let point = &self.expansion.point;
            let perturbed = PerturbedPosterior::new(target, &self.expansion, &[0])?;
            let walker = self.kernel.init(&perturbed, Mat::from_fn(point.len(), 1, |i, _| point[i]))?;
            Ok((log_p, walker))
        };
        let (log_p, walker) = place().map_err(|error: Error| error.within("Hmcecs"))?;
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
        let (kernel, point) = (<K as Kernel<PerturbedPosterior<'_>>>::config(kernel), &expansion.point);
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
        let (mut tally, mut accepted, mut variance) = (Tally::default(), 0.0, 0.0);
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
            let estimate = proposed.estimate(z, None, work);
            let there = target.log_prior(z, work) + estimate.perturbed();
            variance += estimate.variance;
            if lane[0].accept(if there == f64::INFINITY { f64::NAN } else { there - log_p }) {
                log_p = there;
                accepted += 1.0;
            } else {
                rows[first..last].copy_from_slice(&kept[..last - first]);
            }
            state.walker.chains_mut().place(0, z, log_p);
            let perturbed = self.at(target, rows);
            tally.add(&self.kernel.step(&perturbed, proposal, &mut state.walker, lane, work));
            state.chains.place(j, state.walker.position(0), state.walker.log_p(0));
        }
        state.moved = false;
        let tried = state.chains.len().max(1) as f64;
        tally.push(Metric::mean("block_acceptance"), accepted / tried);
        tally.push(Metric::mean("estimate_variance"), variance / tried);
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
