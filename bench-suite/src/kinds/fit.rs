//! Execution of a fit: a warm fit if there is one, then the stages in sequence.

use mcsa_core::{Counted, Error, Estimator, Family, Gradient, LogDensity, Reparameterised};
use mcsa_estimators::{Ascent, Health, pmcsa};
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
use crate::catalog::{Method, OptimizerConfig, Posterior, Start, Target, Views};
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
        let closed = gaussian.as_deref().filter(|_| !self.is_staged()).map(Counted::new);
        let plain = || closed.as_ref().map(Counted::counts).unwrap_or_default();
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
        let work = |steps| self.work_of(steps, 0);
        let spans = self.stages().spans(self.steps);
        let mut rows = self.trace.steps(self.steps);
        rows.extend(spans.iter().map(|(_, to)| to));
        rows.sort_unstable();
        rows.dedup();
        if self.is_staged() && run.log.is_empty() {
            run.record(&counts, Seen { params: &params, ..Seen::default() })?;
        }
        let views = Views {
            family: &family,
            closed: closed.as_ref().map(|family| family as &dyn Reparameterised),
            pushforward: Some(&pushforward),
        };
        let (mut params, mut outcome, mut failure, mut health) = (params, None, None, None);
        for (number, &(from, to)) in (1..).zip(&spans).skip_while(|(number, _)| *number < reached) {
            if failure.is_some() {
                break;
            }
            let (after, work, rows, counts) = (self.steps - to, &work, &rows, &counts);
            let auxiliary = auxiliary.as_ref();
            let stretch = Stretch { number, from, to, after, work, rows, auxiliary, counts };
            // Without a schedule a Gaussian family is fitted to the target as it is, without a guard.
            let (tempered, seed);
            let (target, guard): (&dyn Gradient, _) = if closed.is_some() {
                seed = job.seed.named("fit");
                (&target, None)
            } else {
                let stage = self.stages().stages[number - 1];
                seed = job.seed.named("fit").child(number as u64 - 1);
                tempered = Tempered::new(&target, stage.power)?;
                (&tempered, Some(Defence::new(stage.defence, tail.clone())?))
            };
            let (estimator, optimizer) = (self.method.build(views, guard)?, self.optimizer.clone());
            let ascent = Ascent { target, family: views.family, estimator, optimizer, seed };
            let climbed = run.climb(&ascent, &stretch, params, state.take())?;
            let Some(climbed) = climbed else { return Ok(None) };
            if closed.is_some() {
                let draws = (job.experiment != SINGLE).then_some(HEALTH_DRAWS);
                health = match judge(&ascent, &climbed, draws, &mut run, &stretch) {
                    Ok(None) => return Ok(None),
                    judged => judged.ok().flatten(),
                };
            }
            params = climbed.fit.params().to_vec();
            (outcome, failure) = (climbed.outcome, climbed.failure);
        }
        (running.last)(&params);
        let ended = Ended { failure, outcome, health, ..run.spent(&counts).ended() };
        Ok(Some((run.log.records.rows, ended)))
    }

    /// The end of the warm fit, after its steps unless they are made. `None` if it was interrupted.
    fn warm(
        &self,
        target: &Counted<&dyn Posterior>,
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
    let health = meter.judge(stretch.counts, || ascent.health_in_pieces(&climbed.fit, draws, done, next))?;
    // Before the first step the chains are draws from q, which give no upper bound.
    let is_new = climbed.fit.step() == 0;
    Ok(health.map(|health| if is_new { Health { evidence_upper: f64::NAN, ..health } } else { health }))
}
