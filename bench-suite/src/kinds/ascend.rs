//! Steps of a fit by any estimator: stretches, rows, checkpoints, early ends.

use std::ops::ControlFlow;

use mcsa_core::{Error, Estimator, Record, Seed};
use mcsa_estimators::{Ascent, Fit as State, Outcome, Run, Stop, View};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::Tally;
use super::auxiliary::Auxiliary;
use super::checkpoints::Checkpoints;
use super::spent::{Meter, Spent};
use crate::catalog::OptimizerConfig;

/// Steps in sequence with one estimator: a warm fit, or a stage of a schedule.
pub(super) struct Stretch<'s> {
    /// Number of the stretch within its fit.
    pub(super) number: usize,
    /// Steps made before it.
    pub(super) from: u64,
    /// Steps made at its end.
    pub(super) to: u64,
    /// Steps, or other units of progress, that follow it.
    pub(super) after: u64,
    /// Work of the fit up to a step.
    pub(super) work: &'s dyn Fn(u64) -> u64,
    /// Steps at which rows are recorded.
    pub(super) rows: &'s [u64],
    /// Auxiliary sets of chains, if there are any: their number, seed, and parameters of `N(0, I)`.
    pub(super) auxiliary: Option<&'s (u64, Seed, Vec<f64>)>,
    /// Evaluations of this run so far.
    pub(super) counts: &'s dyn Fn() -> Tally,
}

/// Step at which a row is recorded.
#[derive(Default)]
pub(super) struct Seen<'v> {
    pub(super) step: u64,
    pub(super) params: &'v [f64],
    /// Metrics of the kernel; none before the first step.
    pub(super) kernel: Vec<(&'static str, f64)>,
    /// Running mean of the acceptance rate.
    pub(super) acceptance: Option<f64>,
    /// Variance of the direction from auxiliary chains.
    pub(super) variance: Option<f64>,
}

/// Records of a fit. They are part of its checkpoint.
pub(super) trait Log: Serialize {
    /// Sees every iterate.
    fn iterate(&mut self, _step: u64, _params: &[f64]) -> Result<(), Error> {
        Ok(())
    }

    /// Returns true if no row was recorded.
    fn is_empty(&self) -> bool;

    /// Records a row of a fit that has cost `spent`.
    fn record(&mut self, seen: Seen<'_>, spent: &Spent) -> Result<(), Error>;
}

/// A running fit: its records, costs and checkpoints.
pub(super) struct Trail<'s, L> {
    pub(super) checkpoints: Checkpoints<'s>,
    pub(super) meter: Meter,
    pub(super) log: L,
    /// True once the work of earlier runs was reported.
    pub(super) is_told: bool,
}

/// Contents of a checkpoint: number and state of the present stretch, records, and cost.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved<S, L> {
    pub(super) stretch: usize,
    pub(super) state: S,
    pub(super) log: L,
    pub(super) spent: Spent,
}

/// The end of a stretch.
pub(super) struct Climbed<S> {
    pub(super) fit: State<S, <OptimizerConfig as mcsa_core::Optimizer>::State>,
    /// Reason of its end; `None` if it has no steps.
    pub(super) outcome: Option<Outcome>,
    /// Reason of an early end.
    pub(super) failure: Option<String>,
}

/// Reads the state of a stretch from a checkpoint.
fn read<T: DeserializeOwned>(state: Value, checkpoints: &Checkpoints<'_>) -> Result<T, Error> {
    let read = serde_json::from_value(state).map_err(|error| Error::invalid(error.to_string()));
    read.map_err(|error| checkpoints.named(error))
}

