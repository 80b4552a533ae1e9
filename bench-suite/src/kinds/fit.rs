//! Fits, followed.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use mcsa::{Counted, Error, Estimator};
use mcsa_estimators::{Ascent, Fit as State, Observer, Stop, View};
use serde::{Deserialize, Serialize};

use super::auxiliary::Auxiliary;
use super::average::Average;
use super::propagation::propagate;
use super::{Done, Due, Running, Trace, aside, now, totals};
use crate::catalog::{
    Approximation, Beginning, CountedFamily, CountedTarget, Method, Problem, Rule, Target, WithEstimator,
};
use crate::experiment::Preset;
use crate::grid::{Entry, Placed, check_on, expand};
use crate::plan::Job;
use crate::store::{Ended, Row};

/// The section `[fits]`: every target by every method with every optimiser.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fits {
    /// What fits.
    pub family: Approximation,
    /// Where fits begin.
    pub start: Beginning,
    /// Where those by some kinds of methods begin instead.
    #[serde(default)]
    pub start_of: BTreeMap<String, Beginning>,
    /// Where they begin as well, each in turn.
    #[serde(default)]
    pub also_from: Vec<Beginning>,
    /// Which steps are recorded.
    pub trace: Trace,
    /// So many last iterates are averaged, and measured in place of the last one; none if absent.
    #[serde(default)]
    pub averaged: u64,
    /// What is fitted.
    #[serde(rename = "target", default)]
    targets: Vec<Entry>,
    /// What is compared.
    #[serde(rename = "method", default)]
    methods: Vec<Entry>,
    /// What moves lambda.
    #[serde(rename = "optimizer", default)]
    optimizers: Vec<Entry>,
}

/// One fit: everything that determines its path but the seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// What is fitted.
    pub target: Target,
    /// What fits.
    pub family: Approximation,
    /// Where the fit begins.
    pub start: Beginning,
    /// What estimates the direction.
    pub method: Method,
    /// What moves lambda.
    pub optimizer: Rule,
    /// How many steps.
    pub steps: u64,
    /// Which of them are recorded.
    pub trace: Trace,
    /// From how many sets of chains beside it the variance of its direction is measured.
    #[serde(default, skip_serializing_if = "is_none")]
    pub auxiliary: u64,
    /// So many last iterates are averaged, and measured in place of the last one.
    #[serde(default, skip_serializing_if = "is_none")]
    pub averaged: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Targets, methods and optimisers of a grid.
type Axes = (Vec<Placed<Target>>, Vec<Placed<Method>>, Vec<Placed<Rule>>);

impl Fits {
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.expanded().map(drop)
    }

    fn expanded(&self) -> Result<Axes, Error> {
        let targets = expand::<Target>("fits.target", &self.targets)?;
        let (methods, rules) =
            (expand("fits.method", &self.methods)?, expand("fits.optimizer", &self.optimizers)?);
        let labels: Vec<&str> = targets.iter().map(|target| target.value.label()).collect();
        check_on::<Method>("fits.target", &labels, &methods)?;
        check_on::<Rule>("fits.target", &labels, &rules)?;
        let is_compared = |kind: &&String| methods.iter().any(|method| method.value.kind() == *kind);
        match self.start_of.keys().find(|kind| !is_compared(kind)) {
            Some(kind) => {
                Err(Error::invalid(format!("fits.start-of.{kind}: no [[fits.method]] is of this kind")))
            }
            None => Ok((targets, methods, rules)),
        }
    }

    /// Where fits by a method begin first of all.
    pub fn start_of(&self, method: &Method) -> Beginning {
        self.start_of.get(method.kind()).copied().unwrap_or(self.start)
    }

    pub(crate) fn tasks(&self, preset: &Preset) -> Result<Vec<Fit>, Error> {
        let (targets, methods, optimizers) = self.expanded()?;
        let mut tasks = Vec::new();
        for Placed { value: target, .. } in &targets {
            let label = target.label();
            let stride = preset.stride.unwrap_or(1).max(1);
            for optimizer in optimizers.iter().step_by(stride).filter(|optimizer| optimizer.is_on(label)) {
                let is_here = |m: &&Placed<Method>| m.is_on(label) && preset.admits(label, &m.value);
                let others = self.also_from.iter().chain(&preset.also_from).copied();
                for other in std::iter::once(None).chain(others.map(Some)) {
                    let fit = |method: &Placed<Method>| Fit {
                        target: target.clone(),
                        family: self.family.clone(),
                        start: other.unwrap_or_else(|| self.start_of(&method.value)),
                        method: method.value.clone(),
                        optimizer: optimizer.value.clone(),
                        steps: preset.steps,
                        trace: self.trace,
                        auxiliary: preset.auxiliary,
                        averaged: self.averaged,
                    };
                    for fit in methods.iter().filter(is_here).map(fit) {
                        // A method that begins there anyhow has one fit.
                        if !tasks.contains(&fit) {
                            tasks.push(fit);
                        }
                    }
                }
            }
        }
        Ok(tasks)
    }
}

