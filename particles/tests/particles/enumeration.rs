//! Particle methods on finite hidden Markov models, by enumeration: conditional SMC leaves the smoothing distribution invariant,
//! `E[Z-hat] = Z`, and a wrong weight is detected.

use faer::Mat;
use mcsa_core::{Columns, LogDensity, Stream, enumerate};
use mcsa_particles::{
    Bootstrap, ConditionalSmc, Lineage, PathKernel, PathProposal, Resampling, Smc, StateSpace, Untwisted,
};
use mcsa_testing::{Check, Measured, Transition};

use crate::LINEAGES;

const LIMIT: usize = 10_000_000;

/// Hidden Markov model on states `0 .. K-1`, each stored as a number: all decisions of a particle method on it are discrete.
struct HiddenMarkov {
    initial: Vec<f64>,
    transition: Vec<Vec<f64>>,
    /// One row of likelihoods per time.
    likelihood: Vec<Vec<f64>>,
}

impl HiddenMarkov {
    fn alphabet(&self) -> usize {
        self.initial.len()
    }

    /// Law of the state at `t`; at `t = 0` predecessors are not read.
    fn law(&self, t: usize, previous: &[f64], i: usize) -> &[f64] {
        if t == 0 { &self.initial } else { &self.transition[previous[i] as usize] }
    }

    /// All paths, as the columns of a matrix: column `c` has the digits of `c` in base `K`, the first state being the lowest digit.
    fn paths(&self) -> Mat<f64> {
        let (states, base) = (self.num_states(), self.alphabet());
        Mat::from_fn(states, base.pow(states as u32), |t, path| (path / base.pow(t as u32) % base) as f64)
    }

    fn log_evidence(&self) -> f64 {
        let paths = self.paths();
        (0..paths.ncols()).map(|k| self.log_path(paths.as_ref().column(k)).exp()).sum::<f64>().ln()
    }
}

impl LogDensity for HiddenMarkov {
    fn dim(&self) -> usize {
        self.likelihood.len()
    }
    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.log_path(z)
    }
}

impl StateSpace for HiddenMarkov {
    fn num_states(&self) -> usize {
        self.likelihood.len()
    }
    fn draw_states_into(&self, t: usize, previous: &[f64], stream: &mut Stream, z: &mut [f64]) {
        for (i, z) in z.iter_mut().enumerate() {
            let logs: Vec<f64> = self.law(t, previous, i).iter().map(|p| p.ln()).collect();
            *z = stream.choose(&logs).expect("a state") as f64;
        }
    }
    fn log_transitions(&self, t: usize, previous: &[f64], z: &[f64], out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.law(t, previous, i)[z[i] as usize].ln();
        }
    }
    fn log_observations(&self, t: usize, z: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(z).for_each(|(out, z)| *out = self.likelihood[t][*z as usize].ln());
    }
}

/// A model without symmetry, generated from a number.
fn chain(times: usize, states: usize, number: usize) -> HiddenMarkov {
    let mass = |a: usize, b: usize| 0.15 + ((a * 7 + b * 13 + number * 5) as f64 * 1.7).sin().powi(2);
    let law = |row: usize| {
        let masses: Vec<f64> = (0..states).map(|k| mass(row, k)).collect();
        let total: f64 = masses.iter().sum();
        masses.into_iter().map(|p| p / total).collect::<Vec<f64>>()
    };
    let likelihood = (0..times).map(|t| (0..states).map(|k| 1.5 * mass(11 + t, 5 * k)).collect()).collect();
    HiddenMarkov { initial: law(0), transition: (1..=states).map(law).collect(), likelihood }
}

/// Path proposal: the transitions of another model, whose likelihood serves as the twist `psi`.
struct Steps<'a> {
    model: &'a HiddenMarkov,
    proposal: &'a HiddenMarkov,
    /// Share of `log psi` in the weights; 1 is right.
    share: f64,
}

/// The right steps of a chain with the transitions and twists of another.
fn steps<'a>(model: &'a HiddenMarkov, proposal: &'a HiddenMarkov) -> Steps<'a> {
    Steps { model, proposal, share: 1.0 }
}

impl PathProposal for Steps<'_> {
    fn propose_into(
        &mut self,
        t: usize,
        previous: &[f64],
        stream: &mut Stream,
        z: &mut [f64],
        log_weights: &mut [f64],
    ) {
        self.proposal.draw_states_into(t, previous, stream, z);
        self.log_weights(t, previous, z, log_weights);
    }

    fn log_weights(&mut self, t: usize, previous: &[f64], z: &[f64], log_weights: &mut [f64]) {
        let (mut log_q, mut log_psi) = (vec![0.0; z.len()], vec![0.0; z.len()]);
        self.model.log_transitions(t, previous, z, log_weights);
        self.proposal.log_transitions(t, previous, z, &mut log_q);
        self.proposal.log_observations(t, z, &mut log_psi);
        for ((weight, q), psi) in log_weights.iter_mut().zip(log_q).zip(log_psi) {
            *weight += self.share * psi - q;
        }
    }

    fn log_twists(&mut self, t: usize, z: &[f64], out: &mut [f64]) {
        self.proposal.log_observations(t, z, out);
    }
}

/// Probability of every path given the observations.
fn smoothing(model: &HiddenMarkov) -> Vec<f64> {
    let paths = model.paths();
    (0..paths.ncols())
        .map(|k| (model.log_path(paths.as_ref().column(k)) - model.log_evidence()).exp())
        .collect()
}

/// Index of a path.
fn number(model: &HiddenMarkov, path: &[f64]) -> usize {
    path.iter().rev().fold(0, |number, &z| number * model.alphabet() + z as usize)
}

