//! Reference implementation of conditional SMC, slow and simple, with one optional mistake.

use mcsa_core::Stream;
use mcsa_particles::{ConditionalSmc, Lineage, PathProposal, Resampling, StateSpace};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    None,
    /// The retained path is not in its slot at time 1.
    Dropped,
    /// Ancestors are chosen without the likelihood that is not yet in the weights.
    NoLikelihood,
    /// Ancestors are chosen by `w_{t-1} q(z'_t | z_{t-1})`, as printed (MSC, Alg. 4).
    Printed,
    /// Resampled particles keep their old weights.
    Kept,
    /// Particles that are not resampled lose their weights.
    Forgotten,
    /// Ancestors are drawn as without a retained path, then slot 0 is overwritten.
    Naive,
}

/// The algorithm with the settings of a kernel: of lineages, traced ones and ancestor sampling.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sketch {
    pub(crate) kernel: ConditionalSmc,
    pub(crate) mistake: Mistake,
}

impl Sketch {
    /// Ancestors by definition: every outcome of the resampling scheme, into every rotation of the slots; each with its probability,
    /// and kept if slot 0 descends from the retained particle.
    fn ancestors(&self, weights: &[f64], retained: usize, stream: &mut Stream) -> Vec<usize> {
        let count = weights.len();
        let mut total = 0.0;
        let ends: Vec<f64> = weights
            .iter()
            .map(|weight| {
                total += count as f64 * weight;
                total
            })
            .collect();
        let turned = |(mass, slots): (f64, Vec<usize>)| {
            (0..count).map(move |turn| (mass, (0..count).map(|k| slots[(k + turn) % count]).collect()))
        };
        let mut outcomes: Vec<(f64, Vec<usize>)> = self.rounds(&ends).into_iter().flat_map(turned).collect();
        if self.mistake != Mistake::Naive {
            outcomes.retain(|(_, slots)| slots[0] == retained);
        }
        let logs: Vec<f64> = outcomes.iter().map(|(mass, _)| mass.ln()).collect();
        let mut slots = outcomes.swap_remove(stream.choose(&logs).expect("an outcome")).1;
        slots[0] = retained;
        slots
    }

    /// Every outcome of the scheme, with its probability.
    fn rounds(&self, ends: &[f64]) -> Vec<(f64, Vec<usize>)> {
        let count = ends.len();
        let below = |point: f64| ends.iter().take_while(|&&end| end <= point).count().min(count - 1);
        let pieces = |cuts: Vec<f64>| {
            let mut cuts = [cuts, vec![0.0, 1.0]].concat();
            cuts.sort_by(f64::total_cmp);
            let pieces = cuts.windows(2).map(|pair| (pair[1] - pair[0], 0.5 * (pair[0] + pair[1])));
            pieces.filter(|piece| piece.0 > 1e-13).collect::<Vec<_>>()
        };
        if self.kernel.resampling == Resampling::Systematic {
            let shifts = pieces(ends.iter().map(|end| end.fract()).collect());
            let comb = |u: f64| (0..count).map(|k| below(k as f64 + u)).collect();
            return shifts.into_iter().map(|(mass, u)| (mass, comb(u))).collect();
        }
        let draws = pieces(ends[..count - 1].iter().map(|end| end / count as f64).collect());
        let mut rounds = vec![(1.0, vec![])];
        for _ in 0..count {
            let extend = |(mass, slots): &(f64, Vec<usize>)| {
                let grown = draws
                    .iter()
                    .map(|&(piece, u)| (mass * piece, [&slots[..], &[below(count as f64 * u)]].concat()));
                grown.collect::<Vec<_>>()
            };
            rounds = rounds.iter().flat_map(extend).collect();
        }
        rounds
    }

    pub(crate) fn step<P: StateSpace>(
        &self,
        model: &P,
        proposal: &mut dyn PathProposal,
        path: &mut [f64],
        stream: &mut Stream,
    ) {
        let (times, count) = (model.num_states(), self.kernel.particles);
        let (mut paths, mut logs) = (vec![Vec::<f64>::new(); count], vec![0.0; count]);
        for t in 0..times {
            if t > 0 {
                let ends: Vec<f64> = paths.iter().map(|path| path[t - 1]).collect();
                let due = |proposal: &mut dyn PathProposal, z: f64| {
                    let (mut twist, mut likelihood) = ([0.0], [0.0]);
                    proposal.log_twists(t - 1, &[z], &mut twist);
                    model.log_observations(t - 1, &[z], &mut likelihood);
                    likelihood[0] - twist[0]
                };
                let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let total: f64 = logs.iter().map(|log| (log - top).exp()).sum();
                let weights: Vec<f64> = logs.iter().map(|log| (log - top).exp() / total).collect();
                let effective = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
                let resamples =
                    self.kernel.threshold >= 1.0 || effective < self.kernel.threshold * count as f64;
                if resamples {
                    let retained = if self.kernel.lineage == Lineage::Ancestors {
                        let log = |j: usize| {
                            let (mut step, mut weight, mut twist) = ([0.0], [0.0], [0.0]);
                            model.log_transitions(t, &ends[j..=j], &path[t..=t], &mut step);
                            proposal.log_weights(t, &ends[j..=j], &path[t..=t], &mut weight);
                            proposal.log_twists(t, &path[t..=t], &mut twist);
                            logs[j]
                                + match self.mistake {
                                    Mistake::NoLikelihood => step[0],
                                    // log q = log p + log psi - log weight
                                    Mistake::Printed => step[0] + twist[0] - weight[0],
                                    _ => step[0] + due(proposal, ends[j]),
                                }
                        };
                        let chances: Vec<f64> = (0..count).map(log).collect();
                        stream.choose(&chances).expect("a weight")
                    } else {
                        0
                    };
                    let slots = self.ancestors(&weights, retained, stream);
                    paths = slots.iter().map(|&slot| paths[slot].clone()).collect();
                    if self.mistake == Mistake::Kept {
                        logs = slots.iter().map(|&slot| logs[slot]).collect();
                    } else {
                        logs.fill(0.0);
                    }
                } else if self.mistake == Mistake::Forgotten {
                    logs.fill(0.0);
                }
                for (log, path) in logs.iter_mut().zip(&paths) {
                    *log += due(proposal, path[t - 1]);
                }
            }
            let is_dropped = self.mistake == Mistake::Dropped && t == 1;
            for (k, (particle, log)) in paths.iter_mut().zip(&mut logs).enumerate() {
                let previous = particle.last().map_or(vec![], |&z| vec![z]);
                let (mut z, mut weight) = ([path[t]], [0.0]);
                if k == 0 && !is_dropped {
                    proposal.log_weights(t, &previous, &z, &mut weight);
                } else {
                    proposal.propose_into(t, &previous, stream, &mut z, &mut weight);
                }
                *log += weight[0];
                particle.push(z[0]);
            }
        }
        let last = times - 1;
        for (log, path) in logs.iter_mut().zip(&paths) {
            let (mut twist, mut likelihood) = ([0.0], [0.0]);
            proposal.log_twists(last, &path[last..], &mut twist);
            model.log_observations(last, &path[last..], &mut likelihood);
            *log += likelihood[0] - twist[0];
        }
        path.copy_from_slice(&paths[stream.choose(&logs).expect("a weight")]);
    }
}
