//! Sequential Monte Carlo, and the kernels of paths made of it: conditional, and without a retained path.

use faer::Mat;
use mcsa_core::{Columns, Error, Metric, Record, Stream, all_finite, bits, same_length};
use serde::{Deserialize, Serialize};

use crate::swarm::Rules;
use crate::{PathProposal, Resampling, StateSpace, Untwisted};

/// Ensemble of paths: one path per column, its states in order of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Paths {
    /// The paths, one per column.
    #[serde(with = "bits::matrix")]
    pub positions: Mat<f64>,
}

impl Paths {
    /// Checked paths: finite, and of the target's dimension.
    fn new<P: StateSpace + ?Sized>(target: &P, positions: Mat<f64>) -> Result<Self, Error> {
        let paths = Self { positions };
        paths.check(target, paths.positions.ncols())?;
        Ok(paths)
    }

    /// Checks that there are `count` finite paths of the target's dimension, as after reading a checkpoint.
    ///
    /// # Errors
    /// If their number or dimension differs, or a state is not finite; the message names which.
    pub fn check<P: StateSpace + ?Sized>(&self, target: &P, count: usize) -> Result<(), Error> {
        let positions = self.positions.as_ref();
        same_length("paths", count, positions.ncols())?;
        same_length("a path", target.dim(), positions.nrows())?;
        (0..count).try_for_each(|j| all_finite("a path", positions.column(j)))
    }
}

/// Markov kernel on paths of a state space model.
///
/// It differs from a [`Kernel`](mcsa_core::Kernel) because it proposes state by state. It needs the model's transition and
/// observation densities and the proposal's steps. Each path is driven by its own stream.
pub trait PathKernel: std::fmt::Debug + Send + Sync {
    /// Metrics of one step.
    type Info: Record + Default + Send;

    /// Length of the memory to be lent to a step.
    fn work_len<P: StateSpace + ?Sized>(&self, target: &P) -> usize;

    /// Initial paths from the columns of `positions`.
    ///
    /// # Errors
    /// If these are not finite paths of the target, or the configuration is invalid.
    fn init<P: StateSpace + ?Sized>(&self, target: &P, positions: Mat<f64>) -> Result<Paths, Error>;

    /// One transition of every path.
    fn step<P: StateSpace + ?Sized>(
        &self,
        target: &P,
        proposal: &mut dyn PathProposal,
        paths: &mut Paths,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> Self::Info;
}

/// Rule for the past of the path drawn by conditional SMC. Tracing alone is valid, but all paths share their early states
/// with the retained path; the other two rules avoid this degeneracy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lineage {
    /// Trace each particle back to its ancestor.
    Traced,
    /// Ancestor sampling: as `Traced`, but whenever particles are resampled, the retained path draws a new ancestor
    /// (Lindsten, Jordan & Schön 2014):
    ///
    /// ```text
    /// P(j) ∝ w_{t-1}^j  p(x_{t-1} | z_{t-1}^j) / psi_{t-1}(z_{t-1}^j)  p(z'_t | z_{t-1}^j)
    /// ```
    ///
    /// The paper has the weight `w_{t-1}^j q(z'_t | z_{t-1}^j)` (MSC, Alg. 4), under which the posterior is not invariant.
    #[default]
    Ancestors,
    /// Backward sampling (Whiteley 2010): a backward pass draws every state anew, with the weights of `Ancestors`, at each
    /// time at which particles were resampled. Needs memory for the weights of all times.
    Backward,
}

/// Sequential Monte Carlo: an unbiased estimate of the evidence (marginal likelihood) Z, and approximate draws of the path.
///
/// ```text
/// Z-hat = prod over resampled times of (1/S) sum_i w^i,     E[Z-hat] = Z
/// ```
///
/// Here `w^i` is the product of the weights of particle `i` since the previous resampling, and the last time counts as
/// resampled. With a threshold below 1, particles whose weights are even enough are not resampled and keep their weights. With
/// [`Bootstrap`](crate::Bootstrap) the method is the bootstrap filter, with a twisted proposal the twisted particle filter (MSC,
/// section 3.2).
///
/// ```
/// use mcsa_core::Seed;
/// use mcsa_models::Learnable;
/// use mcsa_particles::{Bootstrap, LinearGaussianSeries, Resampling, Smc};
/// let series = LinearGaussianSeries::new(vec![0.5, -0.2, 0.9])?;
/// let model = series.at(&[0.9, 0.0, 0.0]);
/// let smc = Smc::new(2000, Resampling::Systematic, 0.5)?;
/// let mut work = vec![0.0; smc.work_len(&model)];
/// let found = smc.log_evidence(&model, &mut Bootstrap(&model), &mut Seed::new(1).stream(0, 0), &mut work);
/// assert!((found - model.log_evidence()).abs() < 0.05);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smc(Rules);

