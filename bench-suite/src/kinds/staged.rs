//! Execution of a fit of a family of any shape: a warm fit, then the stages in sequence, with rows and checkpoints.

use std::collections::BTreeMap;

use faer::Mat;
use mcsa_core::{Counted, Counts, Error, Estimator, Family, LogDensity, Parametric, Pushforward};
use mcsa_diagnostics::{Pareto, importance_sample_size};
use mcsa_estimators::{Ascent, Fit as State, FlowElbo, Outcome, jsa, msc_rb, pmcsa};
use mcsa_families::{Defence, GaussianFamily, MeanField, Tail};
use mcsa_models::Tempered;
use mcsa_optim::Adam;
use serde::Serialize;
use serde_json::Value;

use super::checkpoints::Checkpoints;
use super::shaped::{ShapedFit, WORK_OF_STEP};
use super::spent::{Meter, Spent};
use super::{Done, Running, aside, now, totals};
use crate::catalog::{Method, Posterior, Reference, Shaped};
use crate::plan::Job;
use crate::store::{Ended, Row};

/// Draws from q for a row.
const DRAWS: usize = 2_000;
/// Draws from q stored at the end of a fit in two dimensions, for figures.
const SEEN: usize = 400;
/// Number of chains of the warm fit.
const WARM_CHAINS: usize = 10;

/// Contents of a checkpoint: the warm fit, number and fit of the current stage if there is one, rows, and cost.
type Checkpoint<W, S> = (W, Option<(usize, S)>, Vec<Row>, Spent);

impl ShapedFit {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<Done>, Error> {
        let mut checkpoints = Checkpoints::new(job, running);
        let problem = self.target.build(running.catalogue, job.seed)?;
        let target = Counted::new(&*problem.posterior);
        let dim = target.dim();
        let independent = MeanField::new(dim);
        let (mean, scale) = (vec![self.start.mean; dim], vec![self.start.scale; dim]);
        let estimator = pmcsa(WARM_CHAINS).guarded(Defence::new(0.1, Tail::cauchy(dim).at(&mean, &scale)?)?);
        let (optimizer, seed) = (Adam::new(0.01)?, aside(job.seed, "warm"));
        let ascent = Ascent { target: &target, family: &independent, estimator, optimizer, seed };

        let kept: Option<Checkpoint<State<_, _>, Value>> = checkpoints.last()?;
        let (mut warm, stage, rows, before) = match kept {
            Some(kept) => kept,
            None => (ascent.start(independent.at(&mean, &scale)?)?, None, Vec::new(), Spent::default()),
        };
        target.uncounted(|| ascent.run(&mut warm, 0)).map_err(|error| checkpoints.named(error))?;
        let mut meter = Meter::after(before);
        let effort = self.method.effort();
        checkpoints.tell(warm.step() * effort);
        let no_stage: Option<(usize, Value)> = None;
        while stage.is_none() && warm.step() < self.start.steps {
            let before = warm.step();
            let left = self.start.steps - before;
            let most = checkpoints.stretch(left + self.steps).min(left);
            let outcome = ascent.run(&mut warm, most)?;
            if outcome.is_failure() {
                break;
            }
            let made = warm.step() - before;
            let state = || (&warm, &no_stage, &rows, meter.spent(totals(target.counts(), Counts::default())));
            if !checkpoints.goes_on(made, made * effort, state) {
                return Ok(None);
            }
        }
        let variances = independent.variances(warm.params())?;
        let deviations: Vec<f64> = variances.iter().map(|variance| variance.sqrt()).collect();
        let mean = independent.mean(warm.params());

        let start = now();
        let reference = self.target.reference(running.catalogue, job.seed)?;
        meter.set_aside(start);
        let mut hidden = aside(job.seed, "hidden").stream(0, 0);
        let Shaped { family, pushforward, params } = self.family.around(mean, &deviations, &mut hidden)?;
        let path = Path {
            fit: self,
            job,
            reference: &reference,
            target: &target,
            family: &Counted::new(&*family),
            pushforward: &Counted::new(&*pushforward),
            tail: Tail::cauchy(mean.len()).at(mean, &deviations)?,
            warm: &warm,
        };
        let mut trail = Trail { params, rows, meter, checkpoints };
        if stage.is_none() {
            path.record(&mut trail, 0, f64::NAN)?;
        }
        path.walk(stage, trail)
    }
}

/// Fixed parts of a running fit; `W` is the warm fit.
struct Path<'s, 'a, W> {
    fit: &'s ShapedFit,
    job: &'s Job,
    reference: &'s Reference,
    target: &'s Counted<&'a dyn Posterior>,
    family: &'s Counted<&'s dyn Family>,
    pushforward: &'s Counted<&'s dyn Pushforward>,
    tail: Tail,
    warm: &'s W,
}

