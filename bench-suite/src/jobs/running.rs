//! Runs of jobs: stretches of steps, checkpoints, costs, early ends.

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
use super::{Done, Tally, now};
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
    /// Called with the work done since the last call, in units of [`Task::work`](super::Task::work); returns true if the job
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

/// Measurement of a fit; what it finds is added to the records `R`, which are part of the checkpoint.
pub(super) trait Log<R> {
    /// Sees every iterate.
    fn iterate(&self, _records: &mut R, _step: u64, _params: &[f64]) -> Result<(), Error> {
        Ok(())
    }

    /// Returns true if no row was recorded.
    fn is_empty(&self, _records: &R) -> bool {
        true
    }

    /// Records a row of a fit that has cost `spent`.
    fn record(&self, records: &mut R, seen: Seen<'_>, spent: &Spent) -> Result<(), Error>;
}

/// A fit without rows along the way.
impl<R> Log<R> for () {
    fn record(&self, _: &mut R, _: Seen<'_>, _: &Spent) -> Result<(), Error> {
        Ok(())
    }
}

/// A running fit: its records, costs and checkpoints.
pub(super) struct Trail<'s, R> {
    pub(super) checkpoints: Checkpoints<'s>,
    pub(super) meter: Meter,
    pub(super) records: R,
    /// Number of the stretch of the checkpoint, and the state within it.
    pub(super) reached: usize,
    state: Option<Value>,
    /// True once the work of earlier runs was reported.
    is_told: bool,
}

/// Contents of a checkpoint: number and state of the present stretch, records, and cost.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved<S, R> {
    pub(super) stretch: usize,
    pub(super) state: S,
    pub(super) log: R,
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

impl<'s, R: Serialize + DeserializeOwned> Trail<'s, R> {
    /// A fit from its checkpoint, or with these records from its start.
    pub(super) fn resume(job: &'s Job, running: &'s Running<'s>, start: R) -> Result<Self, Error> {
        let checkpoints = Checkpoints::new(job, running);
        let (reached, state, records, before) = match checkpoints.last()? {
            Some(Saved { stretch, state, log, spent }) => (stretch, Some(state), log, spent),
            None => (0, None, start, Spent::default()),
        };
        Ok(Self { checkpoints, meter: Meter::after(before), records, reached, state, is_told: false })
    }

    /// Cost so far.
    pub(super) fn spent(&self, counts: &dyn Fn() -> Tally) -> Spent {
        self.meter.spent(counts())
    }