impl Smc {
    /// A filter with `particles` particles, resampled when their effective sample size is below `threshold * particles`; 1
    /// means always.
    ///
    /// # Errors
    /// If `particles` is 0, or the threshold is not between 0 and 1.
    pub fn new(particles: usize, resampling: Resampling, threshold: f64) -> Result<Self, Error> {
        let rules = Rules { particles, resampling, threshold, lineage: Lineage::Traced, keeps: false };
        rules.check(1, 1).map_err(|error| error.within("Smc"))?;
        Ok(Self(rules))
    }

    /// Length of lent memory for [`log_evidence`](Self::log_evidence). It does not grow with the length of the path.
    pub fn work_len<P: StateSpace + ?Sized>(&self, target: &P) -> usize {
        self.0.work_len(target)
    }

    /// Length of lent memory for [`draw_path_into`](Self::draw_path_into).
    pub fn path_work_len<P: StateSpace + ?Sized>(&self, target: &P) -> usize {
        Rules { keeps: true, ..self.0 }.work_len(target)
    }

    /// Estimate `log Z-hat` of the log evidence; `-inf` if all weights vanish.
    pub fn log_evidence<P: StateSpace + ?Sized>(
        &self,
        target: &P,
        proposal: &mut dyn PathProposal,
        stream: &mut Stream,
        work: &mut [f64],
    ) -> f64 {
        self.0.run(target, proposal, None, false, stream, work).log_evidence
    }

    /// Draws a path by the final weights and returns `log Z-hat`. If all weights vanish, `path` is unchanged. The
    /// distribution of the path is the posterior only in the limit of many particles.
    pub fn draw_path_into<P: StateSpace + ?Sized>(
        &self,
        target: &P,
        proposal: &mut dyn PathProposal,
        stream: &mut Stream,
        path: &mut [f64],
        work: &mut [f64],
    ) -> f64 {
        assert_eq!(path.len(), target.dim(), "a path of states");
        Rules { keeps: true, ..self.0 }.run(target, proposal, Some(path), false, stream, work).log_evidence
    }
}

/// Conditional sequential Monte Carlo: one retained path among `particles` particles, which are proposed, weighted and
/// resampled state by state; at the end a path is drawn by the final weights.
///
/// ```text
/// z_t^1 = z'_t retained,   z_t^i ~ q(. | z_{t-1}^{a_i}),   a_i ~ resampling given the retained path's ancestor
/// w_t^i = p(z_t^i | z_{t-1}) p(x_{t-1} | z_{t-1}) psi_t(z_t^i) / (q(z_t^i | z_{t-1}) psi_{t-1}(z_{t-1})),   at the end p(x_T | z_T) for psi_T
/// ```
///
/// The kernel leaves the posterior of the path invariant, with every proposal and any number of particles (Andrieu, Doucet &
/// Holenstein 2010; MSC, Alg. 4). [`Lineage`] selects the past of the drawn path, and states where the paper's ancestor weight is
/// wrong.
///
/// Numerics: a particle whose weight is NaN or infinite has weight zero and is counted. If all weights vanish, or at a resampling
/// that of the retained path's ancestor, the path stays and the chain is counted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConditionalSmc {
    /// Number of particles, the retained path included; at least two.
    pub particles: usize,
    /// Resampling scheme.
    #[serde(default)]
    pub resampling: Resampling,
    /// Resample when the effective sample size is below `threshold * particles`; 1 means always.
    #[serde(default = "always")]
    pub threshold: f64,
    /// Rule for the past of the drawn path.
    #[serde(default)]
    pub lineage: Lineage,
}

fn always() -> f64 {
    1.0
}

/// Metrics of one step of [`ConditionalSmc`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ConditionalSmcInfo {
    /// Fraction of the states that changed.
    pub renewed: f64,
    /// Effective sample size of the particles, averaged over times and chains.
    pub ess: f64,
    /// Fraction of the times at which particles were resampled.
    pub resampled: f64,
    /// Number of particle weights that were NaN or infinite.
    pub non_finite: u64,
    /// Number of chains that stayed because weights vanished.
    pub vanished: u64,
}

impl Record for ConditionalSmcInfo {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        sink(Metric::mean("renewed"), self.renewed);
        sink(Metric::ESS, self.ess);
        sink(Metric::mean("resampled"), self.resampled);
        sink(Metric::NON_FINITE, self.non_finite as f64);
        sink(Metric::VANISHED, self.vanished as f64);
    }
}

