//! Fits to a bound in one part or two, with a row of measurements at the end.

use mcsa_core::{Error, Estimator};
use mcsa_estimators::Ascent;
use mcsa_optim::{Adam, Schedule};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::ascend::{Climbed, Log, Saved, Seen, Stretch, Trail};
use super::checkpoints::Checkpoints;
use super::spent::{Meter, Spent};
use super::{Done, Running, Tally};
use crate::catalog::OptimizerConfig;
use crate::store::{Ended, Row};
use crate::task::{Fit, Job};

/// Metrics of the parameters at the end of a fit.
pub(super) type Measure<'m> = dyn Fn(&[f64]) -> Result<Vec<(&'static str, f64)>, Error> + 'm;

/// Records of a fit: the row at its end, and the parameters at the end of its first part.
#[derive(Default, Serialize, Deserialize)]
struct Records {
    rows: Vec<Row>,
    #[serde(default, with = "mcsa_core::bits::vector")]
    first: Vec<f64>,
}

struct Recorder<'m> {
    records: Records,
    measure: Option<&'m Measure<'m>>,
}

impl Serialize for Recorder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.records.serialize(serializer)
    }
}

impl Log for Recorder<'_> {
    fn is_empty(&self) -> bool {
        self.records.rows.is_empty()
    }

    fn record(&mut self, seen: Seen<'_>, spent: &Spent) -> Result<(), Error> {
        let Some(measure) = self.measure else { return Ok(()) };
        let mut values = measure(seen.params)?;
        if !spent.counts.is_empty() {
            values.push(("terms", spent.counts.values().sum::<u64>() as f64));
        }
        values.push(("seconds", spent.seconds));
        self.records.rows.push(Row::new(seen.step, values));
        Ok(())
    }
}

/// A running fit to a bound.
pub(super) struct Bounded<'s> {
    fit: &'s Fit,
    job: &'s Job,
    running: &'s Running<'s>,
    trail: Trail<'s, Recorder<'s>>,
    state: Option<Value>,
    reached: usize,
    /// Steps of the first part.
    from: u64,
    counts: &'s dyn Fn() -> Tally,
}

impl<'s> Bounded<'s> {
    /// The fit of a job from its start, or from its checkpoint.
    pub(super) fn new(fit: &'s Fit, job: &'s Job, running: &'s Running<'s>) -> Result<Self, Error> {
        let checkpoints = Checkpoints::new(job, running);
        let saved: Option<Saved<Value, Records>> = checkpoints.last()?;
        let (reached, state, records, before) = match saved {
            Some(Saved { stretch, state, log, spent }) => (stretch, Some(state), log, spent),
            None => (0, None, Records::default(), Spent::default()),
        };
        let log = Recorder { records, measure: None };
        let trail = Trail { checkpoints, meter: Meter::after(before), log, is_told: false };
        Ok(Self { fit, job, running, trail, state, reached, from: 0, counts: &Tally::new })
    }

    /// Counts evaluations; their sum is the metric `terms` of the row at the end.
    pub(super) fn counting(self, counts: &'s dyn Fn() -> Tally) -> Self {
        Self { counts, ..self }
    }

    /// Parameters at the end of a first part of as many steps; those at its start if there are none. `None` if it was interrupted.
    ///
    /// ```text
    /// Adam, rate 0.01, dropped to a tenth after a half and again after five sixths of the part
    /// ```
    ///
    /// # Errors
    /// If the part is refused, or diverges.
    pub(super) fn first<P: ?Sized, F: ?Sized, E: Estimator<P, F>>(
        &mut self,
        (target, family, estimator): (&P, &F, E),
        steps: u64,
        start: Vec<f64>,
    ) -> Result<Option<Vec<f64>>, Error> {
        self.from = steps;
        if steps == 0 {
            return Ok(Some(start));
        }
        if self.reached > 0 {
            return Ok(Some(self.trail.log.records.first.clone()));
        }
        let rate = Schedule::drops(0.01, 0.1, vec![steps / 2, steps - steps / 6])?;
        let (optimizer, seed) = (OptimizerConfig::Adam(Adam::new(rate)?), self.job.seed.named("first"));
        let ascent = Ascent { target, family, estimator, optimizer, seed };
        let Some(Climbed { fit, failure, .. }) = self.climb(&ascent, 0, start)? else { return Ok(None) };
        if let Some(failure) = failure {
            return Err(Error::invalid(format!("first part: {failure}")));
        }
        self.trail.log.records.first = fit.params().to_vec();
        Ok(Some(fit.params().to_vec()))
    }

    /// Makes the remaining steps from these parameters, and measures their end. `None` if it was interrupted.
    ///
    /// # Errors
    /// If it is refused at its start; a fit that diverges is a result.
    pub(super) fn finish<P: ?Sized, F: ?Sized, E: Estimator<P, F>>(
        mut self,
        (target, family, estimator): (&P, &F, E),
        params: Vec<f64>,
        measure: &'s Measure<'s>,
    ) -> Result<Option<Done>, Error> {
        self.trail.log.measure = Some(measure);
        let (optimizer, seed) = (self.fit.optimizer.clone(), self.job.seed.named("fit"));
        let ascent = Ascent { target, family, estimator, optimizer, seed };
        let found = self.climb(&ascent, 1, params)?;
        let Some(Climbed { fit, outcome, failure }) = found else { return Ok(None) };
        (self.running.last)(fit.params());
        let ended = Ended { failure, outcome, ..self.trail.spent(self.counts).ended() };
        Ok(Some((self.trail.log.records.rows, ended)))
    }

    fn climb<P: ?Sized, F: ?Sized, E: Estimator<P, F>>(
        &mut self,
        ascent: &Ascent<'_, P, F, E, OptimizerConfig>,
        number: usize,
        params: Vec<f64>,
    ) -> Result<Option<Climbed<E::State>>, Error> {
        let state = if self.reached == number { self.state.take() } else { None };
        let (fit, last) = (self.fit, [self.fit.steps]);
        let (from, to) = if number == 0 { (0, self.from) } else { (self.from, fit.steps) };
        let (rows, after) = (&last[..number], fit.steps - to);
        let work = |steps| fit.work_of(steps, 0);
        let auxiliary = None;
        let stretch = Stretch { number, from, to, after, work: &work, rows, auxiliary, counts: self.counts };
        self.trail.climb(ascent, &stretch, params, state)
    }
}
