//! Markov chain Monte Carlo runs: warm-up, draws, diagnostics.

use std::fmt;

use faer::{Mat, MatMut, MatRef};
use mcsa_core::{
    ChainState, ColumnsMut, Error, Kernel, LogDensity, Metric, Proposal, Record, Seed, Stream, at_least_one,
    fits_in_memory, numeric, same_length,
};
use mcsa_diagnostics::{effective_sample_size, r_hat, standard_error};

use crate::{Tunable, WindowAdaptation, warm_up};

/// Markov chain Monte Carlo run: parallel chains tune the kernel in a warm-up, then draw with the fixed kernel.
///
/// For kernels with a step size and no proposal: [`Nuts`](crate::Nuts), [`Hmc`](crate::Hmc), [`Mala`](crate::Mala),
/// [`Rwm`](crate::Rwm). Draws and warm-up depend only on the seed, the settings and the starting points.
///
/// ```
/// use mcsa_core::Seed;
/// use mcsa_kernels::{Nuts, Sampling};
/// let target = mcsa_models::Gaussian::diagonal(vec![1.0, -2.0], vec![1.0, 10.0])?;
/// let sample = Sampling::new(4, 1_000).run(&Nuts::new(0.1)?, &target, Seed::new(1))?;
/// assert!(sample.r_hat().iter().all(|r_hat| *r_hat < 1.01) && sample.divergences == 0);
/// assert!((sample.mean()[1] + 2.0).abs() < 4.0 * sample.standard_errors()[1]);
/// println!("{sample}");
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Number of chains.
    pub chains: usize,
    /// Number of draws per chain.
    pub draws: usize,
    /// Number of steps of the warm-up; 0 keeps the kernel as it is.
    pub warm_up: u64,
    /// Mean acceptance probability that the warm-up aims at.
    pub acceptance: f64,
}

/// Draws of a [`Sampling`] run, with the tuned kernel and the diagnostics of the chains.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<K> {
    /// The tuned kernel.
    pub kernel: K,
    /// The points of the chains after the last step, one chain per column: starting points of a fit.
    pub positions: Mat<f64>,
    /// The draws, chain after chain: draw `t` of chain `j` is column `j * (number of draws) + t`.
    pub draws: Mat<f64>,
    /// The target's log density at each draw.
    pub log_p: Vec<f64>,
    /// Mean acceptance probability after the warm-up; NaN without draws.
    pub acceptance: f64,
    /// Divergent trajectories after the warm-up.
    pub divergences: u64,
    /// Trajectories after the warm-up that met a NaN or a density of `+inf`.
    pub non_finite: u64,
}

/// Largest number of trials for a starting point with a finite density.
const TRIALS: usize = 100;

impl Sampling {
    /// A run of `chains` chains with `draws` draws each, after 1000 steps of warm-up to an acceptance of 0.8.
    pub const fn new(chains: usize, draws: usize) -> Self {
        Self { chains, draws, warm_up: 1_000, acceptance: 0.8 }
    }

    /// This run with another number of warm-up steps.
    #[must_use]
    pub const fn warm_up(self, steps: u64) -> Self {
        Self { warm_up: steps, ..self }
    }

    /// This run with another acceptance probability to aim at: 0.9 for small steps on curved targets.
    #[must_use]
    pub const fn acceptance(self, acceptance: f64) -> Self {
        Self { acceptance, ..self }
    }

    /// Runs the chains from points drawn uniformly in `(-2, 2)^d`, as in Stan. A point without a finite log density is drawn again,
    /// up to 100 times.
    ///
    /// # Errors
    /// As [`run_from`](Self::run_from), or if no starting point with a finite log density was found.
    pub fn run<P, K>(&self, kernel: &K, target: &P, seed: Seed) -> Result<Sample<K>, Error>
    where
        P: LogDensity + ?Sized,
        K: Kernel<P> + Tunable,
    {
        let starts = self.starts(target, seed.named("start")).map_err(|error| error.within("Sampling"))?;
        self.run_from(kernel, target, starts, seed)
    }

