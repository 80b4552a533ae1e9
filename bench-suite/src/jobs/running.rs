//! Runs of jobs: stretches of steps, checkpoints, costs, early ends.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use mcsa_core::{Error, Estimator, Record, Seed};
use mcsa_data::Catalogue;
use mcsa_estimators::{Ascent, AscentState as State, Outcome, Run, Stop, View};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fit::Auxiliary;
use super::{JobEnd, Tally, now};
use crate::catalog::OptimizerConfig;
use crate::store::{Ended, Row, Store};
use crate::task::Job;

/// Environment in which a job runs; it does not affect the result.
#[derive(Clone, Copy)]
pub struct Running<'a> {
    /// Store for results.
    pub store: &'a Store,
    /// Source of data sets.
    pub catalogue: &'a Catalogue,
    /// Interval between checkpoints.
    pub checkpoint: Due,
    /// Destination of checkpoints.
    pub place: Place<'a>,
    /// Called with the work done since the last call, in units of [`Task::work`](crate::task::Task::work); returns true if the job
    /// is to continue. Otherwise the job writes a checkpoint and ends.
    pub progress: &'a (dyn Fn(u64) -> bool + Sync),
    /// Called with lambda when a fit ends.
    pub last: &'a (dyn Fn(&[f64]) + Sync),
    /// Called with warnings, which do not end the job.
    pub warn: &'a (dyn Fn(&str) + Sync),
}

/// Destination of the checkpoints of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// The store, next to the result.
    BesideResults,
    /// A separate file.
    File(&'a Path),
    /// None: an interrupted job is lost.
    Nowhere,
}

/// Interval between checkpoints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Due {
    /// A number of steps.
    Steps(u64),
    /// A number of seconds.
    Seconds(f64),
}

impl<'a> Running<'a> {
    /// Environment without interruption, intermediate checkpoints or callbacks.
    pub fn new(store: &'a Store, catalogue: &'a Catalogue) -> Self {
        let checkpoint = Due::Seconds(f64::INFINITY);
        let (place, progress) = (Place::BesideResults, &|_| true);
        Self { store, catalogue, checkpoint, place, progress, last: &|_| (), warn: &|_| () }
    }
}

/// Steps in sequence with one estimator: a warm fit, or a stage of a schedule.
#[derive(Clone, Copy, Default)]
pub(super) struct StageSpan<'s> {
    pub(super) number: usize,
    pub(super) from: u64,
    pub(super) to: u64,
    /// Units of progress before the first step of the fit: those of its warm fit.
    pub(super) before: u64,
    pub(super) rows: &'s [u64],
    /// Auxiliary sets of chains, if there are any: their number, seed, and parameters of `N(0, I)`.
    pub(super) auxiliary: Option<&'s (u64, Seed, Vec<f64>)>,
}

#[derive(Default)]
pub(super) struct Iterate<'v> {
    pub(super) step: u64,
    pub(super) params: &'v [f64],
    /// Metrics of the kernel; none before the first step.
    pub(super) kernel: Vec<(&'static str, f64)>,
    /// Running mean of the acceptance rate.
    pub(super) acceptance: Option<f64>,
    /// Variance of the direction from auxiliary chains.
    pub(super) variance: Option<f64>,
}

/// Measurement of a fit; what it finds is added to the records `R`, which are part of the checkpoint.
pub(super) trait Log<R> {
    fn iterate(&self, _records: &mut R, _step: u64, _params: &[f64]) -> Result<(), Error> {
        Ok(())
    }

    /// Records a row of a fit of this cost.
    fn record(&self, records: &mut R, at: Iterate<'_>, cost: &Ended) -> Result<(), Error>;
}

/// A fit without rows along the way.
impl<R> Log<R> for () {
    fn record(&self, _: &mut R, _: Iterate<'_>, _: &Ended) -> Result<(), Error> {
        Ok(())
    }
}

/// A run of a job: its records, costs and checkpoints.
pub(super) struct JobRun<'s, R> {
    pub(super) checkpoints: Checkpoints<'s>,
    pub(super) meter: Meter<'s>,
    pub(super) records: R,
    /// Number of the stage of the checkpoint, and the state within it.
    pub(super) reached: usize,
    state: Option<Value>,
    /// True once the work of earlier runs was reported.
    is_reported: bool,
}

/// Contents of a checkpoint: number and state of the present stage, records, and cost.
#[derive(Serialize, Deserialize)]
pub(super) struct Checkpoint<S, R> {
    pub(super) stage: usize,
    pub(super) state: S,
    pub(super) log: R,
    pub(super) cost: Ended,
}