/// Results of a running fit so far.
struct Trail<'s> {
    params: Vec<f64>,
    rows: Vec<Row>,
    meter: Meter,
    checkpoints: Checkpoints<'s>,
}

/// A stage: number, steps made before it, and steps made at its end.
#[derive(Clone, Copy)]
struct Stretch {
    number: usize,
    made: u64,
    end: u64,
}

impl<W: Serialize> Path<'_, '_, W> {
    /// Runs all stages, or those from the stage of a checkpoint on.
    fn walk(&self, mut kept: Option<(usize, Value)>, mut trail: Trail<'_>) -> Result<Option<Done>, Error> {
        let (mut made, mut outcome) = (0, None);
        for (number, stage) in self.fit.schedule.stages.iter().enumerate() {
            let parts: f64 = self.fit.schedule.stages[..=number].iter().map(|stage| stage.part).sum();
            let end = (parts * self.fit.steps as f64).round() as u64;
            let stretch = Stretch { number, made, end };
            made = end;
            let before = match kept.take() {
                Some((other, fit)) if other > number => {
                    kept = Some((other, fit));
                    continue;
                }
                Some((_, fit)) => Some(fit),
                None => None,
            };
            let target = Tempered::new(self.target, stage.power)?;
            let guard = Defence::new(stage.defence, self.tail.clone())?;
            let (on, trail) = ((&target, self.family), &mut trail);
            let ended = match self.fit.method {
                Method::Pmcsa { chains } => {
                    self.climb(on, pmcsa(chains).guarded(guard), stretch, before, trail)
                }
                Method::Jsa { transitions } => {
                    self.climb(on, jsa(transitions).guarded(guard), stretch, before, trail)
                }
                Method::MscRb { fresh } => {
                    self.climb(on, msc_rb(fresh + 1).guarded(guard), stretch, before, trail)
                }
                Method::Elbo { samples } => {
                    let on = (&target, self.pushforward);
                    self.climb(on, FlowElbo::new(samples), stretch, before, trail)
                }
                ref other => Err(Error::invalid(format!("{} does not fit every family", other.kind()))),
            }?;
            let Some(ended) = ended else { return Ok(None) };
            let is_wrong = ended.is_failure();
            outcome = Some(ended);
            if is_wrong {
                break;
            }
        }
        let failure = outcome.as_ref().filter(|ended| ended.is_failure()).map(Outcome::to_string);
        if self.family.dim() == 2 && failure.is_none() {
            self.keep_draws(&mut trail);
        }
        let Spent { counts, seconds, measuring } = self.spent(&trail.meter);
        let rows = trail.rows;
        Ok(Some((rows, Ended { failure, outcome, health: None, counts, seconds, measuring })))
    }

    /// Runs one stage, with new chains unless a checkpoint of this stage was saved. `None` if it was interrupted.
    fn climb<P, F: ?Sized, E: Estimator<P, F>>(
        &self,
        (target, family): (&P, &F),
        estimator: E,
        Stretch { number, made, end }: Stretch,
        kept: Option<Value>,
        trail: &mut Trail<'_>,
    ) -> Result<Option<Outcome>, Error> {
        let Self { fit: plan, .. } = self;
        let seed = aside(self.job.seed, "fit").child(number as u64);
        let ascent = Ascent { target, family, estimator, optimizer: plan.optimizer.clone(), seed };
        let work_of_step = WORK_OF_STEP * plan.method.effort();
        let mut fit: State<_, _> = match kept {
            Some(kept) => {
                let read = serde_json::from_value(kept).map_err(|error| Error::invalid(error.to_string()));
                read.map_err(|error| trail.checkpoints.named(error))?
            }
            None => ascent.start(trail.params.clone())?,
        };
        self.target.uncounted(|| ascent.run(&mut fit, 0)).map_err(|error| trail.checkpoints.named(error))?;
        trail.params.copy_from_slice(fit.params());
        let mut ended = Outcome::BudgetSpent { accuracy: None };
        let mut stops = plan.trace.steps(plan.steps);
        stops.retain(|&step| step > made && step < end);
        stops.push(end);
        while made + fit.step() < end {
            let at = made + fit.step();
            let stop = stops.iter().copied().find(|&stop| stop > at).unwrap_or(end);
            let most = trail.checkpoints.stretch(plan.steps - at).min(stop - at);
            ended = ascent.run(&mut fit, most)?;
            trail.params.copy_from_slice(fit.params());
            if ended.is_failure() {
                break;
            }
            if made + fit.step() == stop {
                self.record(trail, stop, fit.watch().acceptance().unwrap_or(f64::NAN))?;
            }
            let Trail { rows, meter, checkpoints, .. } = trail;
            let state = || (self.warm, Some((number, &fit)), &*rows, self.spent(meter));
            let steps = made + fit.step() - at;
            if !checkpoints.goes_on(steps, steps * work_of_step, state) {
                return Ok(None);
            }
        }
        Ok(Some(ended))
    }

