//! Execution of a fit: a warm fit if there is one, then the stages in sequence.

use mcsa_core::{Counted, Error, Estimator, Family, LogDensity, Pushforward};
use mcsa_estimators::{Ascent, FlowElbo, Health, Outcome, jsa, msc_rb, pmcsa};
use mcsa_families::{Defence, GaussianFamily, MeanField, Tail};
use mcsa_models::Tempered;
use mcsa_optim::Adam;
use serde_json::Value;

use super::ascend::{Climbed, Log, Saved, Seen, Stretch, Trail};
use super::average::Average;
use super::checkpoints::Checkpoints;
use super::measure::{Measured, Recorder, Records, Warmed};
use super::propagation::propagate;
use super::spent::{Meter, Spent};
use super::{Done, Running, Tally, now, totals};
use crate::catalog::{CountedFamily, CountedTarget, Method, OptimizerConfig, Start, Target, WithEstimator};
use crate::store::Ended;
use crate::task::{Fit, Job, Metrics};

/// Name of the experiment for a single fit by the verb `fit`: its health is estimated from as many draws as k-hat needs.
pub(crate) const SINGLE: &str = "fit";

/// Draws for the health of each fit of an experiment; its k-hat is reported with an error.
const HEALTH_DRAWS: usize = 1_000;

/// Most draws in a piece of a health.
const MOST_DRAWS: u64 = 1_000;

/// Number of chains of a warm fit.
const WARM_CHAINS: usize = 10;

/// A fit at the end of its steps, or at its early end.
struct Halt {
    params: Vec<f64>,
    outcome: Option<Outcome>,
    failure: Option<String>,
    health: Option<Health>,
}

impl<S> From<Climbed<S>> for Halt {
    fn from(Climbed { fit, outcome, failure }: Climbed<S>) -> Self {
        Self { params: fit.params().to_vec(), outcome, failure, health: None }
    }
}

impl Fit {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<Done>, Error> {
        self.check()?;
        if let Method::Ep { sweeps } = self.method {
            let done = propagate(self, sweeps, job, running)?;
            (running.progress)(self.work_of(self.steps, 0));
            return Ok(Some(done));
        }
        if let Metrics::Filters { particles, filters } = self.metrics {
            return self.run_path(particles, filters, job, running);
        }
        if let Metrics::Bound { draws } = self.metrics {
            return match self.target {
                Target::SparseProcess(_) => self.run_sparse(draws, job, running),
                Target::LocalRegression(_) => self.run_local(draws, job, running),
                _ => self.run_bound(draws, job, running),
            };
        }
        let checkpoints = Checkpoints::new(job, running);
        let problem = self.target.build(running.catalogue, job.seed)?;
        let target = Counted::new(&*problem.posterior);
        let dim = target.dim();
        let (shaped, gaussian) = (self.family.build(dim)?, self.family.gaussian(dim));
        let measured = match (self.metrics, &gaussian) {
            (Metrics::Target, Some(gaussian)) => Measured::Target(&*problem.evaluator, &**gaussian),
            _ => {
                let reference = self.target.reference(running.catalogue, job.seed)?;
                Measured::Reference(reference, &*problem.posterior, &*shaped.family)
            }
        };
        let saved: Option<Saved<Value, Records>> = checkpoints.last()?;
        let (reached, mut state, records, before) = match saved {
            Some(Saved { stretch, state, log, spent }) => (stretch, Some(state), log, spent),
            None => {
                let average = (self.averaged > 0).then(|| Average::new(dim));
                (
                    0,
                    None,
                    Records { rows: Vec::new(), average, warm: None, judged: Vec::new() },
                    Spent::default(),
                )
            }
        };
        let log = Recorder { fit: self, seed: job.seed, measured, records };
        let mut run = Trail { checkpoints, meter: Meter::after(before), log, is_told: false };

        let family = Counted::new(&*shaped.family);
        let pushforward = Counted::new(&*shaped.pushforward);
        let counted: Option<CountedFamily<'_>> = gaussian.as_deref().map(Counted::new);
        let plain = || counted.as_ref().map(Counted::counts).unwrap_or_default();
        let counts = || totals(target.counts(), &[family.counts(), pushforward.counts(), plain()]);
        let start = match (self.start, &gaussian) {
            (Start::Warm { .. }, _) => match self.warm(&target, &mut run, &counts, job, &mut state)? {
                Some(place) => place,
                None => return Ok(None),
            },
            (_, Some(gaussian)) => {
                let params = self.start.draw(&**gaussian, &mut job.seed.named("start").stream(0, 0))?;
                Place::of(&**gaussian, params)?
            }
            (_, None) => Place::uniform(dim, self.start.place().unwrap_or((0.0, 1.0))),
        };
        let mut hidden = job.seed.named("hidden").stream(0, 0);
        let mut around = |start: &Place| shaped.around(&start.mean, &start.deviations, &mut hidden);
        let params = start.params.clone().map_or_else(|| around(&start), Ok)?;