pub(super) struct StageEnd<S> {
    pub(super) fit: State<S, <OptimizerConfig as mcsa_core::Optimizer>::State>,
    /// Reason of its end; `None` if it has no steps.
    pub(super) outcome: Option<Outcome>,
    pub(super) failure: Option<String>,
}

impl<'s, R: Serialize + DeserializeOwned> JobRun<'s, R> {
    /// A job from its checkpoint, or with these records from its start.
    pub(super) fn resume(
        job: &'s Job,
        running: &'s Running<'s>,
        start: R,
        counts: &'s dyn Fn() -> Tally,
    ) -> Result<Self, Error> {
        let checkpoints = Checkpoints::new(job, running);
        let (reached, state, records, before) = match checkpoints.last()? {
            Some(Checkpoint { stage, state, log, cost }) => (stage, Some(state), log, cost),
            None => (0, None, start, Ended::default()),
        };
        let meter = Meter::after(before, counts);
        Ok(Self { checkpoints, meter, records, reached, state, is_reported: false })
    }

    /// Reports the work of earlier runs, once.
    fn report(&mut self, units: u64) {
        if !std::mem::replace(&mut self.is_reported, true) {
            (self.checkpoints.running.progress)(self.checkpoints.job.task.work_of(units));
        }
    }

    /// Adds a row, whose evaluations and time are not counted.
    pub(super) fn record(&mut self, log: &dyn Log<R>, at: Iterate<'_>) -> Result<(), Error> {
        let cost = self.meter.cost();
        let Self { meter, records, .. } = self;
        meter.aside(|| log.record(records, at, &cost))
    }

    /// Makes the units that are not made, `from` the first. Returns false if the run was interrupted.
    pub(super) fn make(
        &mut self,
        from: u64,
        mut unit: impl FnMut(&mut Meter<'s>, &mut R, u64) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        self.report(from);
        let Self { checkpoints, meter, records, .. } = self;
        let task = &checkpoints.job.task;
        let (units, of) = (task.units(), |units| task.work_of(units));
        (checkpoints.steps, checkpoints.left) = (1, 0);
        let mut at = from;
        while at < units {
            let next = at + checkpoints.stretch(units - at);
            (at..next).try_for_each(|number| unit(meter, records, number))?;
            let state = || Checkpoint { stage: 0, state: (), log: &*records, cost: meter.cost() };
            if !checkpoints.continues(next - at, of(next) - of(at), state) {
                return Ok(false);
            }
            at = next;
        }
        Ok(true)
    }

    /// Makes the steps of a stage, from `params` or from the state of its checkpoint. `None` if it was interrupted.
    ///
    /// A checkpoint of another fit is an error; a failure after the first step is a result.
    pub(super) fn ascend<P: ?Sized, F: ?Sized, E: Estimator<P, F>>(
        &mut self,
        ascent: &Ascent<'_, P, F, E, OptimizerConfig>,
        stage: StageSpan<'_>,
        log: &dyn Log<R>,
        params: Vec<f64>,
    ) -> Result<Option<StageEnd<E::State>>, Error> {
        let StageSpan { number, from, to, before, rows, auxiliary } = stage;
        let task = &self.checkpoints.job.task;
        let (units, of) = (task.units(), |units| task.work_of(units));
        let variance = |meter: &mut Meter<'_>, auxiliary: &mut Option<Auxiliary<_>>, params: &[f64], step| {
            meter.aside(|| auxiliary.as_mut().map(|sets| sets.variance(ascent, params, step)).transpose())
        };
        let state = if self.reached == number { self.state.take() } else { None };
        let is_resumed = state.is_some();
        let (mut fit, mut auxiliary): (State<_, _>, Option<Auxiliary<_>>) = match state {
            Some(state) => serde_json::from_value(state)
                .map_err(|error| self.checkpoints.named(Error::invalid(error.to_string())))?,
            None => {
                let start = |(sets, seed, at): &(u64, Seed, Vec<f64>)| {
                    self.meter.aside(|| Auxiliary::start(*sets, ascent, *seed, at))
                };
                let auxiliary = auxiliary.map(start).transpose()?;
                (ascent.start(params)?, auxiliary)
            }
        };
        let checked = self.meter.aside(|| ascent.run(&mut fit, 0));
        let checked = checked.map_err(|error| self.checkpoints.named(error))?;
        self.report(before + from + fit.step());
        if !is_resumed && rows.first() == Some(&0) {
            let variance = variance(&mut self.meter, &mut auxiliary, fit.params(), 0)?;
            self.record(log, Iterate { params: fit.params(), variance, ..Iterate::default() })?;
        }
        let (mut outcome, mut failure) = ((fit.step() > 0).then_some(checked), None);
        while from + fit.step() < to && failure.is_none() {
            let at = from + fit.step();
            // A run of the ascent ends at each row, because measuring may take long.
            let stop = rows.iter().copied().find(|&row| row > at).map_or(to, |row| row.min(to));
            let most = self.checkpoints.stretch(units - before - at).min(stop - at);
            let (mut kernel, mut broken) = (None, None);
            let mut observer = |view: &View<'_, _, _>| {
                let step = from + view.fit.step();
                if let Err(error) = log.iterate(&mut self.records, step, view.fit.params()) {
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
                    let reason = ended.is_failure().then(|| ended.to_string());
                    outcome = Some(ended);
                    reason
                }
            };
            if let Some(kernel) = kernel {
                let (params, acceptance) = (fit.params(), fit.statistics().acceptance());
                let variance = variance(&mut self.meter, &mut auxiliary, params, step);
                let at = |variance| Iterate { step, params, kernel, acceptance, variance };
                broken = variance.and_then(|variance| self.record(log, at(variance))).err();
            }
            failure = failure.or_else(|| broken.map(|error| format!("step {step}: {error}")));
            if failure.is_some() {
                (self.checkpoints.running.progress)(of(before + to) - of(before + at));
                break;
            }
            let Self { checkpoints, meter, records, .. } = self;
            let state = || Checkpoint {
                stage: number,
                state: (&fit, &auxiliary),
                log: &*records,
                cost: meter.cost(),
            };
            if !checkpoints.continues(step - at, of(before + step) - of(before + at), state) {
                return Ok(None);
            }
        }
        Ok(Some(StageEnd { fit, outcome, failure }))
    }
}