    fn spent(&self, meter: &Meter) -> Spent {
        let mut counts = totals(self.target.counts(), self.family.counts());
        for (name, count) in totals(Counts::default(), self.pushforward.counts()) {
            *counts.entry(name).or_default() += count;
        }
        meter.spent(counts)
    }

    /// Adds a row. Its evaluations are not counted.
    ///
    /// ```text
    /// kl = E_p[log p - log q] - log Z,   by draws of p;   w = p / (q Z) at draws of q and of p
    /// ```
    fn record(&self, trail: &mut Trail<'_>, step: u64, acceptance: f64) -> Result<(), Error> {
        let spent = self.spent(&trail.meter);
        let start = now();
        let (points, log_w) = self.weights(&trail.params, step);
        let Reference { points: truth, log_p, .. } = self.reference;
        let mut log_q = vec![0.0; truth.ncols()];
        let mut work = vec![0.0; self.family.inner().work_len(truth.ncols())];
        self.family.inner().log_probs(&trail.params, truth.as_ref(), &mut log_q, &mut work);
        let ratios: Vec<f64> = self.log_weights(log_p, &log_q).collect();
        let (divergence, error) = self.reference.mean(&ratios);
        let top = log_w.iter().chain(&ratios).fold(f64::NEG_INFINITY, |top, &w| top.max(w));
        let mut values: BTreeMap<String, f64> = [
            ("kl", divergence),
            ("kl_error", error),
            ("k_hat", Pareto::of(&log_w).shape),
            ("sample_share", importance_sample_size(&log_w) / DRAWS as f64),
            ("log_weight_bound", top),
            ("acceptance", acceptance),
            ("p_evaluations", spent.counts["p_evaluations"] as f64),
            ("p_gradients", spent.counts["p_gradients"] as f64),
            ("seconds", spent.seconds),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        if let (Some(share), Some(of_truth)) = (self.reference.share(&points), self.reference.share(truth)) {
            values.insert("share".to_owned(), share);
            values.insert("share_of_target".to_owned(), of_truth);
        }
        trail.rows.push(Row { step, values });
        trail.meter.set_aside(start);
        Ok(())
    }

    /// Draws from q with their densities; the random stream depends on the step alone.
    fn draws(&self, params: &[f64], step: u64) -> (Mat<f64>, Vec<f64>) {
        let (mut points, mut log_q) = (Mat::zeros(self.family.dim(), DRAWS), vec![0.0; DRAWS]);
        let mut work = vec![0.0; self.family.inner().work_len(DRAWS)];
        let mut lane = [aside(self.job.seed, "measure").stream(0, step)];
        self.family.inner().sample_into(params, &mut lane, points.as_mut(), &mut log_q, &mut work);
        (points, log_q)
    }

    /// Draws from q with `log p - log q - log Z`; NaN becomes weight 0.
    fn weights(&self, params: &[f64], step: u64) -> (Mat<f64>, Vec<f64>) {
        let (points, log_q) = self.draws(params, step);
        let mut log_p = vec![0.0; DRAWS];
        let mut work = vec![0.0; self.target.inner().work_len(DRAWS)];
        self.target.inner().log_densities(points.as_ref(), &mut log_p, &mut work);
        let decided = |w: f64| if w.is_nan() { f64::NEG_INFINITY } else { w };
        (points, self.log_weights(&log_p, &log_q).map(decided).collect())
    }

    fn log_weights(&self, log_p: &[f64], log_q: &[f64]) -> impl Iterator<Item = f64> {
        log_p.iter().zip(log_q).map(|(p, q)| p - q - self.reference.log_normaliser)
    }

    /// Stores draws from q in the last row, for figures in two dimensions.
    fn keep_draws(&self, trail: &mut Trail<'_>) {
        let (points, _) = self.draws(&trail.params, self.fit.steps);
        if let Some(last) = trail.rows.last_mut() {
            for (k, point) in points.col_iter().take(SEEN).enumerate() {
                last.values.insert(format!("x_{k:03}"), point[0]);
                last.values.insert(format!("y_{k:03}"), point[1]);
            }
        }
    }
}
