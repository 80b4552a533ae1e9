//! Fits of families of any shape, begun alike and judged by draws of the target.

use std::collections::BTreeMap;

use faer::Mat;
use mcsa::{Counted, Counts, Error, Estimator, Family, LogDensity, Pushforward, Seed};
use mcsa_estimators::{Ascent, FlowElbo, Outcome, jsa, msc_rb, pmcsa};
use mcsa_families::{Defence, Gaussian, MeanField, Tail};
use mcsa_models::Tempered;
use mcsa_optim::Adam;
use mcsa_theory::diagnostics::{Pareto, importance_sample_size};
use serde::{Deserialize, Serialize};

use super::{Done, Running, Trace, aside, now, totals};
use crate::catalog::{Method, Posterior, Reference, Rule, Shape, Shaped, Target};
use crate::experiment::Preset;
use crate::grid::{Entry, Placed, check_on, expand};
use crate::plan::Job;
use crate::store::{Ended, Row};

/// The section `[shapes]`: every target by every family, trained in every way.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Shapes {
    /// Where fits begin, each in turn.
    pub starts: Vec<Warm>,
    /// What follows, each in turn.
    #[serde(rename = "schedule")]
    pub schedules: Vec<Schedule>,
    /// What moves lambda.
    pub optimizer: Rule,
    /// Which steps are recorded.
    pub trace: Trace,
    /// What is fitted.
    #[serde(rename = "target", default)]
    targets: Vec<Entry>,
    /// What fits.
    #[serde(rename = "family", default)]
    families: Vec<Entry>,
    /// What is compared.
    #[serde(rename = "method", default)]
    methods: Vec<Entry>,
}

/// A fit with independent Gaussians by parallel chains, before that which is compared: the same for all families.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Warm {
    /// Every mean, before.
    pub mean: f64,
    /// Every standard deviation, before.
    pub scale: f64,
    /// How many steps, of Adam at rate 0.01.
    pub steps: u64,
}

/// How a fit is warmed up: one stage after the other, chains and optimiser begun anew in each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Schedule {
    /// What people call it.
    pub name: String,
    /// Its stages.
    pub stages: Vec<Stage>,
}

/// A stretch of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stage {
    /// Which part of the steps.
    pub part: f64,
    /// How often chains are offered a draw of a Cauchy tail around the start.
    pub defence: f64,
    /// The power of the target.
    pub power: f64,
}

/// One fit: everything that determines its path but the seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShapedFit {
    /// What is fitted.
    pub target: Target,
    /// What fits.
    pub family: Shape,
    /// What estimates the direction.
    pub method: Method,
    /// Where the fit begins.
    pub start: Warm,
    /// What follows.
    pub schedule: Schedule,
    /// What moves lambda.
    pub optimizer: Rule,
    /// How many steps, warm ones not counted.
    pub steps: u64,
    /// Which of them are recorded.
    pub trace: Trace,
}

/// Draws of q behind a row.
const DRAWS: usize = 2_000;
/// Draws of q kept at the end of a fit in the plane, to be seen.
const SEEN: usize = 400;
/// Chains of the warm fit.
const WARM_CHAINS: usize = 10;