        let seed = job.seed.named("auxiliary");
        let standard = |family: &dyn GaussianFamily| {
            Start::Standard.draw(family, &mut seed.named("standard").stream(0, 0))
        };
        let auxiliary = gaussian.as_deref().filter(|_| self.auxiliary > 0).map(standard).transpose()?;
        let auxiliary = auxiliary.map(|standard| (self.auxiliary, seed, standard));
        let tail = Tail::cauchy(dim).at(&start.mean, &start.deviations)?;
        let (target, gaussian, family, pushforward) = (&target, counted.as_ref(), &family, &pushforward);
        let scene = Scene { fit: self, job, target, gaussian, family, pushforward, tail };

        let work = |steps| self.work_of(steps, 0);
        let spans = self.stages().spans(self.steps);
        let mut rows = self.trace.steps(self.steps);
        rows.extend(spans.iter().map(|(_, to)| to));
        rows.sort_unstable();
        rows.dedup();
        if self.is_staged() && run.log.is_empty() {
            run.record(&counts, Seen { params: &params, ..Seen::default() })?;
        }
        let mut halt = Some(Halt { params, outcome: None, failure: None, health: None });
        for (number, &(from, to)) in (1..).zip(&spans).skip_while(|(number, _)| *number < reached) {
            let Some(Halt { params, failure: None, .. }) = halt else { break };
            let (after, work, rows, counts) = (self.steps - to, &work, &rows, &counts);
            let auxiliary = auxiliary.as_ref();
            let stretch = Stretch { number, from, to, after, work, rows, auxiliary, counts };
            halt = scene.stage(&mut run, &stretch, params, state.take())?;
        }
        let Some(Halt { params, outcome, failure, health }) = halt else { return Ok(None) };
        (running.last)(&params);
        let ended = Ended { failure, outcome, health, ..run.spent(&counts).ended() };
        Ok(Some((run.log.records.rows, ended)))
    }

    /// The end of the warm fit, after its steps unless they are made. `None` if it was interrupted.
    fn warm(
        &self,
        target: &CountedTarget<'_>,
        run: &mut Trail<'_, Recorder<'_>>,
        counts: &dyn Fn() -> Tally,
        job: &Job,
        state: &mut Option<Value>,
    ) -> Result<Option<Place>, Error> {
        let family = MeanField::new(target.dim());
        let params = match &run.log.records.warm {
            Some(Warmed(params)) => params.clone(),
            None => {
                let Place { mean, deviations, .. } =
                    Place::uniform(target.dim(), self.start.place().unwrap_or((0.0, 1.0)));
                let guard = Defence::new(0.1, Tail::cauchy(target.dim()).at(&mean, &deviations)?)?;
                let (estimator, optimizer) =
                    (pmcsa(WARM_CHAINS).guarded(guard), OptimizerConfig::Adam(Adam::new(0.01)?));
                let seed = job.seed.named("warm");
                let ascent = Ascent { target, family: &family, estimator, optimizer, seed };
                let (to, after, work) =
                    (self.start.warm_steps(), self.steps, &|steps| steps * self.method.effort());
                let stretch =
                    Stretch { number: 0, from: 0, to, after, work, rows: &[], auxiliary: None, counts };
                let start = family.at(&mean, &deviations)?;
                let Some(warm) = run.climb(&ascent, &stretch, start, state.take())? else { return Ok(None) };
                warm.fit.params().to_vec()
            }
        };
        run.log.records.warm = Some(Warmed(params.clone()));
        Ok(Some(Place { params: None, ..Place::of(&family, params)? }))
    }
}

/// Start of a fit: means and standard deviations, and lambda if it is drawn for the family.
struct Place {
    mean: Vec<f64>,
    deviations: Vec<f64>,
    params: Option<Vec<f64>>,
}

impl Place {
    fn uniform(dim: usize, (mean, scale): (f64, f64)) -> Self {
        Self { mean: vec![mean; dim], deviations: vec![scale; dim], params: None }
    }

    fn of(family: &dyn GaussianFamily, params: Vec<f64>) -> Result<Self, Error> {
        let deviations = family.variances(&params)?.iter().map(|variance| variance.sqrt()).collect();
        Ok(Self { mean: family.mean(&params).to_vec(), deviations, params: Some(params) })
    }
}

/// Fixed parts of a running fit.
struct Scene<'r, 'a> {
    fit: &'r Fit,
    job: &'r Job,
    target: &'r CountedTarget<'a>,
    /// The family, if it is Gaussian.
    gaussian: Option<&'r CountedFamily<'a>>,
    family: &'r Counted<&'a dyn Family>,
    pushforward: &'r Counted<&'a dyn Pushforward>,
    tail: Tail,
}

