//! Hamiltonian Monte Carlo kernels: HMC, and MALA as HMC of one leapfrog step.

use mcsa_core::{
    ChainState, Error, Gradient, Metric, Record, Stream, at_least_one, batch, batch_mut, borrow,
    fits_in_memory,
};

use crate::leapfrog::{self, DIVERGENCE, leapfrog_kernel};
use crate::{GradientEnsemble, Leapfrog, Mass, Reversible};

/// Rule that selects the next state of a chain from its trajectory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
#[derive(Debug, Clone, PartialEq)]
pub struct Hmc {
    leapfrog: Leapfrog,
    steps: usize,
    selection: Selection,
}

leapfrog_kernel!(Hmc, HmcInfo, |kernel| kernel, |leapfrog| Self { leapfrog, ..*kernel });

/// Metrics of one step of [`Hmc`] or [`Mala`].
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

impl Hmc {
    /// A kernel of `L = steps` leapfrog steps with unit mass and multinomial selection.
    ///
    /// # Errors
    /// If the step size is not positive and finite, or `steps` is 0.
    pub fn new(step_size: f64, steps: usize) -> Result<Self, Error> {
        let leapfrog = Leapfrog::new(step_size, Mass::unit()).map_err(|error| error.within("Hmc"))?;
        Self::with(leapfrog, steps, Selection::default())
    }

    /// A kernel of `L = steps` steps of this integrator, with this selection.
    ///
    /// # Errors
    /// If `steps` is 0.
    pub fn with(leapfrog: Leapfrog, steps: usize, selection: Selection) -> Result<Self, Error> {
        at_least_one("steps", steps).map_err(|error| error.within("Hmc"))?;
        Ok(Self { leapfrog, steps, selection })
    }

    /// The integrator.
    pub fn leapfrog(&self) -> &Leapfrog {
        &self.leapfrog
    }

    /// Number of states of a trajectory of which point and log density are kept.
    fn states(&self) -> usize {
        if self.selection == Selection::EndPoint { 1 } else { self.steps.saturating_add(1) }
    }

    /// `Ok` if the states of a trajectory fit in memory.
    fn fits(&self, dim: usize, chains: usize) -> Result<(), Error> {
        fits_in_memory("states of a trajectory", self.states(), (dim + 2) * chains)
    }

    fn memory(&self, dim: usize, chains: usize) -> usize {
        self.states() * (dim + 2) * chains + Orbit::work_len(dim, chains)
    }

    /// A step with given momenta, one column per chain. Its remaining randomness is discrete (the choice of `l` among
    /// `L + 1` and of the state, or one acceptance), so tests can enumerate it.
    ///
    /// # Panics
    /// As [`Kernel::step`](mcsa_core::Kernel::step), or if the number of momenta differs from dimension times chains.
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
        let (steps, states, is_drawn) = (self.steps, self.states(), self.selection == Selection::Multinomial);
        let mut orbit = Orbit::new(dim, chains, &mut work);
        let log_weights = borrow(&mut work, states * chains);
        let log_p = borrow(&mut work, states * chains);
        let visited = borrow(&mut work, states * chains * dim);
        state.refresh(target, &mut log_p[..chains], work);
        log_weights.fill(0.0);
        let forward =
            |j: usize| if is_drawn { lanes[j].choose(&log_weights[..states]).unwrap_or(0) } else { steps };
        orbit.begin(&self.leapfrog, state, momenta, forward);
        let mut info = HmcInfo::default();
        for step in 0..steps {
            orbit.advance(&self.leapfrog, target, state, momenta, step, work);
            for j in 0..if is_drawn { chains } else { 0 } {
                let k = j * states + step + 1;
                info.acceptance += orbit.acceptance(j) / steps as f64;
                log_weights[k] = orbit.log_weight(j);
                let (z, density, _) = orbit.point(j);
                log_p[k] = density;
                visited[k * dim..][..dim].copy_from_slice(z);
            }
        }
        for (j, lane) in lanes.iter_mut().enumerate() {
            if is_drawn {
                log_weights[j * states] = -orbit.start[j];
                let chosen = lane.choose(&log_weights[j * states..][..states]).unwrap_or(0);
                if chosen > 0 {
                    let k = j * states + chosen;
                    state.chains_mut().place(j, &visited[k * dim..][..dim], log_p[k]);
                    info.moved += 1;
                }
            } else {
                info.acceptance += orbit.acceptance(j);
                if lane.accept(orbit.log_weight(j) + orbit.start[j]) {
                    let (z, log_p, gradient) = orbit.point(j);
                    state.place(j, z, log_p, gradient);
                    info.moved += 1;
                }
            }
            info.non_finite += u64::from(orbit.worst[j].is_nan());
            info.divergences += u64::from(orbit.worst[j] > DIVERGENCE);
        }
        info.acceptance /= chains.max(1) as f64;
        info
    }
}

