//! Mutants of delayed acceptance and random scan.

use mcsa_core::{LogDensity, batch_mut, one};

use super::memory::{Memory, kernel, methods};

/// Delayed acceptance: a surrogate decides first.
pub(crate) struct Delayed<S> {
    pub(crate) surrogate: S,
    pub(crate) second_ratio: bool,
}

impl<P: LogDensity + ?Sized, S: LogDensity> mcsa_core::Kernel<P> for Delayed<S> {
    methods!(|_, _| 0, |kernel, target, proposal, state, lanes, work| {
        let dim = target.dim();
        let mut lent = vec![0.0; kernel.surrogate.work_len(1)];
        for j in 0..state.chains.len() {
            let (mut z, mut log_q, mut log_q_here) = (vec![0.0; dim], [0.0], [0.0]);
            proposal.sample_into(&mut lanes[j..=j], batch_mut(&mut z, dim, 1), &mut log_q);
            let here = state.chains.positions.col_as_slice(j);
            proposal.log_probs(one(here), &mut log_q_here);
            let first =
                kernel.surrogate.log_density(&z, &mut lent) - kernel.surrogate.log_density(here, &mut lent);
            if !lanes[j].accept(first - log_q[0] + log_q_here[0]) {
                continue;
            }
            let log_p = target.log_density(&z, work);
            let second = log_p - state.chains.log_p[j] - if kernel.second_ratio { first } else { 0.0 };
            if lanes[j].accept(second) {
                state.chains.place(j, &z, log_p);
            }
        }
    });
}

/// Random scan over single coordinates, with a proposal whose coordinates are independent.
pub(crate) struct Scan {
    /// True if every coordinate is visited with equal probability at every position of the chain.
    pub(crate) fair: bool,
}

kernel!(Scan, LogDensity, |kernel, target, proposal, state, lanes, work| {
    let dim = target.dim();
    for j in 0..state.chains.len() {
        let here = state.chains.positions.col_as_slice(j).to_vec();
        let log_scan: Vec<f64> = here.iter().map(|x| if kernel.fair { 0.0 } else { x.tanh() }).collect();
        let i = lanes[j].choose(&log_scan).unwrap_or(0);
        let (mut drawn, mut log_q) = (vec![0.0; dim], [0.0]);
        proposal.sample_into(&mut lanes[j..=j], batch_mut(&mut drawn, dim, 1), &mut log_q);
        let mut z = here.clone();
        z[i] = drawn[i];
        let mut log_q_here = [0.0];
        proposal.log_probs(one(&z), &mut log_q);
        proposal.log_probs(one(&here), &mut log_q_here);
        let log_p = target.log_density(&z, work);
        if lanes[j].accept(log_p - log_q[0] - state.chains.log_p[j] + log_q_here[0]) {
            state.chains.place(j, &z, log_p);
        }
    }
});
