//! Hidden Markov models on which particle methods are enumerated.

use faer::Mat;
use mcsa_core::{Columns, LogDensity, Stream, enumerate};
use mcsa_particles::{ConditionalSmc, HiddenMarkov, PathGuide, PathKernel, Smc, StateSpace};
use mcsa_testing::Transition;

pub(crate) const LIMIT: usize = 10_000_000;

/// A model without symmetry, generated from a number.
pub(crate) fn chain(times: usize, states: usize, number: usize) -> HiddenMarkov {
    let mass = |a: usize, b: usize| 0.15 + ((a * 7 + b * 13 + number * 5) as f64 * 1.7).sin().powi(2);
    let law = |row: usize| {
        let masses: Vec<f64> = (0..states).map(|k| mass(row, k)).collect();
        let total: f64 = masses.iter().sum();
        masses.into_iter().map(|p| p / total).collect::<Vec<f64>>()
    };
    let rows: Vec<_> = (1..=states).map(law).collect();
    let likelihood: Vec<Vec<f64>> =
        (0..times).map(|t| (0..states).map(|k| 1.5 * mass(11 + t, 5 * k)).collect()).collect();
    let slices = |rows: &'_ [Vec<f64>]| -> Vec<Vec<f64>> { rows.to_vec() };
    let (rows, likelihood) = (slices(&rows), slices(&likelihood));
    let rows: Vec<&[f64]> = rows.iter().map(|row| &row[..]).collect();
    let likelihood: Vec<&[f64]> = likelihood.iter().map(|row| &row[..]).collect();
    HiddenMarkov::new(&law(0), &rows, &likelihood).expect("laws")
}

/// Path proposal: the transitions of another model, whose likelihood serves as the twist `psi`.
pub(crate) struct Steps<'a> {
    pub(crate) model: &'a HiddenMarkov,
    pub(crate) proposal: &'a HiddenMarkov,
}

impl PathGuide for Steps<'_> {
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
            *weight += psi - q;
        }
    }

    fn log_twists(&mut self, t: usize, z: &[f64], out: &mut [f64]) {
        self.proposal.log_observations(t, z, out);
    }
}

/// Probability of every path given the observations.
pub(crate) fn smoothing(model: &HiddenMarkov) -> Vec<f64> {
    let paths = model.paths();
    (0..paths.ncols())
        .map(|k| (model.log_path(paths.as_ref().column(k)) - model.log_evidence()).exp())
        .collect()
}

/// Index of a path.
pub(crate) fn number(model: &HiddenMarkov, path: &[f64]) -> usize {
    path.iter().rev().fold(0, |number, &z| number * model.alphabet() + z as usize)
}

/// Exact transition matrix on paths of any move of a path.
pub(crate) fn transition_of(
    model: &HiddenMarkov,
    mut run: impl FnMut(&mut [f64], &mut Stream),
) -> Transition {
    let (target, paths) = (smoothing(model), model.paths());
    Transition::of_states(&target, 1, LIMIT, |from, lanes| {
        let mut path = paths.as_ref().column(from).to_vec();
        run(&mut path, &mut lanes[0]);
        number(model, &path)
    })
    .expect("discrete decisions")
}

/// Exact transition matrix of the production kernel; lent memory is filled with NaN.
pub(crate) fn transition(
    kernel: &ConditionalSmc,
    model: &HiddenMarkov,
    proposal: &mut dyn PathGuide,
) -> Transition {
    let (dim, mut work) = (model.dim(), vec![0.0; kernel.work_len(model)]);
    let mut paths = kernel.init(model, Mat::zeros(dim, 1)).expect("possible");
    transition_of(model, |path, stream| {
        work.fill(f64::NAN);
        paths.positions.col_as_slice_mut(0).copy_from_slice(path);
        kernel.step(model, proposal, &mut paths, std::slice::from_mut(stream), &mut work);
        path.copy_from_slice(paths.positions.col_as_slice(0));
    })
}

/// Expected evidence estimate `E[Z-hat]`.
pub(crate) fn mean_evidence(smc: &Smc, model: &HiddenMarkov, proposal: &mut dyn PathGuide) -> f64 {
    let mut work = vec![0.0; smc.work_len(model)];
    let branches = enumerate(1, LIMIT, |lanes| {
        work.fill(f64::NAN);
        smc.log_evidence(model, proposal, &mut lanes[0], &mut work).exp()
    });
    branches.expect("discrete decisions").iter().map(|b| b.probability * b.outcome).sum()
}