/// Exact transition matrix of a kernel on paths; lent memory is filled with NaN.
fn transition(kernel: &ConditionalSmc, model: &HiddenMarkov, proposal: &mut dyn PathProposal) -> Transition {
    let (target, starts, mut work) = (smoothing(model), model.paths(), vec![0.0; kernel.work_len(model)]);
    let mut paths = kernel.init(model, Mat::zeros(model.dim(), 1)).expect("possible");
    Transition::of_states(&target, 1, LIMIT, |from, lanes| {
        work.fill(f64::NAN);
        paths.positions.col_as_slice_mut(0).copy_from_slice(starts.as_ref().column(from));
        kernel.step(model, proposal, &mut paths, lanes, &mut work);
        number(model, paths.positions.col_as_slice(0))
    })
    .expect("discrete decisions")
}

/// Expected evidence estimate `E[Z-hat]`.
fn mean_evidence(smc: &Smc, model: &HiddenMarkov, proposal: &mut dyn PathProposal) -> f64 {
    let mut work = vec![0.0; smc.work_len(model)];
    let branches = enumerate(1, LIMIT, |lanes| {
        work.fill(f64::NAN);
        smc.log_evidence(model, proposal, &mut lanes[0], &mut work).exp()
    });
    branches.expect("discrete decisions").iter().map(|b| b.probability * b.outcome).sum()
}

/// Tolerance for rounding over some thousand branches of some ten decisions.
const TOLERANCE: f64 = 1e-12;

fn error(check: &Check) -> f64 {
    match check.measured {
        Measured::Exact { error, .. } => error,
        ref other => panic!("{other:?}"),
    }
}

fn kernel(particles: usize, resampling: Resampling, threshold: f64, lineage: Lineage) -> ConditionalSmc {
    ConditionalSmc { particles, resampling, threshold, lineage }
}

/// Every resampling scheme and every lineage, with resampling always, sometimes and never, under a twisted proposal.
#[test]
fn conditional_smc_keeps_the_smoothing_law() {
    for (times, states, particles) in [(2, 2, 2), (3, 2, 2), (2, 3, 2), (2, 2, 3), (3, 2, 3)] {
        let (model, proposal) = (chain(times, states, 1), chain(times, states, 2));
        for rule in Resampling::ALL {
            for lineage in LINEAGES {
                for threshold in [1.0, 0.85, 0.0] {
                    // The longest case only in its most general form: it has a million branches per resampling scheme.
                    if times * particles == 9 && (threshold != 0.85 || lineage != Lineage::Ancestors) {
                        continue;
                    }
                    let kernel = kernel(particles, rule, threshold, lineage);
                    let steps = &mut steps(&model, &proposal);
                    let error = error(&transition(&kernel, &model, steps).keeps_target());
                    assert!(error < TOLERANCE, "T{times} K{states} {kernel:?}: {error}");
                }
            }
        }
    }
}

/// With the model's own transitions as proposal, and with twists that change proposals but not weights.
#[test]
fn other_proposals_keep_it_too() {
    let (model, proposal) = (chain(3, 2, 1), chain(3, 2, 2));
    for rule in Resampling::ALL {
        for lineage in LINEAGES {
            let kernel = kernel(2, rule, 1.0, lineage);
            let bootstrap = transition(&kernel, &model, &mut Bootstrap(&model));
            assert!(error(&bootstrap.keeps_target()) < TOLERANCE);
            let steps = &mut steps(&model, &proposal);
            let mut untwisted = Untwisted { model: &model, proposal: steps };
            assert!(error(&transition(&kernel, &model, &mut untwisted).keeps_target()) < TOLERANCE);
        }
    }
}

/// The twin: weights in which a twist counts a little less keep another law, with every scheme and every lineage.
#[test]
fn a_wrong_weight_is_seen() {
    let (model, proposal) = (chain(3, 2, 1), chain(3, 2, 2));
    for rule in Resampling::ALL {
        for lineage in LINEAGES {
            let mut wrong = Steps { share: 0.99, ..steps(&model, &proposal) };
            let found = transition(&kernel(2, rule, 1.0, lineage), &model, &mut wrong);
            assert!(error(&found.keeps_target()) > 1e-6, "{rule:?} {lineage:?}");
        }
    }
}

#[test]
fn impossible_configurations_are_errors() {
    let (model, start) = (chain(2, 2, 1), faer::Mat::zeros(2, 1));
    for (particles, threshold) in [(1, 1.0), (2, f64::NAN), (2, 1.5)] {
        let kernel = kernel(particles, Resampling::Multinomial, threshold, Lineage::Traced);
        assert!(kernel.init(&model, start.clone()).is_err(), "{kernel:?}");
    }
}

/// `E[Z-hat] = Z` for every resampling scheme, also if particles are resampled only when their weights are uneven.
#[test]
fn the_evidence_is_unbiased() {
    for (times, states, particles) in [(2, 2, 2), (3, 2, 2), (2, 3, 3), (3, 3, 2), (3, 2, 3)] {
        let (model, proposal) = (chain(times, states, 1), chain(times, states, 2));
        let evidence = model.log_evidence().exp();
        let mut worst = 0.0_f64;
        for rule in Resampling::ALL {
            for threshold in [1.0, 0.85, 0.0] {
                if times * particles == 9 && threshold != 0.85 {
                    continue;
                }
                let smc = Smc::new(particles, rule, threshold).expect("possible");
                let mut steps = steps(&model, &proposal);
                let mean = mean_evidence(&smc, &model, &mut steps);
                worst = worst.max((mean / evidence - 1.0).abs());
                if times == 2 {
                    let mean = mean_evidence(&smc, &model, &mut Bootstrap(&model));
                    worst = worst.max((mean / evidence - 1.0).abs());
                }
            }
        }
        assert!(worst < TOLERANCE, "{worst}");
    }
}