impl<L: Log> Trail<'_, L> {
    /// Cost so far.
    pub(super) fn spent(&self, counts: &dyn Fn() -> Tally) -> Spent {
        self.meter.spent(counts())
    }

    /// Adds a row, whose evaluations and time are not counted.
    pub(super) fn record(&mut self, counts: &dyn Fn() -> Tally, seen: Seen<'_>) -> Result<(), Error> {
        let spent = self.spent(counts);
        let Self { meter, log, .. } = self;
        meter.aside(counts, || log.record(seen, &spent))
    }

    /// Variance of the direction from auxiliary chains, if there are any.
    fn variance<P: ?Sized, F: ?Sized, E: Estimator<P, F>>(
        &mut self,
        counts: &dyn Fn() -> Tally,
        ascent: &Ascent<'_, P, F, E, OptimizerConfig>,
        auxiliary: &mut Option<Auxiliary<E::State>>,
        params: &[f64],
        step: u64,
    ) -> Result<Option<f64>, Error> {
        let variance = |auxiliary: &mut Auxiliary<_>| auxiliary.variance(ascent, params, step);
        self.meter.aside(counts, || auxiliary.as_mut().map(variance).transpose())
    }

    /// Makes the steps of a stretch, from `params` or from the state of a checkpoint. `None` if it was interrupted.
    ///
    /// A checkpoint of another fit is an error; a failure after the first step is a result.
    pub(super) fn climb<P: ?Sized, F: ?Sized, E: Estimator<P, F>>(
        &mut self,
        ascent: &Ascent<'_, P, F, E, OptimizerConfig>,
        stretch: &Stretch<'_>,
        params: Vec<f64>,
        state: Option<Value>,
    ) -> Result<Option<Climbed<E::State>>, Error> {
        let Stretch { number, from, to, after, work, rows, counts, .. } = *stretch;
        let (mut fit, mut auxiliary): (State<_, _>, Option<Auxiliary<_>>) = match state {
            Some(state) => read(state, &self.checkpoints)?,
            None => {
                let start = |(sets, seed, at): &(u64, Seed, Vec<f64>)| {
                    self.meter.aside(counts, || Auxiliary::start(*sets, ascent, *seed, at))
                };
                let auxiliary = stretch.auxiliary.map(start).transpose()?;
                (ascent.start(params)?, auxiliary)
            }
        };
        let checked = self.meter.aside(counts, || ascent.run(&mut fit, 0));
        let checked = checked.map_err(|error| self.checkpoints.named(error))?;
        if !std::mem::replace(&mut self.is_told, true) {
            self.checkpoints.tell(work(from + fit.step()));
        }
        if self.log.is_empty() && rows.first() == Some(&0) {
            let variance = self.variance(counts, ascent, &mut auxiliary, fit.params(), 0)?;
            let seen = Seen { step: 0, params: fit.params(), kernel: Vec::new(), acceptance: None, variance };
            self.record(counts, seen)?;
        }
        let (mut outcome, mut failure) = ((fit.step() > 0).then_some(checked), None);
        while from + fit.step() < to && failure.is_none() {
            let at = from + fit.step();
            // A stretch ends at each row, because measuring may take long.
            let stop = rows.iter().copied().find(|&row| row > at).map_or(to, |row| row.min(to));
            let most = self.checkpoints.stretch(to - at + after).min(stop - at);
            let (mut kernel, mut broken) = (None, None);
            let mut observer = |view: &View<'_, _, _>| {
                let step = from + view.fit.step();
                if let Err(error) = self.log.iterate(step, view.fit.params()) {
                    broken = Some(error);
                    return ControlFlow::Break(Stop::because("an average failed"));
                }
                if step == stop && rows.contains(&stop) {
                    kernel = Some(metrics(view.info));
                }
                ControlFlow::Continue(())
            };
            let result = ascent.run(&mut fit, Run::of(most).observe(&mut observer));
            let step = from + fit.step();
            failure = match result {
                Err(error) => Some(format!("step {}: {error}", step + 1)),
                Ok(ended) => {
                    let told = ended.is_failure().then(|| ended.to_string());
                    outcome = Some(ended);
                    told
                }
            };
            if let Some(kernel) = kernel {
                let (params, acceptance) = (fit.params(), fit.watch().acceptance());
                let variance = self.variance(counts, ascent, &mut auxiliary, params, step);
                let seen = |variance| Seen { step, params, kernel, acceptance, variance };
                broken = variance.and_then(|variance| self.record(counts, seen(variance))).err();
            }
            failure = failure.or_else(|| broken.map(|error| format!("step {step}: {error}")));
            if failure.is_some() {
                self.checkpoints.tell(work(to) - work(at));
                break;
            }
            let Self { checkpoints, meter, log, .. } = self;
            let state = || {
                let state = (&fit, &auxiliary);
                Saved { stretch: number, state, log: &*log, spent: meter.spent(counts()) }
            };
            if !checkpoints.goes_on(step - at, work(step) - work(at), state) {
                return Ok(None);
            }
        }
        Ok(Some(Climbed { fit, outcome, failure }))
    }
}

/// Metrics of a kernel's step.
fn metrics(info: &dyn Record) -> Vec<(&'static str, f64)> {
    let mut metrics = Vec::new();
    info.record(&mut |metric, value| metrics.push((metric.name, value)));
    metrics
}