    /// Runs the chains from the columns of `starts`.
    ///
    /// # Errors
    /// If there are no chains, the number of points is not the number of chains, a point has another dimension than the target
    /// or is not finite, the draws do not fit in memory, or the acceptance is not in `(0, 1)`.
    pub fn run_from<P, K>(
        &self,
        kernel: &K,
        target: &P,
        starts: Mat<f64>,
        seed: Seed,
    ) -> Result<Sample<K>, Error>
    where
        P: LogDensity + ?Sized,
        K: Kernel<P> + Tunable,
    {
        let run = || {
            let (dim, chains) = (target.dim(), self.chains);
            self.check(dim)?;
            same_length("starting points", chains, starts.ncols())?;
            let proposal = &mut NoProposal { dim };
            let mut state = kernel.init(target, starts)?;
            let plan = WindowAdaptation::new(self.warm_up, self.acceptance)?;
            let mut progress = plan.init(kernel.step_size(), dim);
            let warm = seed.named("warm");
            let kernel = match self.warm_up {
                0 => kernel.tuned(kernel.step_size(), None)?,
                steps => warm_up(kernel, target, proposal, &mut state, &plan, &mut progress, warm, steps)?,
            };
            let mut lanes = seed.streams(chains, 0);
            let mut work = vec![0.0; kernel.work_len(target, chains)];
            let (mut draws, mut log_p) =
                (Mat::zeros(dim, chains * self.draws), vec![0.0; chains * self.draws]);
            let [mut acceptance, mut divergences, mut non_finite] = [0.0; 3];
            for step in 0..self.draws {
                Stream::go_to_step(&mut lanes, step as u64);
                let info = kernel.step(target, proposal, &mut state, &mut lanes, &mut work);
                info.record(&mut |metric, value| {
                    acceptance += if metric.is(Metric::ACCEPTANCE) { value } else { 0.0 };
                    divergences += if metric.is(Metric::DIVERGENCES) { value } else { 0.0 };
                    non_finite += if metric.is(Metric::NON_FINITE) { value } else { 0.0 };
                });
                for chain in 0..chains {
                    let place = chain * self.draws + step;
                    draws
                        .col_as_slice_mut(place)
                        .copy_from_slice(state.chains().positions.col_as_slice(chain));
                    log_p[place] = state.chains().log_p[chain];
                }
            }
            Ok(Sample {
                kernel,
                positions: state.chains().positions.clone(),
                draws,
                log_p,
                acceptance: acceptance / self.draws as f64,
                divergences: divergences as u64,
                non_finite: non_finite as u64,
            })
        };
        run().map_err(|error: Error| error.within("Sampling"))
    }

    fn check(&self, dim: usize) -> Result<(), Error> {
        at_least_one("chains", self.chains)?;
        fits_in_memory("chains", self.chains, dim.saturating_add(Stream::NUMBERS))?;
        fits_in_memory("draws", self.draws.saturating_mul(self.chains), dim + 1)
    }

    /// Uniform draws from `(-2, 2)^d` with a finite log density.
    fn starts<P: LogDensity + ?Sized>(&self, target: &P, seed: Seed) -> Result<Mat<f64>, Error> {
        let dim = target.dim();
        self.check(dim)?;
        let mut points = Mat::zeros(dim, self.chains);
        let mut work = vec![0.0; target.work_len(1)];
        for (j, mut stream) in seed.streams(self.chains, 0).into_iter().enumerate() {
            let point: &mut [f64] = points.col_as_slice_mut(j);
            let found = (0..TRIALS).any(|_| {
                point.iter_mut().for_each(|z| *z = 4.0 * stream.uniform() - 2.0);
                target.log_density(point, &mut work).is_finite()
            });
            if !found {
                return Err(Error::invalid(format!(
                    "no starting point of chain {j} in (-2, 2)^{dim} has a finite log density: give points with `run_from`"
                )));
            }
        }
        Ok(points)
    }
}

