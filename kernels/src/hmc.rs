//! Hamiltonian Monte Carlo kernel.

mod orbit;

use faer::Mat;
use mcsa_core::{ChainState, Error, Gradient, Kernel, Metric, Proposal, Record, Stream, borrow};
use serde::{Deserialize, Serialize};

use self::orbit::Orbit;
use crate::leapfrog::DIVERGENCE;
use crate::{Accepts, GradientEnsemble, Leapfrog, Mass, Reversible, Tunable};

/// Rule that selects the next state of a chain from its trajectory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// The last state of `L` steps forward, with probability `min(1, exp(H(start) - H(end)))`, else the start (Neal 2011).
    EndPoint,
    /// With `l` uniform in `0..=L`: one of the `L + 1` states from `L - l` steps backward to `l` steps forward, with
    /// probability proportional to `exp(-H)` (Betancourt 2017, App. A; the experiments of MSC and pMCSA).
    #[default]
    Multinomial,
}

/// Hamiltonian Monte Carlo: a chain follows a trajectory of `L` leapfrog steps and moves to one of its states.
///
/// ```text
/// p ~ N(0, M),   H = -log p(z) + p^T M^-1 p / 2,   (z, p) -> one state of the orbit of (z, p), see Selection
/// ```
///
/// Invariant for p at every step size, because the leapfrog is reversible and preserves volume. The gradients of all chains
/// are evaluated as one batch per leapfrog step. Costs `L` gradients per chain; with multinomial selection one more after
/// each step in which a chain moved, because only the positions of a trajectory are kept.
///
/// Numerics: in each direction a trajectory ends at a density of `-inf` (the border of the support), at NaN, at `+inf` or
/// at an overflow; the states from there on have weight zero. This rule does not depend on the position of the chain in the
/// trajectory, so invariance stays exact. Trajectories with an energy error above 1000 are counted as divergences; their
/// bad states have weight `exp(-1000)`, which is zero in floating point.
///
/// ```
/// use mcsa_core::{ChainState, Kernel, Seed};
/// use mcsa_kernels::{Hmc, NoProposal};
/// let (target, hmc) = (mcsa_models::Gaussian::standard(2), Hmc::new(0.3, 8)?);
/// let mut state = hmc.init(&target, faer::Mat::zeros(2, 1))?;
/// let (mut lanes, mut work) = (Seed::new(1).streams(1, 0), vec![0.0; hmc.work_len(&target, 1)]);
/// let info = hmc.step(&target, &mut NoProposal { dim: 2 }, &mut state, &mut lanes, &mut work);
/// assert!(info.acceptance > 0.9 && state.chains().positions[(0, 0)] != 0.0);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings", into = "Settings")]
pub struct Hmc {
    leapfrog: Leapfrog,
    steps: usize,
    selection: Selection,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    step_size: f64,
    steps: usize,
    #[serde(default)]
    mass: Mass,
    #[serde(default)]
    selection: Selection,
}

/// Metrics of one step of [`Hmc`] or [`Mala`](crate::Mala).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HmcInfo {
    /// Acceptance probability `min(1, exp(H(start) - H))`, averaged over chains, and for multinomial selection also over
    /// the states of the trajectory other than the start.
    pub acceptance: f64,
    /// Chains that moved.
    pub moved: u64,
    /// Trajectories whose energy error exceeded 1000.
    pub divergences: u64,
    /// Trajectories that ended at a NaN, an overflow or a density of `+inf`.
    pub non_finite: u64,
}

impl Record for HmcInfo {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        sink(Metric::ACCEPTANCE, self.acceptance);
        sink(Metric::MOVED, self.moved as f64);
        sink(Metric::DIVERGENCES, self.divergences as f64);
        sink(Metric::NON_FINITE, self.non_finite as f64);
    }
}

impl Accepts for HmcInfo {
    fn acceptance(&self) -> f64 {
        self.acceptance
    }
}