impl Reversible for Hmc {}

/// The current state of every chain's leapfrog trajectory, in lent memory. All are advanced together.
///
/// Chain `j` takes its first `forward[j]` steps forward, returns to its start and takes the remaining steps backward.
struct Orbit<'a> {
    dim: usize,
    z: &'a mut [f64],
    p: &'a mut [f64],
    g: &'a mut [f64],
    log_p: &'a mut [f64],
    forward: &'a mut [f64],
    /// `H` at the start of each chain.
    start: &'a mut [f64],
    /// `H` at the current state of each chain; infinite or NaN if the trajectory has ended in this direction.
    energy: &'a mut [f64],
    /// The largest energy error of each chain so far; NaN once an energy was NaN or a point overflowed.
    worst: &'a mut [f64],
}

impl<'a> Orbit<'a> {
    fn work_len(dim: usize, chains: usize) -> usize {
        (3 * dim + 5) * chains
    }

    fn new(dim: usize, chains: usize, work: &mut &'a mut [f64]) -> Self {
        let (z, p, g) = (borrow(work, dim * chains), borrow(work, dim * chains), borrow(work, dim * chains));
        let [log_p, forward, start, energy, worst] = std::array::from_fn(|_| borrow(work, chains));
        Self { dim, z, p, g, log_p, forward, start, energy, worst }
    }

    /// Sets all chains to their start; `forward(j)` is the number of forward steps of chain `j`.
    fn begin(
        &mut self,
        leapfrog: &Leapfrog,
        state: &GradientEnsemble,
        momenta: &[f64],
        mut forward: impl FnMut(usize) -> usize,
    ) {
        for j in 0..self.log_p.len() {
            self.reset(j, state, momenta);
            let momentum = &momenta[j * self.dim..][..self.dim];
            self.start[j] = leapfrog::start_energy(leapfrog.energy(state.log_p(j), momentum));
            self.forward[j] = forward(j) as f64;
            self.energy[j] = 0.0;
            self.worst[j] = f64::NEG_INFINITY;
        }
    }

    /// Advances every chain by step number `step`, with one batch of gradients.
    fn advance<P: Gradient + ?Sized>(
        &mut self,
        leapfrog: &Leapfrog,
        target: &P,
        state: &GradientEnsemble,
        momenta: &[f64],
        step: usize,
        work: &mut [f64],
    ) {
        let (dim, chains) = (self.dim, self.log_p.len());
        for j in 0..chains {
            if step as f64 == self.forward[j] {
                self.reset(j, state, momenta);
                self.energy[j] = 0.0;
            }
            let (direction, at) = (self.direction(j, step), j * dim..(j + 1) * dim);
            let (z, p) = (&mut self.z[at.clone()], &mut self.p[at.clone()]);
            if self.energy[j].is_finite() && !leapfrog.depart(direction, z, p, &self.g[at]) {
                self.energy[j] = f64::NAN;
                self.worst[j] = f64::NAN;
            }
            if !self.energy[j].is_finite() {
                self.reset(j, state, momenta); // an ended trajectory keeps its place in the batch
            }
        }
        let gradients = batch_mut(self.g, dim, chains);
        target.gradients_into(batch(self.z, dim, chains), self.log_p, gradients, work);
        for j in 0..chains {
            if !self.energy[j].is_finite() {
                continue;
            }
            let (direction, at) = (self.direction(j, step), j * dim..(j + 1) * dim);
            leapfrog.arrive(direction, &mut self.p[at.clone()], &self.g[at.clone()]);
            self.energy[j] = leapfrog.energy(self.log_p[j], &self.p[at]);
            let error = leapfrog::energy_error(self.start[j], self.energy[j], self.log_p[j]);
            // Not `max`, which would drop a NaN.
            if error.is_nan() || error > self.worst[j] {
                self.worst[j] = error;
            }
        }
    }