impl Fit {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<Done>, Error> {
        if let Method::Ep { sweeps } = self.method {
            let done = propagate(&self.target, sweeps, job, running.catalogue)?;
            (running.progress)(self.steps * self.method.effort());
            return Ok(Some(done));
        }
        let problem = self.target.build(running.catalogue, job.seed)?;
        let target = Counted::new(&*problem.posterior);
        let built = self.family.build(problem.posterior.dim());
        let family = Counted::new(&*built);
        let initial = self.start.draw(*family.inner(), &mut aside(job.seed, "start").stream(0, 0))?;
        let scene = Scene { fit: self, job, running, problem: &problem, target: &target, family: &family };
        self.method.meet(Climb { scene, initial })
    }
}

/// All that a fit is made of but its estimator.
#[derive(Clone, Copy)]
struct Scene<'s, 'a> {
    fit: &'s Fit,
    job: &'s Job,
    running: &'s Running<'s>,
    problem: &'s Problem,
    target: &'s CountedTarget<'a>,
    family: &'s CountedFamily<'a>,
}

impl Scene<'_, '_> {
    fn counts(&self) -> BTreeMap<String, u64> {
        totals(self.target.counts(), self.family.counts())
    }
}

/// A fit on its way, what it has recorded, and what it has cost.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Checkpoint<S: Serialize + for<'d> Deserialize<'d>, O: Serialize + for<'d> Deserialize<'d>> {
    fit: State<S, O>,
    rows: Vec<Row>,
    spent: Spent,
    auxiliary: Option<Auxiliary<S>>,
    average: Average,
}

/// Evaluations and seconds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Spent {
    counts: BTreeMap<String, u64>,
    seconds: f64,
    measuring: f64,
}

/// Collects rows. What it measures is not counted, neither as evaluations nor as time.
struct Recorder<'s, 'a, E: Estimator<CountedTarget<'a>, CountedFamily<'a>>> {
    scene: Scene<'s, 'a>,
    estimator: &'s E,
    auxiliary: Option<Auxiliary<E::State>>,
    average: Average,
    steps: Vec<u64>,
    rows: Vec<Row>,
    before: Spent,
    since: Instant,
    aside: f64,
    failed: Option<Error>,
}

impl<'a, E: Estimator<CountedTarget<'a>, CountedFamily<'a>>> Recorder<'_, 'a, E> {
    fn spent(&self) -> Spent {
        let mut counts = self.scene.counts();
        for (name, count) in &self.before.counts {
            *counts.entry(name.clone()).or_default() += count;
        }
        let seconds = self.before.seconds + self.since.elapsed().as_secs_f64() - self.aside;
        Spent { counts, seconds, measuring: self.before.measuring + self.aside }
    }

    fn record(&mut self, step: u64, params: &[f64], info: Option<&dyn mcsa::Record>) -> Result<(), Error> {
        let spent = self.spent();
        let start = now();
        let Scene { fit, job, problem, target, family, .. } = self.scene;
        let stream = aside(job.seed, "measure").stream(0, step);
        let mut values = BTreeMap::new();
        let is_averaged = fit.averaged > 0 && step == fit.steps;
        let averaged = is_averaged.then(|| self.average.params(*family.inner())).transpose()?;
        if averaged.is_some() {
            self.average.record(&mut values);
        }
        let params = averaged.as_deref().unwrap_or(params);
        let mut measures = problem.judge.measure(*family.inner(), params, stream)?;
        if step == fit.steps {
            measures.extend(problem.judge.measure_last(*family.inner(), params)?);
        }
        values.extend(measures.into_iter().map(|(name, value)| (name.to_owned(), value)));
        if let Some(auxiliary) = &mut self.auxiliary {
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
        self.rows.push(Row { step, values });
        self.aside += start.elapsed().as_secs_f64();
        Ok(())
    }
}

impl<'a, E: Estimator<CountedTarget<'a>, CountedFamily<'a>>> Observer for Recorder<'_, 'a, E> {
    fn observe(&mut self, view: &View<'_>) -> ControlFlow<Stop> {
        let Scene { fit, family, .. } = self.scene;
        if view.step + fit.averaged > fit.steps
            && let Err(error) = self.average.add(*family.inner(), view.params)
        {
            self.failed = Some(error);
            return ControlFlow::Break(Stop::because("an average failed"));
        }
        if self.steps.binary_search(&view.step).is_ok()
            && let Err(error) = self.record(view.step, view.params, Some(view.info))
        {
            self.failed = Some(error);
            return ControlFlow::Break(Stop::because("a measure failed"));
        }
        ControlFlow::Continue(())
    }
}