impl Shapes {
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.starts.is_empty() || self.schedules.is_empty() {
            return Err(Error::invalid(
                "shapes: at least one of starts and one [[shapes.schedule]] are needed",
            ));
        }
        self.schedules.iter().try_for_each(Schedule::check)?;
        let methods = expand::<Method>("shapes.method", &self.methods)?;
        match methods.iter().find(|method| !is_known(&method.value)) {
            Some(other) => Err(Error::invalid(format!(
                "shapes.method: {} is not among those that families of any shape are fitted by",
                other.value.kind()
            ))),
            None => {
                let (targets, families, methods) = self.expanded()?;
                let labels: Vec<&str> = targets.iter().map(|target| target.value.label()).collect();
                check_on("shapes.target", &labels, &families)?;
                check_on("shapes.target", &labels, &methods)
            }
        }
    }

    #[expect(clippy::type_complexity, reason = "the axes of a grid, named where they are taken apart")]
    fn expanded(&self) -> Result<(Vec<Placed<Target>>, Vec<Placed<Shape>>, Vec<Placed<Method>>), Error> {
        Ok((
            expand("shapes.target", &self.targets)?,
            expand("shapes.family", &self.families)?,
            expand("shapes.method", &self.methods)?,
        ))
    }

    pub(crate) fn tasks(&self, preset: &Preset) -> Result<Vec<ShapedFit>, Error> {
        let (targets, families, methods) = self.expanded()?;
        let mut tasks = Vec::new();
        for target in targets.iter().map(|placed| &placed.value) {
            let label = target.label();
            for family in families.iter().filter(|family| family.is_on(label)) {
                let is_here = |m: &&Placed<Method>| m.is_on(label) && preset.admits(label, &m.value);
                for (start, schedule) in
                    self.starts.iter().flat_map(|start| self.schedules.iter().map(move |each| (start, each)))
                {
                    tasks.extend(methods.iter().filter(is_here).map(|method| ShapedFit {
                        target: target.clone(),
                        family: family.value.clone(),
                        method: method.value.clone(),
                        start: *start,
                        schedule: schedule.clone(),
                        optimizer: self.optimizer.clone(),
                        steps: preset.steps,
                        trace: self.trace,
                    }));
                }
            }
        }
        Ok(tasks)
    }
}

fn is_known(method: &Method) -> bool {
    matches!(method, Method::Pmcsa { .. } | Method::Jsa { .. } | Method::MscRb { .. } | Method::Elbo { .. })
}

impl Schedule {
    fn check(&self) -> Result<(), Error> {
        let place = |error: Error| error.within(format!("shapes.schedule {:?}", self.name));
        let parts: f64 = self.stages.iter().map(|stage| stage.part).sum();
        if (parts - 1.0).abs() > 1e-9 || self.stages.iter().any(|stage| stage.part <= 0.0) {
            return Err(place(Error::invalid("the parts are positive and add up to 1")));
        }
        self.stages.iter().try_for_each(|stage| {
            Tempered::new(&mcsa_models::Gaussian::standard(1), stage.power).map(drop).map_err(place)?;
            Defence::new(stage.defence, Tail::cauchy(1)).map(drop).map_err(place)
        })
    }
}

impl ShapedFit {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Done, Error> {
        let problem = self.target.build(running.catalogue, job.seed)?;
        let reference = self.target.reference(running.catalogue, job.seed)?;
        let target = Counted::new(&*problem.posterior);
        let (mean, deviations) = self.warm_up(&target, job)?;
        let mut hidden = aside(job.seed, "hidden").stream(0, 0);
        let Shaped { family, pushforward, params } = self.family.around(&mean, &deviations, &mut hidden)?;
        let path = Path {
            fit: self,
            job,
            reference: &reference,
            target: &*problem.posterior,
            counted: &target,
            family: &*family,
            pushforward: &*pushforward,
            tail: Tail::cauchy(mean.len()).at(&mean, &deviations)?,
        };
        let done = path.walk(params)?;
        (running.progress)(self.work());
        Ok(done)
    }

    pub(super) fn work(&self) -> u64 {
        (self.start.steps + 4 * self.steps) * self.method.effort()
    }

    /// Means and deviations of independent Gaussians fitted by parallel chains.
    fn warm_up(&self, target: &Counted<&dyn Posterior>, job: &Job) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let dim = target.dim();
        let family = MeanField::new(dim);
        let (mean, scale) = (vec![self.start.mean; dim], vec![self.start.scale; dim]);
        let tail = Tail::cauchy(dim).at(&mean, &scale)?;
        let estimator = pmcsa(WARM_CHAINS).guarded(Defence::new(0.1, tail)?);
        let (optimizer, seed) = (Adam::new(0.01)?, aside(job.seed, "warm"));
        let ascent = Ascent { target, family: &family, estimator, optimizer, seed };
        let mut fit = ascent.start(family.at(&mean, &scale)?)?;
        ascent.run(&mut fit, self.start.steps, &mut [])?;
        let variances = family.variances(fit.params())?;
        Ok((family.mean(fit.params()).to_vec(), variances.iter().map(|variance| variance.sqrt()).collect()))
    }
}