    /// Adds a row, whose evaluations and time are not counted.
    pub(super) fn record(
        &mut self,
        log: &dyn Log<R>,
        counts: &dyn Fn() -> Tally,
        seen: Seen<'_>,
    ) -> Result<(), Error> {
        let spent = self.spent(counts);
        let Self { meter, records, .. } = self;
        meter.aside(counts, || log.record(records, seen, &spent))
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

    /// Makes the steps of a stretch, from `params` or from the state of its checkpoint. `None` if it was interrupted.
    ///
    /// A checkpoint of another fit is an error; a failure after the first step is a result.
    pub(super) fn climb<P: ?Sized, F: ?Sized, E: Estimator<P, F>>(
        &mut self,
        ascent: &Ascent<'_, P, F, E, OptimizerConfig>,
        stretch: &Stretch<'_>,
        log: &dyn Log<R>,
        params: Vec<f64>,
    ) -> Result<Option<Climbed<E::State>>, Error> {
        let Stretch { number, from, to, after, work, rows, counts, .. } = *stretch;
        let state = if self.reached == number { self.state.take() } else { None };
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
        if log.is_empty(&self.records) && rows.first() == Some(&0) {
            let variance = self.variance(counts, ascent, &mut auxiliary, fit.params(), 0)?;
            self.record(log, counts, Seen { params: fit.params(), variance, ..Seen::default() })?;
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
                    let told = ended.is_failure().then(|| ended.to_string());
                    outcome = Some(ended);
                    told
                }
            };
            if let Some(kernel) = kernel {
                let (params, acceptance) = (fit.params(), fit.statistics().acceptance());
                let variance = self.variance(counts, ascent, &mut auxiliary, params, step);
                let seen = |variance| Seen { step, params, kernel, acceptance, variance };
                broken = variance.and_then(|variance| self.record(log, counts, seen(variance))).err();
            }
            failure = failure.or_else(|| broken.map(|error| format!("step {step}: {error}")));
            if failure.is_some() {
                self.checkpoints.tell(work(to) - work(at));
                break;
            }
            let Self { checkpoints, meter, records, .. } = self;
            let state = || {
                let state = (&fit, &auxiliary);
                Saved { stretch: number, state, log: &*records, spent: meter.spent(counts()) }
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

/// Writes the checkpoints of one job and asks whether its run is to continue.
///
/// A job makes its steps in stretches and calls `goes_on` after each:
///
/// ```text
/// while left > 0 { make stretch(left) steps;  if !goes_on(..) { end without a result } }
/// ```
/// A stretch takes about [`LOOK`] seconds, so that a request to stop is obeyed soon, and a checkpoint is late by at most one
/// step. A checkpoint that cannot be written gives a warning; the job continues.
pub(super) struct Checkpoints<'s> {
    job: &'s Job,
    running: &'s Running<'s>,
    /// Steps of the next stretch, if checkpoints are due by time.
    stretch: u64,
    /// Number of steps left when the last stretch began, and the time of its beginning.
    left: u64,
    begun: Instant,
    /// Steps since the last checkpoint, and the time at which the saved state was reached.
    since: u64,
    saved: Instant,
    /// Work that was not yet reported.
    untold: u64,
    is_warned: bool,
}

/// Target duration of a stretch in seconds.
const LOOK: f64 = 0.1;

impl<'s> Checkpoints<'s> {
    /// Must be called before the job begins: the time until the first checkpoint starts here.
    pub(super) fn new(job: &'s Job, running: &'s Running<'s>) -> Self {
        let (begun, saved) = (now(), now());
        Self { job, running, stretch: 1, left: 0, begun, since: 0, saved, untold: 0, is_warned: false }
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

    /// Reports work that earlier runs have done.
    pub(super) fn tell(&self, work: u64) {
        (self.running.progress)(work);
    }

    /// Number of steps, of those left, in the next stretch.
    pub(super) fn stretch(&mut self, left: u64) -> u64 {
        (self.left, self.begun) = (left, now());
        let most = match self.running.checkpoint {
            Due::Steps(steps) => steps.max(1) - self.since,
            Due::Seconds(_) => self.stretch,
        };
        most.min(left)
    }

    /// Ends a stretch of `made` steps, which were `work`: saves `state` if a checkpoint is due or the run is to stop. Returns
    /// false if the run is to stop. After the last step nothing is saved, because the result follows.
    #[must_use]
    pub(super) fn goes_on<T: Serialize>(&mut self, made: u64, work: u64, state: impl FnOnce() -> T) -> bool {
        let took = self.begun.elapsed().as_secs_f64();
        if took < 0.5 * LOOK {
            self.stretch = (2 * self.stretch).min(1 << 20);
        } else if took > 2.0 * LOOK {
            self.stretch = (self.stretch / 2).max(1);
        }
        self.since += made;
        self.untold += work;
        let is_over = made >= self.left;
        let is_due = match self.running.checkpoint {
            Due::Steps(steps) => self.since >= steps.max(1),
            // The next stretch must not end later than the checkpoint is due.
            Due::Seconds(seconds) => self.saved.elapsed().as_secs_f64() + took >= seconds,
        };
        if matches!(self.running.checkpoint, Due::Steps(_)) && !is_due && !is_over {
            return true;
        }
        let goes_on = (self.running.progress)(std::mem::take(&mut self.untold));
        if is_over {
            return true;
        }
        if is_due || !goes_on {
            (self.since, self.saved) = (0, now());
            self.keep(&state());
        }
        goes_on
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

/// A job of equal units of progress, such as transitions, chains or whole fits, made one after another.
pub(super) struct Units<'s, T> {
    pub(super) checkpoints: Checkpoints<'s>,
    pub(super) meter: Meter,
    /// What the units have given so far.
    pub(super) made: T,
}

impl<'s, T: Serialize + DeserializeOwned> Units<'s, T> {
    /// A job from its checkpoint, or from its start.
    pub(super) fn resume(job: &'s Job, running: &'s Running<'s>, start: T) -> Result<Self, Error> {
        let checkpoints = Checkpoints::new(job, running);
        let (made, before) = checkpoints.last()?.unwrap_or_else(|| (start, Spent::default()));
        Ok(Self { checkpoints, meter: Meter::after(before), made })
    }

    /// Makes the units from number `from` to before `to`, where `work` is that of the first units and `counts` the evaluations of this
    /// run. Returns false if it was interrupted.
    pub(super) fn make(
        &mut self,
        (from, to): (u64, u64),
        work: &dyn Fn(u64) -> u64,
        counts: &dyn Fn(&T) -> Tally,
        mut unit: impl FnMut(&mut T, u64) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let Self { checkpoints, meter, made } = self;
        checkpoints.tell(work(from));
        let mut at = from;
        while at < to {
            let next = at + checkpoints.stretch(to - at);
            (at..next).try_for_each(|number| unit(made, number))?;
            let state = || (&*made, meter.spent(counts(made)));
            if !checkpoints.goes_on(next - at, work(next) - work(at), state) {
                return Ok(false);
            }
            at = next;
        }
        Ok(true)
    }
}

/// Rows of whole fits, whose evaluations are among their metrics: row `k` of `count`, from 0, by `row`. `None` if it was interrupted.
pub(super) fn rows_of_fits(
    job: &Job,
    running: &Running<'_>,
    count: u64,
    work: &dyn Fn(u64) -> u64,
    mut row: impl FnMut(u64) -> Result<Row, Error>,
) -> Result<Option<Done>, Error> {
    let mut units = Units::resume(job, running, Vec::<Row>::new())?;
    let from = units.made.len();
    let counts = |rows: &Vec<Row>| {
        let mut counts = Tally::new();
        let values = rows[from..].iter().flat_map(|row| &row.values);
        for (name, value) in values.filter(|(name, _)| name.starts_with("p_")) {
            *counts.entry((*name).to_owned()).or_default() += *value as u64;
        }
        counts
    };
    let next = |rows: &mut Vec<Row>, number| row(number).map(|row| rows.push(row));
    let is_over = units.make((from as u64, count), work, &counts, next)?;
    let ended = units.meter.spent(counts(&units.made)).ended();
    Ok(is_over.then_some((units.made, ended)))
}

/// Cost of a job so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Spent {
    /// Evaluations by name, without those for metrics.
    pub(super) counts: Tally,
    /// Seconds without those for metrics.
    pub(super) seconds: f64,
    /// Seconds for metrics.
    pub(super) measuring: f64,
    /// Part of them for the health of the fit.
    pub(super) judging: f64,
}

impl Spent {
    /// The end of a job of this cost.
    pub(super) fn ended(self) -> Ended {
        let Self { counts, seconds, measuring, judging } = self;
        Ended { counts, seconds, measuring, judging, ..Ended::default() }
    }
}

/// Meter of the cost of a job in this run, added to that of its earlier runs.
pub(super) struct Meter {
    before: Spent,
    since: Instant,
    aside: f64,
    judging: f64,
    uncounted: Tally,
}

impl Meter {
    /// Continues from the cost of earlier runs.
    pub(super) fn after(before: Spent) -> Self {
        Self { before, since: now(), aside: 0.0, judging: 0.0, uncounted: Tally::new() }
    }

    /// Runs `look`, whose time is spent on metrics, and whose evaluations are not counted: `counts` are those of this run.
    pub(super) fn aside<T>(&mut self, counts: &dyn Fn() -> Tally, look: impl FnOnce() -> T) -> T {
        let (start, before) = (now(), counts());
        let seen = look();
        for (name, count) in counts() {
            let made = count - before.get(&name).unwrap_or(&0);
            *self.uncounted.entry(name).or_default() += made;
        }
        self.aside += start.elapsed().as_secs_f64();
        seen
    }

    /// As [`aside`](Self::aside), for the health of the fit.
    pub(super) fn judge<T>(&mut self, counts: &dyn Fn() -> Tally, look: impl FnOnce() -> T) -> T {
        let before = self.aside;
        let seen = self.aside(counts, look);
        self.judging += self.aside - before;
        seen
    }

    /// Total cost, where `counts` are the evaluations of this run.
    pub(super) fn spent(&self, mut counts: Tally) -> Spent {
        for (name, count) in &mut counts {
            *count -= self.uncounted.get(name).unwrap_or(&0);
        }
        for (name, count) in &self.before.counts {
            *counts.entry(name.clone()).or_default() += count;
        }
        Spent {
            counts,
            seconds: self.before.seconds + self.since.elapsed().as_secs_f64() - self.aside,
            measuring: self.before.measuring + self.aside,
            judging: self.before.judging + self.judging,
        }
    }
}
