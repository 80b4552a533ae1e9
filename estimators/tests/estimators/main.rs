//! Tests of the estimators and of the loop that moves lambda.

mod batch_match;
mod bounds;
mod checkpoints;
mod controlled;
mod exact;
mod health;
mod laws;
mod learning;
mod ledger;
mod moments;
mod outcomes;
mod running;
mod stopping;

use mcsa_core::{Estimator, Optimizer, Seed, Stream, enumerate};
use mcsa_estimators::{Ascent, Outcome};

/// Direction and metrics of a step, in memory that held NaN.
fn step<P: ?Sized, F: ?Sized, E: Estimator<P, F>>(
    estimator: &E,
    (target, family): (&P, &F),
    params: &[f64],
    state: &mut E::State,
    lanes: &mut [Stream],
) -> (Vec<f64>, E::Info) {
    let mut work = vec![f64::NAN; estimator.work_len(target, family)];
    let mut direction = vec![f64::NAN; params.len()];
    let info =
        estimator.ascent_direction(target, family, params, state, lanes, &mut direction, &mut work).unwrap();
    (direction, info)
}

/// Exact expectation of what `run` computes from random lanes, over all their branches.
fn expectation(lanes: usize, mut run: impl FnMut(&mut [Stream]) -> Vec<f64>) -> Vec<f64> {
    let branches = enumerate(lanes, 2_000_000, |lanes: &mut [Stream]| run(lanes)).unwrap();
    let mut mean = vec![0.0; branches[0].outcome.len()];
    for branch in branches {
        mean.iter_mut().zip(branch.outcome).for_each(|(mean, value)| *mean += branch.probability * value);
    }
    mean
}

/// The atoms of `chains` chains that start independently on atoms with these probabilities, with the probability of each start.
fn starts(chains: usize, law: &[f64]) -> impl Iterator<Item = (f64, Vec<usize>)> {
    (0..law.len().pow(chains as u32)).map(move |start| {
        let atoms: Vec<usize> = (0..chains as u32).map(|j| start / law.len().pow(j) % law.len()).collect();
        (atoms.iter().map(|&atom| law[atom]).product(), atoms)
    })
}

/// An ascent with the seed of most tests.
fn ascent<'a, P: ?Sized, F: ?Sized, E, O>(
    target: &'a P,
    family: &'a F,
    estimator: E,
    optimizer: O,
) -> Ascent<'a, P, F, E, O> {
    Ascent { target, family, estimator, optimizer, seed: Seed::new(1) }
}

/// Outcome and lambda of a fit after at most `steps` steps from `start`.
fn fitted<P: ?Sized, F: ?Sized, E: Estimator<P, F>, O: Optimizer>(
    (target, family): (&P, &F),
    (estimator, optimizer, seed): (E, O, u64),
    start: Vec<f64>,
    steps: u64,
) -> (Outcome, Vec<f64>) {
    let ascent = Ascent { target, family, estimator, optimizer, seed: Seed::new(seed) };
    let mut fit = ascent.start(start).unwrap();
    let outcome = ascent.run(&mut fit, steps).unwrap();
    (outcome, fit.params().to_vec())
}