    /// The log weight `-H` of the current state of chain `j`; `-inf` if its trajectory has ended.
    fn log_weight(&self, j: usize) -> f64 {
        if self.energy[j].is_finite() { -self.energy[j] } else { f64::NEG_INFINITY }
    }

    /// The Metropolis acceptance probability of the current state of chain `j` against its start.
    fn acceptance(&self, j: usize) -> f64 {
        leapfrog::acceptance(self.start[j], self.energy[j])
    }

    /// The current point of chain `j`, its log density and its gradient.
    fn point(&self, j: usize) -> (&[f64], f64, &[f64]) {
        let at = j * self.dim..(j + 1) * self.dim;
        (&self.z[at.clone()], self.log_p[j], &self.g[at])
    }

    fn direction(&self, j: usize, step: usize) -> f64 {
        if (step as f64) < self.forward[j] { 1.0 } else { -1.0 }
    }

    fn reset(&mut self, j: usize, state: &GradientEnsemble, momenta: &[f64]) {
        let at = j * self.dim..(j + 1) * self.dim;
        self.z[at.clone()].copy_from_slice(state.position(j));
        self.p[at.clone()].copy_from_slice(&momenta[at.clone()]);
        self.g[at].copy_from_slice(state.gradient(j));
    }
}

/// Metropolis-adjusted Langevin algorithm: a gradient step with Gaussian noise, accepted by the Metropolis-Hastings rule.
///
/// ```text
/// z' = z + (eps^2/2) M^-1 grad log p(z) + eps M^-1/2 n,   n ~ N(0, I)
/// move with probability min(1, p(z') r(z | z') / (p(z) r(z' | z))),   r the density of this proposal
/// ```
///
/// Invariant for p (Roberts & Tweedie 1996). Equal to [`Hmc`] with one leapfrog step and end-point selection (Neal 2011):
/// the log acceptance ratio is the energy difference, and is computed as such. The best acceptance in high dimension is
/// 0.574 (Roberts & Rosenthal 1998). Costs one gradient per chain and step.
///
/// Numerics: as [`Hmc`]. Every trajectory is a single leapfrog step, so a divergence is a rejection.
#[derive(Debug, Clone, PartialEq)]
pub struct Mala(Hmc);

leapfrog_kernel!(Mala, HmcInfo, |kernel| kernel.0, |leapfrog| Self(Hmc { leapfrog, ..kernel.0 }));

impl Mala {
    /// A kernel with this step size and unit mass.
    ///
    /// # Errors
    /// If the step size is not positive and finite.
    pub fn new(step_size: f64) -> Result<Self, Error> {
        Self::with(step_size, Mass::unit())
    }

    /// A kernel with this step size, preconditioned by the inverse of `mass`.
    ///
    /// # Errors
    /// If the step size is not positive and finite.
    pub fn with(step_size: f64, mass: Mass) -> Result<Self, Error> {
        let leapfrog = Leapfrog::new(step_size, mass).map_err(|error| error.within("Mala"))?;
        Ok(Self(Hmc { leapfrog, steps: 1, selection: Selection::EndPoint }))
    }
}

impl Reversible for Mala {}
