//! Execution of a fit: steps, recorded rows, checkpoints.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use mcsa_core::{Error, Estimator};
use mcsa_estimators::{Ascent, Fit as State, Health, Observer, Run, Stop, View};
use serde::{Deserialize, Serialize};

use super::auxiliary::Auxiliary;
use super::average::Average;
use super::checkpoints::Checkpoints;
use super::fit::Fit;
use super::spent::{Meter, Spent};
use super::{Done, Running, aside, now, totals};
use crate::catalog::{CountedFamily, CountedTarget, Problem, WithEstimator};
use crate::plan::Job;
use crate::store::{Ended, Row};

/// Name of the experiment for a single fit by the verb `fit`: its health is estimated from as many draws as k-hat needs.
pub(crate) const SINGLE: &str = "fit";

/// Draws for the health of each fit of an experiment; its k-hat is reported with an error.
const HEALTH_DRAWS: usize = 1_000;

/// Everything that a fit needs except its estimator.
#[derive(Clone, Copy)]
pub(super) struct Scene<'s, 'a> {
    pub(super) fit: &'s Fit,
    pub(super) job: &'s Job,
    pub(super) running: &'s Running<'s>,
    pub(super) problem: &'s Problem,
    pub(super) target: &'s CountedTarget<'a>,
    pub(super) family: &'s CountedFamily<'a>,
}

/// Records of a fit; together with the state of the ascent they form the checkpoint.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Log<S: Serialize + for<'d> Deserialize<'d>> {
    rows: Vec<Row>,
    auxiliary: Option<Auxiliary<S>>,
    average: Average,
}

/// Collector of rows. Its measurements are counted neither as evaluations nor as time.
struct Recorder<'s, 'a, E: Estimator<CountedTarget<'a>, CountedFamily<'a>>> {
    scene: Scene<'s, 'a>,
    estimator: &'s E,
    log: Log<E::State>,
    steps: Vec<u64>,
    meter: Meter,
    failed: Option<Error>,
}

impl<'a, E: Estimator<CountedTarget<'a>, CountedFamily<'a>>> Recorder<'_, 'a, E> {
    fn spent(&self) -> Spent {
        self.meter.spent(totals(self.scene.target.counts(), self.scene.family.counts()))
    }

    /// Number of steps from `made` to the next row. A stretch ends at each row, because measuring may take long.
    fn until_row(&self, made: u64) -> u64 {
        self.steps.iter().find(|&&step| step > made).map_or(u64::MAX, |step| step - made)
    }

    fn record(
        &mut self,
        step: u64,
        params: &[f64],
        info: Option<&dyn mcsa_core::Record>,
    ) -> Result<(), Error> {
        let spent = self.spent();
        let start = now();
        let Scene { fit, job, problem, target, family, .. } = self.scene;
        let stream = aside(job.seed, "measure").stream(0, step);
        let mut values = BTreeMap::new();
        let is_averaged = fit.averaged > 0 && step == fit.steps;
        let averaged = is_averaged.then(|| self.log.average.params(*family.inner())).transpose()?;
        if averaged.is_some() {
            self.log.average.record(&mut values);
        }
        let params = averaged.as_deref().unwrap_or(params);
        let mut measures = problem.judge.measure(*family.inner(), params, stream)?;
        if step == fit.steps {
            measures.extend(problem.judge.measure_last(*family.inner(), params)?);
        }
        values.extend(measures.into_iter().map(|(name, value)| (name.to_owned(), value)));
        if let Some(auxiliary) = &mut self.log.auxiliary {
            let variance =
                auxiliary.variance(self.estimator, *target.inner(), *family.inner(), params, step)?;
            values.insert("variance".to_owned(), variance);
        }
        if let Some(info) = info {
            info.record(&mut |metric, value| {
                values.insert(metric.name.to_owned(), value);
            });
        }
        for name in ["p_evaluations", "p_gradients"] {
            values.insert(name.to_owned(), spent.counts.get(name).copied().unwrap_or(0) as f64);
        }
        values.insert("seconds".to_owned(), spent.seconds);
        self.log.rows.push(Row { step, values });
        self.meter.set_aside(start);
        Ok(())
    }
}

