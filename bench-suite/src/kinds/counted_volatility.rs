//! Stochastic volatility model that counts its evaluations.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use faer::MatRef;
use mcsa_core::{Error, Learnable, LogDensity, Stream};
use mcsa_particles::{FxStates, FxVolatility, GaussianDynamics, StateSpace};

/// [`FxVolatility`] with counters of evaluated states.
#[derive(Debug)]
pub(super) struct CountedVolatility {
    pub(super) inner: FxVolatility,
    tally: Tally,
}

/// Counters of states, with relaxed memory order, because no other operation depends on them.
#[derive(Debug, Default)]
struct Tally {
    observations: AtomicU64,
    transitions: AtomicU64,
    steps: AtomicU64,
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(count as u64, Relaxed);
}

impl CountedVolatility {
    pub(super) fn new(inner: FxVolatility) -> Self {
        Self { inner, tally: Tally::default() }
    }

    /// Numbers of evaluated states: of observation densities, of transition densities, and of transition means.
    pub(super) fn counts(&self) -> [(&'static str, u64); 3] {
        let Tally { observations, transitions, steps } = &self.tally;
        [
            ("p_evaluations", observations.load(Relaxed)),
            ("p_transitions", transitions.load(Relaxed)),
            ("q_steps", steps.load(Relaxed)),
        ]
    }

    fn on<'a>(&'a self, states: FxStates<'a>) -> CountedStates<'a> {
        CountedStates { states, tally: &self.tally }
    }
}

/// The counted model at one theta.
#[derive(Debug, Clone, Copy)]
pub(super) struct CountedStates<'a> {
    states: FxStates<'a>,
    tally: &'a Tally,
}

impl LogDensity for CountedStates<'_> {
    fn dim(&self) -> usize {
        self.states.dim()
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.states.log_density(z, work)
    }
}

impl StateSpace for CountedStates<'_> {
    fn num_states(&self) -> usize {
        self.states.num_states()
    }

    fn draw_states_into(&self, t: usize, previous: &[f64], stream: &mut Stream, z: &mut [f64]) {
        self.states.draw_states_into(t, previous, stream, z);
    }

    fn log_transitions(&self, t: usize, previous: &[f64], z: &[f64], out: &mut [f64]) {
        add(&self.tally.transitions, out.len());
        self.states.log_transitions(t, previous, z, out);
    }

    fn log_observations(&self, t: usize, z: &[f64], out: &mut [f64]) {
        add(&self.tally.observations, out.len());
        self.states.log_observations(t, z, out);
    }
}

impl GaussianDynamics for CountedStates<'_> {
    fn means_into(&self, t: usize, previous: &[f64], means: &mut [f64]) -> f64 {
        add(&self.tally.steps, means.len());
        self.states.means_into(t, previous, means)
    }
}

impl Learnable for CountedVolatility {
    type At<'a> = CountedStates<'a>;

    fn num_thetas(&self) -> usize {
        self.inner.num_thetas()
    }

    fn check_theta(&self, theta: &[f64]) -> Result<(), Error> {
        self.inner.check_theta(theta)
    }

    fn at<'a>(&'a self, theta: &'a [f64]) -> CountedStates<'a> {
        self.on(self.inner.at(theta))
    }

    fn anywhere(&self) -> CountedStates<'_> {
        self.on(self.inner.anywhere())
    }

    fn add_theta_gradients(
        &self,
        theta: &[f64],
        rows: &[usize],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.inner.add_theta_gradients(theta, rows, z, weights, gradient, work);
    }
}