impl TryFrom<Settings> for Hmc {
    type Error = Error;

    fn try_from(Settings { step_size, steps, mass, selection }: Settings) -> Result<Self, Error> {
        let leapfrog = Leapfrog::new(step_size, mass).map_err(|error| error.within("Hmc"))?;
        Self::with(leapfrog, steps, selection)
    }
}

impl From<Hmc> for Settings {
    fn from(Hmc { leapfrog, steps, selection }: Hmc) -> Self {
        Self { step_size: leapfrog.step_size(), steps, mass: leapfrog.mass().clone(), selection }
    }
}

impl Hmc {
    /// A kernel of `L = steps` leapfrog steps with unit mass and multinomial selection.
    ///
    /// # Errors
    /// If the step size is not positive and finite, or `steps` is 0.
    pub fn new(step_size: f64, steps: usize) -> Result<Self, Error> {
        Self::try_from(Settings { step_size, steps, mass: Mass::unit(), selection: Selection::default() })
    }

    /// A kernel of `L = steps` steps of this integrator, with this selection.
    ///
    /// # Errors
    /// If `steps` is 0.
    pub fn with(leapfrog: Leapfrog, steps: usize, selection: Selection) -> Result<Self, Error> {
        if steps == 0 {
            return Err(Error::parameter("steps", 0.0, "at least 1").within("Hmc"));
        }
        Ok(Self { leapfrog, steps, selection })
    }

    /// The integrator.
    pub fn leapfrog(&self) -> &Leapfrog {
        &self.leapfrog
    }

    /// The number `L` of leapfrog steps.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The selection rule.
    pub fn selection(&self) -> Selection {
        self.selection
    }

    /// A step with given momenta, one column per chain. Its remaining randomness is discrete (the choice of `l` among
    /// `L + 1` and of the state, or one acceptance), so tests can enumerate it.
    ///
    /// # Panics
    /// As [`Kernel::step`], or if the number of momenta differs from dimension times chains.
    pub fn transition<P: Gradient + ?Sized>(
        &self,
        target: &P,
        state: &mut GradientEnsemble,
        momenta: &[f64],
        lanes: &mut [Stream],
        mut work: &mut [f64],
    ) -> HmcInfo {
        let (dim, chains) = (target.dim(), state.chains().len());
        assert_eq!(lanes.len(), chains, "a lane per chain");
        assert_eq!(momenta.len(), dim * chains, "a momentum per chain");
        let mut orbit = Orbit::new(dim, chains, &mut work);
        let mut info = match self.selection {
            Selection::EndPoint => self.end_point(target, state, momenta, &mut orbit, lanes, work),
            Selection::Multinomial => self.multinomial(target, state, momenta, &mut orbit, lanes, work),
        };
        info.acceptance /= chains.max(1) as f64;
        for j in 0..chains {
            info.non_finite += u64::from(orbit.worst(j).is_nan());
            info.divergences += u64::from(orbit.worst(j) > DIVERGENCE);
        }
        info
    }

    fn end_point<P: Gradient + ?Sized>(
        &self,
        target: &P,
        state: &mut GradientEnsemble,
        momenta: &[f64],
        orbit: &mut Orbit<'_>,
        lanes: &mut [Stream],
        mut work: &mut [f64],
    ) -> HmcInfo {
        let scratch = borrow(&mut work, lanes.len());
        state.refresh(target, scratch, work);
        orbit.begin(&self.leapfrog, state, momenta, |_| self.steps);
        for step in 0..self.steps {
            orbit.advance(&self.leapfrog, target, state, momenta, step, work);
        }
        let mut info = HmcInfo::default();
        for (j, lane) in lanes.iter_mut().enumerate() {
            info.acceptance += orbit.acceptance(j);
            if lane.accept(orbit.log_weight(j) - orbit.log_weight_of_start(j)) {
                let (z, log_p, gradient) = orbit.point(j);
                state.place(j, z, log_p, gradient);
                info.moved += 1;
            }
        }
        info
    }

