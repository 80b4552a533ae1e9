//! Leapfrog trajectories of all chains, advanced together.

use mcsa_core::{Gradient, batch, batch_mut, borrow};

use crate::{GradientEnsemble, Leapfrog, leapfrog};

/// The current state of every chain's trajectory, in lent memory.
///
/// Chain `j` takes its first `forward[j]` steps forward, returns to its start and takes the remaining steps backward.
pub(super) struct Orbit<'a> {
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
    pub(super) fn work_len(dim: usize, chains: usize) -> usize {
        (3 * dim + 5) * chains
    }

    pub(super) fn new(dim: usize, chains: usize, work: &mut &'a mut [f64]) -> Self {
        let (z, p, g) = (borrow(work, dim * chains), borrow(work, dim * chains), borrow(work, dim * chains));
        let [log_p, forward, start, energy, worst] = std::array::from_fn(|_| borrow(work, chains));
        Self { dim, z, p, g, log_p, forward, start, energy, worst }
    }

    /// Sets all chains to their start; `forward(j)` is the number of forward steps of chain `j`.
    pub(super) fn begin(
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
    pub(super) fn advance<P: Gradient + ?Sized>(
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
    pub(super) fn log_weight(&self, j: usize) -> f64 {
        if self.energy[j].is_finite() { -self.energy[j] } else { f64::NEG_INFINITY }
    }

    /// The log weight of the start of chain `j`.
    pub(super) fn log_weight_of_start(&self, j: usize) -> f64 {
        -self.start[j]
    }

    /// The Metropolis acceptance probability of the current state of chain `j` against its start.
    pub(super) fn acceptance(&self, j: usize) -> f64 {
        leapfrog::acceptance(self.start[j], self.energy[j])
    }

    /// The current point of chain `j`, its log density and its gradient.
    pub(super) fn point(&self, j: usize) -> (&[f64], f64, &[f64]) {
        let at = j * self.dim..(j + 1) * self.dim;
        (&self.z[at.clone()], self.log_p[j], &self.g[at])
    }

    /// The largest energy error of chain `j`; NaN if an energy was NaN or a point overflowed.
    pub(super) fn worst(&self, j: usize) -> f64 {
        self.worst[j]
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
