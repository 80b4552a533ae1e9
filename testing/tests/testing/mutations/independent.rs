//! Mutants of independent Metropolis-Hastings.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mcsa_core::{batch_mut, one};

use super::memory::{Memory, kernel, methods};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slip {
    None,
    StaleLogQ,
    MissingRatio,
    InvertedRatio,
    StaleLogP,
    SharedProposal,
    FirstLane,
    OutOfTheLog,
    CloudOfProposals,
    HiddenCounter,
}

pub(crate) struct Independent {
    pub(crate) slip: Slip,
    calls: AtomicU64,
}

impl Independent {
    pub(crate) fn with(slip: Slip) -> Self {
        Self { slip, calls: AtomicU64::new(0) }
    }
}

kernel!(
    Independent,
    LogDensity,
    |kernel, chains| if kernel.slip == Slip::CloudOfProposals { chains } else { 0 },
    |kernel, target, proposal, state, lanes, work| {
        let dim = target.dim();
        let mut first = vec![0.0; dim];
        for j in 0..state.chains.len() {
            let (mut z, mut log_q, mut log_q_here) = (vec![0.0; dim], [0.0], [0.0]);
            let lane = if kernel.slip == Slip::FirstLane { 0 } else { j };
            let lane = &mut lanes[lane..=lane];
            if kernel.slip == Slip::SharedProposal && j > 0 {
                z.copy_from_slice(&first);
                proposal.log_probs(one(&z), &mut log_q);
            } else {
                proposal.sample_into(lane, batch_mut(&mut z, dim, 1), &mut log_q);
            }
            if j == 0 {
                first.copy_from_slice(&z);
            }
            if kernel.slip == Slip::CloudOfProposals {
                state.points.col_as_slice_mut(j).copy_from_slice(&z);
            }
            let log_p = target.log_density(&z, work);
            proposal.log_probs(one(state.chains.positions.col_as_slice(j)), &mut log_q_here);
            if kernel.slip == Slip::StaleLogQ && !state.log_q[j].is_nan() {
                log_q_here[0] = state.log_q[j];
            }
            let (from, to) = (state.chains.log_p[j] - log_q_here[0], log_p - log_q[0]);
            let log_alpha = match kernel.slip {
                Slip::MissingRatio => log_p - state.chains.log_p[j],
                Slip::InvertedRatio => from - to,
                Slip::OutOfTheLog => (to.exp() / from.exp()).ln(),
                _ => to - from,
            };
            let skip =
                kernel.slip == Slip::HiddenCounter && kernel.calls.fetch_add(1, Relaxed).is_multiple_of(7);
            if lane[0].accept(log_alpha) && !skip {
                let kept = state.chains.log_p[j];
                state.chains.place(j, &z, if kernel.slip == Slip::StaleLogP { kept } else { log_p });
                state.log_q[j] = log_q[0];
            } else {
                state.log_q[j] = log_q_here[0];
            }
        }
    }
);