    fn multinomial<P: Gradient + ?Sized>(
        &self,
        target: &P,
        state: &mut GradientEnsemble,
        momenta: &[f64],
        orbit: &mut Orbit<'_>,
        lanes: &mut [Stream],
        mut work: &mut [f64],
    ) -> HmcInfo {
        let (dim, chains, steps) = (target.dim(), lanes.len(), self.steps);
        let states = steps + 1;
        let log_weights = borrow(&mut work, states * chains);
        let log_p = borrow(&mut work, states * chains);
        let visited = borrow(&mut work, states * chains * dim);
        state.refresh(target, &mut log_p[..chains], work);
        log_weights.fill(0.0);
        orbit.begin(&self.leapfrog, state, momenta, |j| lanes[j].choose(&log_weights[..states]).unwrap_or(0));
        let mut info = HmcInfo::default();
        for step in 0..steps {
            orbit.advance(&self.leapfrog, target, state, momenta, step, work);
            for j in 0..chains {
                let k = j * states + step + 1;
                info.acceptance += orbit.acceptance(j) / steps as f64;
                log_weights[k] = orbit.log_weight(j);
                let (z, density, _) = orbit.point(j);
                log_p[k] = density;
                visited[k * dim..][..dim].copy_from_slice(z);
            }
        }
        for (j, lane) in lanes.iter_mut().enumerate() {
            log_weights[j * states] = orbit.log_weight_of_start(j);
            let chosen = lane.choose(&log_weights[j * states..][..states]).unwrap_or(0);
            if chosen > 0 {
                let k = j * states + chosen;
                state.chains_mut().place(j, &visited[k * dim..][..dim], log_p[k]);
                info.moved += 1;
            }
        }
        info
    }
}

impl Tunable for Hmc {
    fn step_size(&self) -> f64 {
        self.leapfrog.step_size()
    }

    fn tuned(&self, step_size: f64, mass: Option<Mass>) -> Result<Self, Error> {
        let leapfrog = self.leapfrog.tuned(step_size, mass).map_err(|error| error.within("Hmc"))?;
        Self::with(leapfrog, self.steps, self.selection)
    }
}

impl Reversible for Hmc {}

impl<P: Gradient + ?Sized> Kernel<P> for Hmc {
    type State = GradientEnsemble;
    type Info = HmcInfo;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn columns(&self, _: usize) -> usize {
        0
    }

    fn work_len(&self, target: &P, chains: usize) -> usize {
        let own = match self.selection {
            Selection::EndPoint => 1,
            Selection::Multinomial => (self.steps + 1) * (target.dim() + 2),
        };
        (target.dim() + own) * chains + Orbit::work_len(target.dim(), chains) + target.work_len(chains)
    }

    fn init(&self, target: &P, positions: Mat<f64>) -> Result<GradientEnsemble, Error> {
        let state = GradientEnsemble::new(target, positions).map_err(|error| error.within("Hmc"))?;
        self.leapfrog.mass().check(target.dim()).map_err(|error| error.within("Hmc"))?;
        Ok(state)
    }

    fn check(&self, target: &P, chains: usize, state: &GradientEnsemble) -> Result<(), Error> {
        let mass = self.leapfrog.mass().check(target.dim());
        mass.and_then(|()| state.check(target.dim(), chains)).map_err(|error| error.within("Hmc"))
    }

    fn step(
        &self,
        target: &P,
        _: &mut dyn Proposal,
        state: &mut GradientEnsemble,
        lanes: &mut [Stream],
        mut work: &mut [f64],
    ) -> HmcInfo {
        let dim = target.dim();
        let momenta = borrow(&mut work, dim * lanes.len());
        for (j, lane) in lanes.iter_mut().enumerate() {
            self.leapfrog.mass().momentum_into(lane, &mut momenta[j * dim..][..dim]);
        }
        self.transition(target, state, momenta, lanes, work)
    }
}
