//! Mutants of conditional importance sampling with three candidates.

use mcsa_core::{batch_mut, one};

use super::memory::{Memory, kernel, methods};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slip {
    None,
    RetainedDropped,
    RetainedDoubled,
    RetainedFivePercentOff,
    WeightsToAPower,
    OneCandidateFewer,
    ResampledWithoutRetained,
    CloudWithoutRetained,
}

pub(crate) struct Candidates {
    pub(crate) slip: Slip,
}

const CANDIDATES: usize = 3;

impl Candidates {
    fn fresh(&self) -> usize {
        CANDIDATES - 1 - usize::from(self.slip == Slip::OneCandidateFewer)
    }
}

kernel!(
    Candidates,
    LogDensity,
    |kernel, chains| chains * (kernel.fresh() + 1),
    |kernel, target, proposal, state, lanes, work| {
        let (dim, all, chains) = (target.dim(), kernel.fresh() + 1, state.chains.len());
        for j in 0..chains {
            let lane = &mut lanes[j..=j];
            let (mut log_p, mut log_q) = (vec![state.chains.log_p[j]; all], vec![0.0; all]);
            let mut points = vec![state.chains.positions.col_as_slice(j).to_vec(); all];
            proposal.log_probs(one(&points[0]), &mut log_q[..1]);
            for k in 1..all {
                proposal.sample_into(lane, batch_mut(&mut points[k], dim, 1), &mut log_q[k..=k]);
                log_p[k] = target.log_density(&points[k], work);
            }
            let mut weights: Vec<f64> = log_p.iter().zip(&log_q).map(|(p, q)| p - q).collect();
            match kernel.slip {
                Slip::RetainedDropped => weights[0] = f64::NEG_INFINITY,
                Slip::RetainedDoubled => weights[0] += 2.0_f64.ln(),
                Slip::RetainedFivePercentOff => weights[0] += 1.05_f64.ln(),
                Slip::WeightsToAPower => weights.iter_mut().for_each(|w| *w *= 1.05),
                _ => {}
            }
            let mut chosen = lane[0].choose(&weights).unwrap_or(0);
            if chosen == 0 && kernel.slip == Slip::ResampledWithoutRetained {
                chosen = 1 + lane[0].choose(&weights[1..]).unwrap_or(0);
            }
            if kernel.slip == Slip::CloudWithoutRetained {
                weights[0] = f64::NEG_INFINITY;
            }
            let top = weights.iter().fold(f64::NEG_INFINITY, |top, &w| top.max(w));
            let total: f64 = weights.iter().map(|w| (w - top).exp()).sum();
            for k in 0..all {
                state.points.col_as_slice_mut(j * all + k).copy_from_slice(&points[k]);
                state.weights[j * all + k] = (weights[k] - top).exp() / total / chains as f64;
            }
            state.chains.place(j, &points[chosen], log_p[chosen]);
        }
    }
);