fn metrics(info: &dyn Record) -> Vec<(&'static str, f64)> {
    let mut metrics = Vec::new();
    info.record(&mut |metric, value| metrics.push((metric.name, value)));
    metrics
}

/// Writes the checkpoints of one job, and reports its progress, by which its run is interrupted.
///
/// ```text
/// while left > 0 { make stretch(left) steps;  if !continues(..) { end without a result } }
/// ```
/// A stretch takes about [`LOOK`] seconds, so that a request to stop is obeyed soon, and a checkpoint is late by at most one
/// step. A checkpoint that cannot be written gives a warning; the job continues.
pub(super) struct Checkpoints<'s> {
    pub(super) job: &'s Job,
    pub(super) running: &'s Running<'s>,
    /// Steps of the next stretch, if checkpoints are due by time.
    steps: u64,
    /// Number of steps left when the last stretch began, and the time of its beginning.
    left: u64,
    begun: Instant,
    /// Steps since the last checkpoint, and the time at which the saved state was reached.
    since: u64,
    saved: Instant,
    unreported: u64,
    is_warned: bool,
}

/// Target duration of a stretch in seconds.
const LOOK: f64 = 0.1;

impl<'s> Checkpoints<'s> {
    /// Must be called before the job begins: the time until the first checkpoint starts here.
    pub(super) fn new(job: &'s Job, running: &'s Running<'s>) -> Self {
        let (begun, saved) = (now(), now());
        Self { job, running, steps: 1, left: 0, begun, since: 0, saved, unreported: 0, is_warned: false }
    }