impl<'a> Scene<'_, 'a> {
    /// Makes the steps of a stage, with new chains unless `state` is from a checkpoint. `None` if it was interrupted.
    ///
    /// Without a schedule a Gaussian family can be fitted by any method, to the target as it is.
    fn stage<'s>(
        &self,
        run: &mut Trail<'s, Recorder<'s>>,
        stretch: &Stretch<'_>,
        params: Vec<f64>,
        state: Option<Value>,
    ) -> Result<Option<Halt>, Error> {
        let (fit, number) = (self.fit, stretch.number - 1);
        if let (Some(family), false) = (self.gaussian, fit.is_staged()) {
            return fit.method.meet(Plain { scene: self, family, run, stretch, params, state });
        }
        let stage = fit.stages().stages[number];
        let target = Tempered::new(self.target, stage.power)?;
        let guard = Defence::new(stage.defence, self.tail.clone())?;
        let (optimizer, seed) = (fit.optimizer.clone(), self.job.seed.named("fit").child(number as u64));
        macro_rules! climb {
            ($family:expr, $estimator:expr) => {{
                let ascent =
                    Ascent { target: &target, family: $family, estimator: $estimator, optimizer, seed };
                Ok(run.climb(&ascent, stretch, params, state)?.map(Halt::from))
            }};
        }
        match fit.method {
            Method::Pmcsa { chains } => climb!(self.family, pmcsa(chains).guarded(guard)),
            Method::Jsa { transitions } => climb!(self.family, jsa(transitions).guarded(guard)),
            Method::MscRb { fresh } => climb!(self.family, msc_rb(fresh + 1).guarded(guard)),
            Method::Elbo { samples } => climb!(self.pushforward, FlowElbo::new(samples)),
            ref other => Err(Error::invalid(format!("{} does not fit every family", other.kind()))),
        }
    }
}

/// A fit of a Gaussian family in a single stage, by any method.
struct Plain<'r, 's, 'a> {
    scene: &'r Scene<'r, 'a>,
    family: &'r CountedFamily<'a>,
    run: &'r mut Trail<'s, Recorder<'s>>,
    stretch: &'r Stretch<'r>,
    params: Vec<f64>,
    state: Option<Value>,
}

impl<'a> WithEstimator<'a> for Plain<'_, '_, 'a> {
    type Out = Option<Halt>;

    fn with<E: Estimator<CountedTarget<'a>, CountedFamily<'a>>>(
        self,
        estimator: E,
    ) -> Result<Self::Out, Error> {
        let Self { scene: &Scene { fit, job, target, .. }, family, run, stretch, params, state } = self;
        let (optimizer, seed) = (fit.optimizer.clone(), job.seed.named("fit"));
        let ascent = Ascent { target, family, estimator, optimizer, seed };
        let Some(climbed) = run.climb(&ascent, stretch, params, state)? else { return Ok(None) };
        let draws = (job.experiment != SINGLE).then_some(HEALTH_DRAWS);
        let health = match judge(&ascent, &climbed, draws, run, stretch) {
            Ok(None) => return Ok(None),
            judged => judged.ok().flatten(),
        };
        let health = health.map(|health| match climbed.fit.step() {
            // Before the first step the chains are draws from q, which give no upper bound.
            0 => Health { evidence_upper: f64::NAN, ..health },
            _ => health,
        });
        Ok(Some(Halt { health, ..Halt::from(climbed) }))
    }
}

/// Health of a fit from some draws, by default as many as k-hat needs, in pieces as short as the stretches of steps. `None` if it was
/// interrupted.
fn judge<P: LogDensity + ?Sized, F: Family + ?Sized, E: Estimator<P, F>>(
    ascent: &Ascent<'_, P, F, E, OptimizerConfig>,
    climbed: &Climbed<E::State>,
    draws: Option<usize>,
    run: &mut Trail<'_, Recorder<'_>>,
    stretch: &Stretch<'_>,
) -> Result<Option<Health>, Error> {
    let Trail { checkpoints, meter, log, .. } = run;
    let (before, begun) = (meter.spent((stretch.counts)()), now());
    let (done, mut is_first) = (std::mem::take(&mut log.records.judged), true);
    let next = |log_p: &[f64]| {
        // A fit that failed has no checkpoint after its last step: it would be continued from an earlier one.
        if climbed.failure.is_some() {
            return usize::MAX;
        }
        log_p.clone_into(&mut log.records.judged);
        let log = &*log;
        let state = || {
            let took = begun.elapsed().as_secs_f64();
            let (measuring, judging) = (before.measuring + took, before.judging + took);
            let spent = Spent { measuring, judging, ..before.clone() };
            Saved { stretch: stretch.number, state: (&climbed.fit, None::<()>), log, spent }
        };
        if !std::mem::take(&mut is_first) && !checkpoints.goes_on(0, 0, state) {
            return 0;
        }
        checkpoints.stretch(MOST_DRAWS).max(1) as usize
    };
    meter.judge(stretch.counts, || ascent.health_in_pieces(&climbed.fit, draws, done, next))
}
