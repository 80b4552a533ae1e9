//! Running one job.

use std::ops::ControlFlow;

use mcsa::{Error, Estimator, Family, LogDensity, Optimizer};
use mcsa_estimators::{Ascent, Fit, Observer, Outcome, Stop, View};
use serde::{Deserialize, Serialize};

use crate::catalog::Running;
use crate::plan::Job;
use crate::store::Row;

/// What is measured of lambda: names with their numbers. Measuring cannot touch the fit.
pub type Metrics<'a> = dyn Fn(&[f64]) -> Vec<(&'static str, f64)> + 'a;

/// A fit on its way, and what it has recorded.
#[derive(Serialize, Deserialize)]
struct Checkpoint<S, O> {
    fit: Fit<S, O>,
    rows: Vec<Row>,
}

/// Collects a row every so many steps.
struct Recorder<'a> {
    every: u64,
    metrics: &'a Metrics<'a>,
    rows: Vec<Row>,
}

impl Observer for Recorder<'_> {
    fn observe(&mut self, view: &View<'_>) -> ControlFlow<Stop> {
        if view.step.is_multiple_of(self.every) {
            let mut row = row(view.step, self.metrics, view.params);
            view.info.record(&mut |name, value| {
                row.values.insert(name.to_owned(), value);
            });
            self.rows.push(row);
        }
        ControlFlow::Continue(())
    }
}

fn row(step: u64, metrics: &Metrics<'_>, params: &[f64]) -> Row {
    let values = metrics(params).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Row { step, values }
}

/// Runs a job from its checkpoint or its start, and keeps its rows. Row 0 is the initial lambda.
///
/// Between checkpoints `progress` may end the run by returning `false`: the next one goes on with the same bits.
///
/// # Errors
/// If the parts do not fit each other, the fit diverges, or the disk refuses.
pub fn run<P, F, E, O>(
    job: &Job,
    ascent: &Ascent<'_, P, F, E, O>,
    initial: Vec<f64>,
    metrics: &Metrics<'_>,
    running: &Running<'_>,
) -> Result<(), Error>
where
    P: LogDensity + ?Sized,
    F: Family + ?Sized,
    E: Estimator<P, F>,
    O: Optimizer,
{
    let Running { store, checkpoint_every, progress } = running;
    let Checkpoint { mut fit, rows } = match store.checkpoint(job)? {
        Some(Checkpoint { mut fit, rows }) => {
            // No step, but whatever does not belong here is refused, and the file is named.
            let file = || format!("{}/{}.checkpoint", job.experiment, job.id());
            ascent.run(&mut fit, 0, &mut []).map_err(|error| error.within(file()))?;
            Checkpoint { fit, rows }
        }
        None => {
            let first = row(0, metrics, &initial);
            Checkpoint { fit: ascent.start(initial)?, rows: vec![first] }
        }
    };
    progress(fit.step());
    let mut recorder = Recorder { every: job.record_every, metrics, rows };
    while fit.step() < job.steps {
        let steps = (*checkpoint_every).clamp(1, job.steps - fit.step());
        match ascent.run(&mut fit, steps, &mut [&mut recorder])? {
            Outcome::BudgetSpent { .. } => {}
            ended => return Err(Error::invalid(ended.to_string())),
        }
        if fit.step() < job.steps {
            let checkpoint = Checkpoint { fit, rows: std::mem::take(&mut recorder.rows) };
            store.keep_checkpoint(job, &checkpoint)?;
            Checkpoint { fit, rows: recorder.rows } = checkpoint;
        }
        if !progress(steps) && fit.step() < job.steps {
            return Ok(());
        }
    }
    store.keep(job, &recorder.rows)
}
