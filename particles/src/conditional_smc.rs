//! Conditional sequential Monte Carlo kernel.

use crate::{PathGuide, StateSpace};
use faer::Mat;
use mcsa_core::{Error, Metric, Record, Stream, fits_in_memory};
use serde::{Deserialize, Serialize};

use super::swarm::Rules;
use super::{Lineage, PathKernel, Paths, Resampling};

/// Conditional sequential Monte Carlo: one retained path among `particles` particles, which are proposed, weighted and
/// resampled state by state; at the end a path is drawn by the final weights.
///
/// ```text
/// z_t^1 = z'_t retained,   z_t^i ~ q(. | z_{t-1}^{a_i}),   a_i ~ resampling given the retained path's ancestor
/// w_t^i = p(z_t^i | z_{t-1}) p(x_{t-1} | z_{t-1}) psi_t(z_t^i) / (q(z_t^i | z_{t-1}) psi_{t-1}(z_{t-1})),   at the end p(x_T | z_T) for psi_T
/// ```
///
/// Invariant for the posterior of the path at every proposal and any number of particles (Andrieu, Doucet & Holenstein 2010;
/// MSC, Alg. 4). [`Lineage`] selects the past of the drawn path, and states where the paper's ancestor weight is wrong.
///
/// Not a [`Kernel`](mcsa_core::Kernel), because it proposes state by state: it needs the model's transition and observation
/// densities and the proposal's steps. Each chain is driven by its own stream.
///
/// Numerics: a particle whose weight is NaN or infinite has weight zero and is counted. If all weights vanish, or that of
/// the retained path does, the path stays, and the chain is counted.
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

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn work_len<P: StateSpace + ?Sized>(&self, target: &P) -> usize {
        target.dim() + self.rules().work_len(target.num_states(), target.state_dim())
    }

    /// Initial paths. Rejects fewer than two particles, and a threshold outside `[0, 1]`.
    fn init<P: StateSpace + ?Sized>(&self, target: &P, positions: Mat<f64>) -> Result<Paths, Error> {
        let within = |error: Error| error.within("ConditionalSmc");
        if self.particles < 2 {
            let few = self.particles as f64;
            return Err(within(Error::parameter("particles", few, "at least 2, the retained path included")));
        }
        fits_in_memory("particles", self.particles, target.dim()).map_err(within)?;
        self.rules().check().map_err(within)?;
        Paths::new(target, positions).map_err(within)
    }

    fn step<P, G>(
        &self,
        target: &P,
        proposal: &mut G,
        paths: &mut Paths,
        lanes: &mut [Stream],
        work: &mut [f64],
    ) -> ConditionalSmcInfo
    where
        P: StateSpace + ?Sized,
        G: PathGuide + ?Sized,
    {
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
