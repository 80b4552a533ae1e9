//! Runs of a method of inference within budgets of evaluations, measured by what is known of the target.

mod answer;
mod fits;
mod nuts;
mod paths;
mod start;
#[cfg(test)]
mod tests;

use mcsa_core::{Counted, Error, Seed};

use super::running::{Checkpoints, Meter, Spent};
use super::{Done, Running, Tally, now};
use crate::catalog::{Entrant, Posterior, Truth};
use crate::store::Row;
use crate::task::{Benchmark, Job};
use answer::{Answer, Known};

/// Metrics that are infinite if a run fails, on targets with moments.
const ERRORS: [&str; 5] = ["answer_error", "answer_median", "spread_error", "spread_median", "wasserstein"];
/// Most draws of an answer.
const DRAWS: usize = 4_000;

/// A run within one budget.
#[derive(Clone, Copy)]
struct Bounded<'r, 'a> {
    target: &'r Counted<&'a dyn Posterior>,
    /// Evaluations, with those of the start and of the draws.
    budget: u64,
    /// Half the width of the cube from which starts are drawn; the standard deviation of normal starts is half of it.
    reach: f64,
    seed: Seed,
}

impl Bounded<'_, '_> {
    /// Number of weighted draws: at most a third of the budget.
    fn draws(&self) -> usize {
        DRAWS.min((self.budget / 3) as usize)
    }

    /// Evaluations so far, with or without a gradient.
    fn spent(&self) -> u64 {
        let spent = self.target.counts();
        spent.log_density + spent.gradient
    }

    /// Number of steps of `cost` evaluations that leave room for the draws.
    fn steps(&self, cost: usize) -> u64 {
        self.budget.saturating_sub(self.spent() + self.draws() as u64) / cost.max(1) as u64
    }
}

impl Benchmark {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<Done>, Error> {
        let mut checkpoints = Checkpoints::new(job, running);
        let (Some(case), Some(entrant)) = (self.case(), self.entrant()) else {
            return Err(Error::invalid("the target is no case, or the method no method of inference"));
        };
        let known = Known::of(case.build(running.catalogue)?);
        let start = || (Vec::new(), Spent::default());
        let (mut rows, before): (Vec<Row>, Spent) = checkpoints.last()?.unwrap_or_else(start);
        let (meter, ladder) = (Meter::after(before), self.reached());
        let work = |budgets: &[u64]| budgets.iter().sum::<u64>() * entrant.effort();
        let mut counts = Tally::new();
        checkpoints.tell(work(&ladder[..rows.len()]));
        while rows.len() < ladder.len() {
            let from = rows.len();
            let made = checkpoints.stretch((ladder.len() - from) as u64);
            for &budget in &ladder[from..from + made as usize] {
                let values = row(entrant, &known, (budget, self.reach), job.seed);
                for (name, value) in values.iter().filter(|(name, _)| name.starts_with("p_")) {
                    *counts.entry((*name).to_owned()).or_default() += *value as u64;
                }
                rows.push(Row::new(budget, values));
            }
            let done = work(&ladder[from..rows.len()]);
            if !checkpoints.goes_on(made, done, || (&rows, meter.spent(counts.clone()))) {
                return Ok(None);
            }
        }
        Ok(Some((rows, meter.spent(counts).ended())))
    }
}

/// Row of a run within one budget. A method that ends with an error, or with draws that are not finite, has failed, and its
/// errors are infinite.
fn row(
    entrant: &Entrant,
    known: &Known,
    (budget, reach): (u64, f64),
    seed: Seed,
) -> Vec<(&'static str, f64)> {
    let (begun, target) = (now(), Counted::new(&*known.built.posterior));
    let found = answer(entrant, Bounded { target: &target, budget, reach, seed });
    let (seconds, spent) = (begun.elapsed().as_secs_f64(), target.counts());
    let mut values = vec![
        ("p_evaluations", spent.log_density as f64),
        ("p_gradients", spent.gradient as f64),
        ("seconds", seconds),
    ];
    match found.ok().and_then(|answer| answer.measures(known)) {
        Some(measures) => values.extend(measures.into_iter().chain([("failed", 0.0)])),
        None => {
            let errors: &[&'static str] = match known.built.truth {
                Truth::Moments { .. } => &ERRORS,
                Truth::None => &[],
            };
            values.extend(errors.iter().map(|name| (*name, f64::INFINITY)));
            values.push(("failed", 1.0));
        }
    }
    values
}

fn answer(entrant: &Entrant, run: Bounded<'_, '_>) -> Result<Answer, Error> {
    match entrant {
        Entrant::Moments { family } => run.moments(*family),
        Entrant::Pmcsa { chains, rate, laplace } => run.pmcsa(*chains, *rate, *laplace),
        Entrant::Flow { family, chains, rate } => run.flow(family, *chains, *rate),
        Entrant::Elbo { family, samples, rate, laplace } => run.elbo(family, *samples, *rate, *laplace),
        Entrant::BatchMatch { samples, laplace } => run.batch_match(*samples, *laplace),
        Entrant::Pathfinder => run.pathfinder(),
        Entrant::Nuts => run.nuts(),
        Entrant::Fit => run.fit(),
    }
}