/// What stays while a fit goes on.
struct Path<'s, 'a> {
    fit: &'s ShapedFit,
    job: &'s Job,
    reference: &'s Reference,
    /// For measures, which are not counted.
    target: &'a dyn Posterior,
    counted: &'s Counted<&'a dyn Posterior>,
    family: &'s dyn Family,
    pushforward: &'s dyn Pushforward,
    tail: Tail,
}

/// What has come of it so far.
struct Trail {
    params: Vec<f64>,
    rows: Vec<Row>,
    seconds: f64,
}

/// The steps after `made` up to `end`.
#[derive(Clone, Copy)]
struct Stretch {
    made: u64,
    end: u64,
    seed: Seed,
}

impl<'a> Path<'_, 'a> {
    fn walk(&self, params: Vec<f64>) -> Result<Done, Error> {
        let since = now();
        let mut trail = Trail { params, rows: Vec::new(), seconds: 0.0 };
        self.record(&mut trail, 0, f64::NAN)?;
        let (family, pushforward) = (Counted::new(self.family), Counted::new(self.pushforward));
        let (mut made, mut outcome) = (0, None);
        for (number, stage) in self.fit.schedule.stages.iter().enumerate() {
            let parts: f64 = self.fit.schedule.stages[..=number].iter().map(|stage| stage.part).sum();
            let end = (parts * self.fit.steps as f64).round() as u64;
            let stretch = Stretch { made, end, seed: aside(self.job.seed, "fit").child(number as u64) };
            let target = Tempered::new(self.counted, stage.power)?;
            let guard = Defence::new(stage.defence, self.tail.clone())?;
            let (on, trail) = ((&target, &family), &mut trail);
            let ended = match self.fit.method {
                Method::Pmcsa { chains } => self.climb(on, pmcsa(chains).guarded(guard), stretch, trail),
                Method::Jsa { transitions } => {
                    self.climb(on, jsa(transitions).guarded(guard), stretch, trail)
                }
                Method::MscRb { fresh } => self.climb(on, msc_rb(fresh + 1).guarded(guard), stretch, trail),
                Method::Elbo { samples } => {
                    self.climb((&target, &pushforward), FlowElbo::new(samples), stretch, trail)
                }
                ref other => Err(Error::invalid(format!("{} does not fit every family", other.kind()))),
            }?;
            (made, outcome) = (end, Some(ended));
            if outcome.as_ref().is_some_and(went_wrong) {
                break;
            }
        }
        let failure = outcome.as_ref().filter(|ended| went_wrong(ended)).map(Outcome::to_string);
        if self.family.dim() == 2 && failure.is_none() {
            self.keep_draws(&mut trail);
        }
        let mut counts = totals(self.counted.counts(), family.counts());
        for (name, count) in totals(Counts::default(), pushforward.counts()) {
            *counts.entry(name).or_default() += count;
        }
        let Trail { rows, seconds, .. } = trail;
        let measuring = since.elapsed().as_secs_f64() - seconds;
        Ok((rows, Ended { failure, outcome, health: None, counts, seconds, measuring }))
    }

    /// One stage, its chains begun anew.
    fn climb<P, F: ?Sized, E: Estimator<P, F>>(
        &self,
        (target, family): (&P, &F),
        estimator: E,
        Stretch { made, end, seed }: Stretch,
        trail: &mut Trail,
    ) -> Result<Outcome, Error> {
        let ascent = Ascent { target, family, estimator, optimizer: self.fit.optimizer.clone(), seed };
        let mut fit = ascent.start(trail.params.clone())?;
        let mut ended = Outcome::BudgetSpent { accuracy: None };
        let mut stops = self.fit.trace.steps(self.fit.steps);
        stops.retain(|&step| step > made && step < end);
        stops.push(end);
        for stop in stops {
            let since = now();
            let left = stop - made - fit.step();
            ended = ascent.run(&mut fit, left, &mut [])?;
            trail.seconds += since.elapsed().as_secs_f64();
            trail.params.copy_from_slice(fit.params());
            if went_wrong(&ended) {
                break;
            }
            self.record(trail, stop, fit.watch().acceptance().unwrap_or(f64::NAN))?;
        }
        Ok(ended)
    }

    /// Adds a row. What it measures is not counted.
    ///
    /// ```text
    /// kl = E_p[log p - log q] - log Z,   by draws of p;   w = p / (q Z) at draws of q and of p
    /// ```
    fn record(&self, trail: &mut Trail, step: u64, acceptance: f64) -> Result<(), Error> {
        let (points, log_w) = self.weights(&trail.params, step);
        let Reference { points: truth, log_p, .. } = self.reference;
        let mut log_q = vec![0.0; truth.ncols()];
        let mut work = vec![0.0; self.family.work_len(truth.ncols())];
        self.family.log_probs(&trail.params, truth.as_ref(), &mut log_q, &mut work);
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
            ("p_evaluations", self.counted.counts().log_density as f64),
            ("p_gradients", self.counted.counts().gradient as f64),
            ("seconds", trail.seconds),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        if let (Some(share), Some(of_truth)) = (self.reference.share(&points), self.reference.share(truth)) {
            values.insert("share".to_owned(), share);
            values.insert("share_of_target".to_owned(), of_truth);
        }
        trail.rows.push(Row { step, values });
        Ok(())
    }

    /// Draws of q with their densities, the same at the same step.
    fn draws(&self, params: &[f64], step: u64) -> (Mat<f64>, Vec<f64>) {
        let (mut points, mut log_q) = (Mat::zeros(self.family.dim(), DRAWS), vec![0.0; DRAWS]);
        let mut work = vec![0.0; self.family.work_len(DRAWS)];
        let mut lane = [aside(self.job.seed, "measure").stream(0, step)];
        self.family.sample_into(params, &mut lane, points.as_mut(), &mut log_q, &mut work);
        (points, log_q)
    }

    /// The same with `log p - log q - log Z`; a draw where that is no number has no weight.
    fn weights(&self, params: &[f64], step: u64) -> (Mat<f64>, Vec<f64>) {
        let (points, log_q) = self.draws(params, step);
        let mut log_p = vec![0.0; DRAWS];
        let mut work = vec![0.0; self.target.work_len(DRAWS)];
        self.target.log_densities(points.as_ref(), &mut log_p, &mut work);
        let decided = |w: f64| if w.is_nan() { f64::NEG_INFINITY } else { w };
        (points, self.log_weights(&log_p, &log_q).map(decided).collect())
    }

    fn log_weights(&self, log_p: &[f64], log_q: &[f64]) -> impl Iterator<Item = f64> {
        log_p.iter().zip(log_q).map(|(p, q)| p - q - self.reference.log_normaliser)
    }

    /// Draws of q in the last row, for a picture of the plane.
    fn keep_draws(&self, trail: &mut Trail) {
        let (points, _) = self.draws(&trail.params, self.fit.steps);
        if let Some(last) = trail.rows.last_mut() {
            for (k, point) in points.col_iter().take(SEEN).enumerate() {
                last.values.insert(format!("x_{k:03}"), point[0]);
                last.values.insert(format!("y_{k:03}"), point[1]);
            }
        }
    }
}

fn went_wrong(ended: &Outcome) -> bool {
    ended.is_failure()
}