struct Climb<'s, 'a> {
    scene: Scene<'s, 'a>,
    initial: Vec<f64>,
}

impl<'a> WithEstimator<'a> for Climb<'_, 'a> {
    type Out = Option<Done>;

    fn with<E: Estimator<CountedTarget<'a>, CountedFamily<'a>>>(
        self,
        estimator: E,
    ) -> Result<Self::Out, Error> {
        let Scene { fit: plan, job, running, target, family, .. } = self.scene;
        let optimizer = plan.optimizer.clone();
        let ascent = Ascent { target, family, estimator, optimizer, seed: aside(job.seed, "fit") };
        let since = now();
        let kept: Option<Checkpoint<_, _>> = running.store.checkpoint(job)?;
        let is_new = kept.is_none();
        let Checkpoint { mut fit, rows, spent, auxiliary, average } = match kept {
            Some(checkpoint) => checkpoint,
            None => {
                let seed = aside(job.seed, "auxiliary");
                let start = || {
                    Auxiliary::start(
                        plan.auxiliary,
                        &ascent.estimator,
                        *target.inner(),
                        *family.inner(),
                        seed,
                    )
                };
                let auxiliary = (plan.auxiliary > 0).then(start).transpose()?;
                let fit = ascent.start(self.initial)?;
                let average = Average::new(family.inner().dim());
                Checkpoint { fit, rows: Vec::new(), spent: Spent::default(), auxiliary, average }
            }
        };
        // A checkpoint that belongs elsewhere is an error; what goes wrong later is a result.
        let file = || format!("{}/{}.checkpoint", job.experiment, job.id());
        target.uncounted(|| ascent.run(&mut fit, 0, &mut [])).map_err(|error| error.within(file()))?;
        let steps = plan.trace.steps(plan.steps);
        let mut recorder = Recorder {
            scene: self.scene,
            estimator: &ascent.estimator,
            auxiliary,
            average,
            steps,
            rows,
            before: spent,
            since,
            aside: 0.0,
            failed: None,
        };
        if is_new {
            recorder.record(0, fit.params(), None)?;
        }
        let effort = plan.method.effort();
        (running.progress)(fit.step() * effort);
        let (mut stretch, mut failure) = (16, None);
        let mut outcome = None;
        let mut saved = now();
        while fit.step() < plan.steps {
            let (before, start) = (fit.step(), now());
            let most = match running.checkpoint {
                Due::Steps(steps) => steps.max(1),
                Due::Seconds(_) => stretch,
            };
            let result = ascent.run(&mut fit, most.min(plan.steps - before), &mut [&mut recorder]);
            let made = fit.step() - before;
            let wrong = match result {
                Err(error) => Some(format!("step {}: {error}", fit.step() + 1)),
                Ok(ended) if ended.is_failure() => {
                    let wrong = ended.to_string();
                    outcome = Some(ended);
                    Some(wrong)
                }
                Ok(ended) => {
                    outcome = Some(ended);
                    recorder.failed.take().map(|error| format!("step {}: {error}", fit.step()))
                }
            };
            if wrong.is_some() {
                failure = wrong;
                (running.progress)((plan.steps - before) * effort);
                break;
            }
            if start.elapsed().as_secs_f64() < 0.1 {
                stretch = (2 * stretch).min(1 << 20);
            }
            let is_due = match running.checkpoint {
                Due::Steps(_) => true,
                Due::Seconds(seconds) => saved.elapsed().as_secs_f64() >= seconds,
            };
            if is_due && fit.step() < plan.steps {
                let spent = recorder.spent();
                let (rows, auxiliary) = (std::mem::take(&mut recorder.rows), recorder.auxiliary.take());
                let average = recorder.average.clone();
                let checkpoint = Checkpoint { fit, rows, spent, auxiliary, average };
                running.store.keep_checkpoint(job, &checkpoint)?;
                Checkpoint { fit, rows: recorder.rows, auxiliary: recorder.auxiliary, .. } = checkpoint;
                saved = now();
            }
            if !(running.progress)(made * effort) && is_due && fit.step() < plan.steps {
                return Ok(None);
            }
        }
        (running.last)(fit.params());
        let Spent { counts, seconds, measuring } = recorder.spent();
        let health = ascent.health(&fit).ok();
        Ok(Some((recorder.rows, Ended { failure, outcome, health, counts, seconds, measuring })))
    }
}