impl<K> Sample<K> {
    /// Number of chains.
    pub fn chains(&self) -> usize {
        self.positions.ncols()
    }

    /// The values of coordinate `i`, chain by chain.
    pub fn coordinate(&self, i: usize) -> Vec<Vec<f64>> {
        let length = self.draws.ncols() / self.chains();
        let value = |chain: usize, t: usize| self.draws[(i, chain * length + t)];
        (0..self.chains()).map(|chain| (0..length).map(|t| value(chain, t)).collect()).collect()
    }

    fn of_each<T>(&self, number: impl Fn(&[Vec<f64>]) -> T) -> Vec<T> {
        (0..self.draws.nrows()).map(|i| number(&self.coordinate(i))).collect()
    }

    /// Rank-normalised split R-hat of every coordinate; see [`r_hat`].
    pub fn r_hat(&self) -> Vec<f64> {
        self.of_each(r_hat)
    }

    /// Effective sample size of every coordinate; see [`effective_sample_size`].
    pub fn sample_sizes(&self) -> Vec<f64> {
        self.of_each(effective_sample_size)
    }

    /// Mean of every coordinate.
    pub fn mean(&self) -> Vec<f64> {
        self.of_each(|chains| numeric::sum(&chains.concat()) / self.draws.ncols() as f64)
    }

    /// Variance of every coordinate.
    pub fn variance(&self) -> Vec<f64> {
        let (mean, n) = (self.mean(), self.draws.ncols() as f64);
        // NaN of no draws, as the mean is.
        let square = |i: usize| self.draws.row(i).iter().map(|z| (z - mean[i]).powi(2)).sum::<f64>();
        (0..mean.len()).map(|i| square(i) / (n - 1.0).max(0.0)).collect()
    }

    /// Monte Carlo standard error of the mean of every coordinate.
    pub fn standard_errors(&self) -> Vec<f64> {
        self.of_each(standard_error)
    }
}

/// A table: mean, standard deviation, R-hat and effective sample size of every coordinate, and the faults.
impl<K> fmt::Display for Sample<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mean, variance, r_hat, sizes) =
            (self.mean(), self.variance(), self.r_hat(), self.sample_sizes());
        writeln!(f, "{:>10} {:>12} {:>12} {:>8} {:>10}", "coordinate", "mean", "sd", "R-hat", "ESS")?;
        for i in 0..mean.len() {
            let sd = variance[i].sqrt();
            writeln!(f, "{i:>10} {:>12.4} {sd:>12.4} {:>8.3} {:>10.0}", mean[i], r_hat[i], sizes[i])?;
        }
        write!(
            f,
            "{} chains of {} draws, acceptance {:.2}, {} divergences",
            self.chains(),
            self.draws.ncols() / self.chains(),
            self.acceptance,
            self.divergences
        )?;
        if self.non_finite > 0 {
            write!(f, ", {} trajectories at a density that is NaN or +inf", self.non_finite)?;
        }
        if self.divergences > 0 || r_hat.iter().any(|r_hat| !(*r_hat <= 1.01)) {
            f.write_str(
                "\nR-hat above 1.01 or divergent steps: the draws may miss a part of the target. Longer chains, smaller steps, or other \
                 coordinates are needed.",
            )?;
        }
        Ok(())
    }
}

/// Placeholder for kernels that do not propose from q, such as [`Rwm`](crate::Rwm).
///
/// Its points and log densities are NaN, so that a kernel that does propose from q rejects every move and counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoProposal {
    /// The dimension of the points.
    pub dim: usize,
}

impl Proposal for NoProposal {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_probs(&mut self, _: MatRef<'_, f64>, log_q: &mut [f64]) {
        log_q.fill(f64::NAN);
    }

    fn sample_into(&mut self, _: &mut [Stream], mut z: MatMut<'_, f64>, log_q: &mut [f64]) {
        (0..z.ncols()).for_each(|j| z.column_mut(j).fill(f64::NAN));
        log_q.fill(f64::NAN);
    }
}