    /// State in the last checkpoint, if there is one.
    pub(super) fn last<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        match self.running.place {
            Place::BesideResults => self.running.store.checkpoint(self.job),
            Place::File(path) => self.running.store.read_checkpoint(path, self.job),
            Place::Nowhere => Ok(None),
        }
    }

    /// Adds the name of the checkpoint's file to an error about its contents.
    pub(super) fn named(&self, error: Error) -> Error {
        error.within(match self.running.place {
            Place::File(path) => path.display().to_string(),
            _ => format!("{}/{}.checkpoint", self.job.experiment, self.job.id()),
        })
    }

    /// Number of steps, of those left, in the next stretch.
    pub(super) fn stretch(&mut self, left: u64) -> u64 {
        (self.left, self.begun) = (left, now());
        let most = match self.running.checkpoint {
            Due::Steps(steps) => steps.max(1) - self.since,
            Due::Seconds(_) => self.steps,
        };
        most.min(left)
    }

    /// Ends a stretch of `made` steps, which were `work`: saves `state` if a checkpoint is due or the run is to stop. Returns
    /// false if the run is to stop. After the last step nothing is saved, because the result follows.
    #[must_use]
    pub(super) fn continues<T: Serialize>(
        &mut self,
        made: u64,
        work: u64,
        state: impl FnOnce() -> T,
    ) -> bool {
        let took = self.begun.elapsed().as_secs_f64();
        if took < 0.5 * LOOK {
            self.steps = (2 * self.steps).min(1 << 20);
        } else if took > 2.0 * LOOK {
            self.steps = (self.steps / 2).max(1);
        }
        self.since += made;
        self.unreported += work;
        let is_over = made >= self.left;
        let is_due = match self.running.checkpoint {
            Due::Steps(steps) => self.since >= steps.max(1),
            // The next stretch must not end later than the checkpoint is due.
            Due::Seconds(seconds) => self.saved.elapsed().as_secs_f64() + took >= seconds,
        };
        if matches!(self.running.checkpoint, Due::Steps(_)) && !is_due && !is_over {
            return true;
        }
        let continues = (self.running.progress)(std::mem::take(&mut self.unreported));
        if is_over {
            return true;
        }
        if is_due || !continues {
            (self.since, self.saved) = (0, now());
            self.keep(&state());
        }
        continues
    }

    fn keep<T: Serialize>(&mut self, state: &T) {
        let store = self.running.store;
        let kept = match self.running.place {
            Place::BesideResults => store.write_checkpoint(&store.checkpoint_path(self.job), self.job, state),
            Place::File(path) => store.write_checkpoint(path, self.job, state),
            Place::Nowhere => Ok(()),
        };
        if let Err(error) = kept
            && !std::mem::replace(&mut self.is_warned, true)
        {
            let place = format!("{}, {}", self.job.experiment, self.job.task.title());
            (self.running.warn)(&format!(
                "{place}: {error}; the job goes on, and would begin earlier if it were interrupted"
            ));
        }
    }
}

/// Rows of whole fits, whose evaluations are among their metrics: row `k`, from 0, by `row`. `None` if it was interrupted.
pub(super) fn rows_of_fits(
    job: &Job,
    running: &Running<'_>,
    mut row: impl FnMut(u64) -> Result<Row, Error>,
) -> Result<Option<JobEnd>, Error> {
    let tally = RefCell::new(Tally::new());
    let counts = || tally.borrow().clone();
    let mut run = JobRun::resume(job, running, Vec::<Row>::new(), &counts)?;
    let is_over = run.make(run.records.len() as u64, |_, rows, number| {
        let row = row(number)?;
        for (name, value) in row.values.iter().filter(|(name, _)| name.starts_with("p_")) {
            *tally.borrow_mut().entry((*name).to_owned()).or_default() += *value as u64;
        }
        rows.push(row);
        Ok(())
    })?;
    Ok(is_over.then(|| (run.records, run.meter.cost())))
}

/// Meter of the cost of a job in this run, added to that of its earlier runs.
pub(super) struct Meter<'s> {
    before: Ended,
    /// Evaluations of this run.
    counts: &'s dyn Fn() -> Tally,
    since: Instant,
    aside: f64,
    judging: f64,
    uncounted: Tally,
}

impl<'s> Meter<'s> {
    /// Continues from the cost of earlier runs.
    fn after(before: Ended, counts: &'s dyn Fn() -> Tally) -> Self {
        Self { before, counts, since: now(), aside: 0.0, judging: 0.0, uncounted: Tally::new() }
    }

    /// Runs `look`, whose time is spent on metrics.
    pub(super) fn untimed<T>(&mut self, look: impl FnOnce() -> T) -> T {
        let start = now();
        let seen = look();
        self.aside += start.elapsed().as_secs_f64();
        seen
    }

    /// As [`untimed`](Self::untimed), and the evaluations are not counted.
    pub(super) fn aside<T>(&mut self, look: impl FnOnce() -> T) -> T {
        let before = (self.counts)();
        let seen = self.untimed(look);
        for (name, count) in (self.counts)() {
            let made = count - before.get(&name).unwrap_or(&0);
            *self.uncounted.entry(name).or_default() += made;
        }
        seen
    }

    /// As [`aside`](Self::aside), for the health of the fit.
    pub(super) fn judge<T>(&mut self, look: impl FnOnce() -> T) -> T {
        let before = self.aside;
        let seen = self.aside(look);
        self.judging += self.aside - before;
        seen
    }

    /// Total cost so far, as an end of the job without reasons.
    pub(super) fn cost(&self) -> Ended {
        let mut counts = (self.counts)();
        for (name, count) in &mut counts {
            *count -= self.uncounted.get(name).unwrap_or(&0);
        }
        for (name, count) in &self.before.counts {
            *counts.entry(name.clone()).or_default() += count;
        }
        Ended {
            counts,
            seconds: self.before.seconds + self.since.elapsed().as_secs_f64() - self.aside,
            measuring: self.before.measuring + self.aside,
            judging: self.before.judging + self.judging,
            ..Ended::default()
        }
    }
}
