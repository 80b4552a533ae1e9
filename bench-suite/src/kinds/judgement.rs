//! Fits of a posterior in one call, judged by their verdict.

use std::ops::ControlFlow;

use mcsa::fit::{Fitted, Fitting, Objection, Options, Target};
use mcsa_core::{Error, Seed};

use super::checkpoints::Checkpoints;
use super::spent::{Meter, Spent};
use super::{Done, Running, Tally};
use crate::catalog::{Built, Truth};
use crate::store::Row;
use crate::task::{Job, Judgement};

/// Distance, in standard deviations of a standard normal mode, within which a start has reached it.
const NEAR: f64 = 1.0;

impl Judgement {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<Done>, Error> {
        let mut checkpoints = Checkpoints::new(job, running);
        let Some(case) = self.case() else { return Err(Error::invalid("the target is no case")) };
        let built = case.build(running.catalogue)?;
        let start = || (Vec::new(), Spent::default());
        let (mut rows, before): (Vec<Row>, Spent) = checkpoints.last()?.unwrap_or_else(start);
        // Runs of different cases are independent: rates are over all of them.
        let seed = job.seed.named(&case.title());
        let meter = Meter::after(before);
        let mut counts = Tally::new();
        checkpoints.tell(rows.len() as u64 * self.evaluations);
        while (rows.len() as u64) < self.runs {
            let made = checkpoints.stretch(self.runs - rows.len() as u64);
            for _ in 0..made {
                let run = rows.len() as u64 + 1;
                let values = self.fit(&built, seed.child(run))?;
                for (name, value) in values.iter().filter(|(name, _)| name.starts_with("p_")) {
                    *counts.entry((*name).to_owned()).or_default() += *value as u64;
                }
                rows.push(Row::new(run, values));
            }
            if !checkpoints.goes_on(made, made * self.evaluations, || (&rows, meter.spent(counts.clone()))) {
                return Ok(None);
            }
        }
        Ok(Some((rows, meter.spent(counts).ended())))
    }

    fn fit(&self, built: &Built, seed: Seed) -> Result<Vec<(&'static str, f64)>, Error> {
        let posterior = &*built.posterior;
        let target = match self.gradient {
            true => Target::with_gradient(&posterior),
            false => Target::density_only(&posterior),
        };
        let number = (seed.stream(0, 0).uniform() * 2.0_f64.powi(53)) as u64;
        let options = Options { evaluations: self.evaluations, ..Options::seeded(number) };
        let mut fitting = Fitting::new(&options)?;
        let fitted =
            fitting.run(&target, &mut |_| ControlFlow::Continue(())).and_then(|()| fitting.finish(&target));
        let spent = target.evaluations();
        let mut values =
            vec![("p_evaluations", spent.density as f64), ("p_gradients", spent.gradient as f64)];
        if let Some(hidden) = &built.hidden {
            let near = |point: &[f64]| {
                let square: f64 = point.iter().zip(hidden).map(|(a, b)| (a - b).powi(2)).sum();
                square.sqrt() < NEAR
            };
            let modes = fitting.ascents.modes.iter().filter(|mode| near(&mode.point));
            let reached: usize = modes.map(|mode| mode.reached).sum();
            values.push(("start_share", reached as f64 / fitting.ascents.made.max(1) as f64));
        }
        // A fit that ends with an error gives no answer: the verdict is no.
        match fitted {
            Ok(fitted) => values.extend(seen(&fitted, &built.truth)),
            Err(_) => values.extend([("yes", 0.0), ("objects_error", 1.0)]),
        }
        Ok(values)
    }
}

/// Errors and verdict of a fit.
fn seen(fitted: &Fitted, truth: &Truth) -> Vec<(&'static str, f64)> {
    let mut values = vec![
        ("yes", if fitted.verdict.is_yes() { 1.0 } else { 0.0 }),
        ("k_hat", fitted.draws.shape),
        ("sample_share", fitted.draws.sample_size / fitted.draws.len() as f64),
    ];
    if let Truth::Moments { means, sds } = truth {
        let (mean, variance) = fitted.draws.moments();
        let errors = means.iter().zip(sds).zip(mean.iter().zip(&variance));
        let largest = |all: Vec<f64>| all.into_iter().fold(0.0, |a: f64, b| if b <= a { a } else { b });
        let of_means = errors.clone().map(|((m, sd), (mean, _))| ((mean - m) / sd).abs()).collect();
        let of_sds = errors.map(|((_, sd), (_, variance))| (variance.sqrt() / sd).ln().abs()).collect();
        values.push(("answer_error", largest(of_means)));
        values.push(("answer_stretch", largest(of_sds).exp()));
    }
    let mut witnesses: Vec<&'static str> = fitted.verdict.objections.iter().map(witness).collect();
    witnesses.sort_unstable();
    witnesses.dedup();
    values.extend(witnesses.into_iter().map(|witness| (witness, 1.0)));
    values
}

/// Metric of a witness: 1 in a run in which it objects.
fn witness(objection: &Objection) -> &'static str {
    match objection {
        Objection::Gradient { .. } => "objects_gradient",
        Objection::Weights { .. } | Objection::Spread { .. } => "objects_weights",
        Objection::Start { .. } | Objection::Starts { .. } => "objects_start",
        Objection::Mixing { .. } => "objects_mixing",
        Objection::Moments { .. } => "objects_moments",
        Objection::Missed { .. } | Objection::WiderProposals { .. } => "objects_missed",
        Objection::Tail { .. } => "objects_tail",
        Objection::NonFinite { .. } | Objection::Random { .. } => "objects_non_finite",
        Objection::Unconfirmed
        | Objection::Budget
        | Objection::Time
        | Objection::Interrupted
        | Objection::Unverified { .. }
        | Objection::Draws { .. }
        | Objection::Tempering { .. } => "objects_budget",
    }
}