impl<'a, E: Estimator<CountedTarget<'a>, CountedFamily<'a>>, S, O> Observer<S, O> for Recorder<'_, 'a, E> {
    fn observe(&mut self, view: &View<'_, S, O>) -> ControlFlow<Stop> {
        let Scene { fit, family, .. } = self.scene;
        if view.fit.step() + fit.averaged > fit.steps
            && let Err(error) = self.log.average.add(*family.inner(), view.fit.params())
        {
            self.failed = Some(error);
            return ControlFlow::Break(Stop::because("an average failed"));
        }
        if self.steps.binary_search(&view.fit.step()).is_ok()
            && let Err(error) = self.record(view.fit.step(), view.fit.params(), Some(view.info))
        {
            self.failed = Some(error);
            return ControlFlow::Break(Stop::because("a measure failed"));
        }
        ControlFlow::Continue(())
    }
}

/// A fit from given initial parameters, as a visitor of its estimator.
pub(super) struct Climb<'s, 'a> {
    pub(super) scene: Scene<'s, 'a>,
    pub(super) checkpoints: Checkpoints<'s>,
    pub(super) initial: Vec<f64>,
}

impl<'a> WithEstimator<'a> for Climb<'_, 'a> {
    type Out = Option<Done>;

    fn with<E: Estimator<CountedTarget<'a>, CountedFamily<'a>>>(
        self,
        estimator: E,
    ) -> Result<Self::Out, Error> {
        let Self { scene, mut checkpoints, initial } = self;
        let Scene { fit: plan, job, running, target, family, .. } = scene;
        let optimizer = plan.optimizer.clone();
        let ascent = Ascent { target, family, estimator, optimizer, seed: aside(job.seed, "fit") };
        let kept: Option<(State<_, _>, Log<_>, Spent)> = checkpoints.last()?;
        let is_new = kept.is_none();
        let (mut fit, log, spent) = match kept {
            Some(kept) => kept,
            None => {
                let (seed, estimator) = (aside(job.seed, "auxiliary"), &ascent.estimator);
                let start =
                    || Auxiliary::start(plan.auxiliary, estimator, *target.inner(), *family.inner(), seed);
                let auxiliary = (plan.auxiliary > 0).then(start).transpose()?;
                let average = Average::new(family.inner().dim());
                (ascent.start(initial)?, Log { rows: Vec::new(), auxiliary, average }, Spent::default())
            }
        };
        // A checkpoint of another fit is an error; a failure after the first step is a result.
        target.uncounted(|| ascent.run(&mut fit, 0)).map_err(|error| checkpoints.named(error))?;
        let steps = plan.trace.steps(plan.steps);
        let (meter, estimator) = (Meter::after(spent), &ascent.estimator);
        let mut recorder = Recorder { scene, estimator, log, steps, meter, failed: None };
        if is_new {
            recorder.record(0, fit.params(), None)?;
        }
        let effort = plan.method.effort();
        checkpoints.tell(fit.step() * effort);
        let (mut outcome, mut failure) = (None, None);
        while fit.step() < plan.steps {
            let before = fit.step();
            let most = checkpoints.stretch(plan.steps - before).min(recorder.until_row(before));
            let result = ascent.run(&mut fit, Run::of(most).observe(&mut recorder));
            failure = match result {
                Err(error) => Some(format!("step {}: {error}", fit.step() + 1)),
                Ok(ended) => {
                    let said = ended.is_failure().then(|| ended.to_string());
                    outcome = Some(ended);
                    said.or_else(|| {
                        let error = recorder.failed.take()?;
                        Some(format!("step {}: {error}", fit.step()))
                    })
                }
            };
            if failure.is_some() {
                checkpoints.tell((plan.steps - before) * effort);
                break;
            }
            let made = fit.step() - before;
            if !checkpoints.goes_on(made, made * effort, || (&fit, &recorder.log, recorder.spent())) {
                return Ok(None);
            }
        }
        (running.last)(fit.params());
        let Spent { counts, seconds, measuring } = recorder.spent();
        let health = match job.experiment.as_str() {
            SINGLE => ascent.health(&fit),
            _ => ascent.health_from(&fit, HEALTH_DRAWS),
        };
        let health = health.ok().map(|health| match fit.step() {
            // Before the first step the chains are draws from q, which give no upper bound.
            0 => Health { evidence_upper: f64::NAN, ..health },
            _ => health,
        });
        Ok(Some((recorder.log.rows, Ended { failure, outcome, health, counts, seconds, measuring })))
    }
}