impl ConditionalSmc {
    /// A kernel with `particles` particles, systematic resampling at every time, and ancestor sampling.
    pub const fn with_particles(particles: usize) -> Self {
        let (resampling, lineage) = (Resampling::Systematic, Lineage::Ancestors);
        Self { particles, resampling, threshold: 1.0, lineage }
    }

    fn rules(&self) -> Rules {
        let Self { particles, resampling, threshold, lineage } = *self;
        Rules { particles, resampling, threshold, lineage, keeps: true }
    }
}

impl PathKernel for ConditionalSmc {
    type Info = ConditionalSmcInfo;

    fn work_len<P: StateSpace + ?Sized>(&self, target: &P) -> usize {
        target.dim() + self.rules().work_len(target)
    }

    /// Initial paths. Rejects fewer than two particles, and a threshold outside `[0, 1]`.
    fn init<P: StateSpace + ?Sized>(&self, target: &P, positions: Mat<f64>) -> Result<Paths, Error> {
        let within = |error: Error| error.within("ConditionalSmc");
        self.rules().check(2, target.dim()).map_err(within)?;
        Paths::new(target, positions).map_err(within)
    }

    fn step<P: StateSpace + ?Sized>(
        &self,
        target: &P,
        proposal: &mut dyn PathProposal,
        paths: &mut Paths,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> ConditionalSmcInfo {
        assert_eq!(lanes.len(), paths.positions.ncols(), "a lane per chain");
        let (chains, times) = (lanes.len() as f64, target.num_states() as f64);
        let (old, work) = work.split_at_mut(target.dim());
        let mut info = ConditionalSmcInfo::default();
        for (j, lane) in lanes.iter_mut().enumerate() {
            let path = paths.positions.col_as_slice_mut(j);
            old.copy_from_slice(path);
            let tally = self.rules().run(target, proposal, Some(&mut *path), true, lane, work);
            let states = path.chunks_exact(target.state_dim()).zip(old.chunks_exact(target.state_dim()));
            let renewed = states.filter(|(new, old)| new != old).count() as f64;
            info.renewed += renewed / (times * chains);
            info.ess += tally.effective / chains;
            info.resampled += tally.resampled as f64 / ((times - 1.0).max(1.0) * chains);
            info.non_finite += tally.non_finite;
            info.vanished += u64::from(tally.log_evidence == f64::NEG_INFINITY);
        }
        info
    }
}

/// Draws all paths anew in every step by sequential Monte Carlo without a retained path: the baseline of the MSC paper
/// (MSC, section 4.3). As in the paper, twists shape proposals but not weights.
///
/// This kernel does not leave the posterior invariant. With few particles the distribution of a path is neither that of the
/// proposal nor the posterior, and an average over any number of steps is biased. If all weights vanish, the path stays and is
/// counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FreshPaths {
    /// The sequential Monte Carlo method that draws the paths.
    pub smc: Smc,
}

/// Metrics of one step of [`FreshPaths`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FreshPathsInfo {
    /// Estimate of the log evidence, averaged over the paths that were drawn; NaN if none was.
    pub log_evidence: f64,
    /// Number of paths that stayed because all weights vanished.
    pub vanished: u64,
}

impl Record for FreshPathsInfo {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        sink(Metric::mean("log_evidence"), self.log_evidence);
        sink(Metric::VANISHED, self.vanished as f64);
    }
}

impl PathKernel for FreshPaths {
    type Info = FreshPathsInfo;

    fn work_len<P: StateSpace + ?Sized>(&self, target: &P) -> usize {
        self.smc.path_work_len(target)
    }

    fn init<P: StateSpace + ?Sized>(&self, target: &P, positions: Mat<f64>) -> Result<Paths, Error> {
        Paths::new(target, positions).map_err(|error| error.within("FreshPaths"))
    }

    fn step<P: StateSpace + ?Sized>(
        &self,
        target: &P,
        proposal: &mut dyn PathProposal,
        paths: &mut Paths,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> FreshPathsInfo {
        assert_eq!(lanes.len(), paths.positions.ncols(), "a lane per path");
        let mut proposal = Untwisted { model: target, proposal };
        let (mut sum, mut vanished) = (0.0, 0);
        for (j, lane) in lanes.iter_mut().enumerate() {
            let path = paths.positions.col_as_slice_mut(j);
            let log_evidence = self.smc.draw_path_into(target, &mut proposal, lane, path, work);
            match log_evidence {
                f64::NEG_INFINITY => vanished += 1,
                log_evidence => sum += log_evidence,
            }
        }
        let drawn = lanes.len() as u64 - vanished;
        FreshPathsInfo { log_evidence: sum / drawn as f64, vanished }
    }
}
