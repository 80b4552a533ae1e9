//! Fits of families of paths, with the parameters theta of the model learned beside lambda.

use mcsa_core::{Error, LearnableStateSpace, PathFamily, PathGuide, Seed, StateSpace, Stream, bits};
use mcsa_estimators::{Ascent, Fit as State, Joint, Outcome, PathClimb, msc_paths, smc_paths};
use mcsa_families::Twisted;
use mcsa_kernels::{Bootstrap, PathKernel, Resampling, Smc, Untwisted};
use mcsa_models::Theta;
use serde::{Deserialize, Serialize};

use super::checkpoints::Checkpoints;
use super::counted_volatility::CountedVolatility;
use super::spent::{Meter, Spent};
use super::{Done, Running, aside, now};
use crate::catalog::{Method, Rule, Target};
use crate::experiment::Preset;
use crate::grid::{Entry, Placed, check_on, expand};
use crate::plan::Job;
use crate::store::{Ended, Row};

/// The section `[paths]`: every combination of volatility target, method and optimiser.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PathFits {
    /// Estimation of the evidence at the end of a fit.
    pub scoring: Scoring,
    /// Targets: [`Target::FxVolatility`].
    #[serde(rename = "target", default)]
    targets: Vec<Entry>,
    /// Methods to compare: [`Method::Msc`], which here is conditional SMC, and [`Method::Smc`].
    #[serde(rename = "method", default)]
    methods: Vec<Entry>,
    /// Optimisers of lambda and theta.
    #[serde(rename = "optimizer", default)]
    optimizers: Vec<Entry>,
}

/// Particle filters that estimate the evidence at the last theta.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scoring {
    /// Number of particles.
    pub particles: usize,
    /// Number of filters of each kind; the error of the estimate comes from their spread.
    pub filters: u64,
}

/// A fit of lambda and theta along a path, and estimates of the evidence at its end by particle filters.
///
/// ```text
/// z ~ K,   lambda <- lambda + Adam(d/dlambda log q(z)),   theta <- theta + Adam(d/dtheta log p_theta(z, x))
/// log_z                 by bootstrap filters, common to all methods
/// log_z_as_published    msc: by the filter of the fitted steps and twists;   smc: by that of the fitted steps, untwisted
/// ```
///
/// All estimate `log p_theta(x)` at the fit's own theta. Theta differs between methods, so the estimated quantity differs
/// too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathFit {
    /// Target.
    pub target: Target,
    /// Method that moves the path.
    pub method: Method,
    /// Optimiser of lambda and theta.
    pub optimizer: Rule,
    /// Number of steps.
    pub steps: u64,
    /// Estimation of the evidence at the end.
    pub scoring: Scoring,
}

impl PathFits {
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.scoring.particles == 0 || self.scoring.filters == 0 {
            return Err(Error::invalid("paths.scoring: particles and filters are at least 1"));
        }
        let targets = expand::<Target>("paths.target", &self.targets)?;
        for Placed { value, .. } in &targets {
            if !matches!(value, Target::FxVolatility { .. }) {
                return Err(Error::invalid(format!("paths.target: {} has no paths", value.kind())));
            }
        }
        let methods = expand::<Method>("paths.method", &self.methods)?;
        let labels: Vec<&str> = targets.iter().map(|target| target.value.label()).collect();
        check_on("paths.target", &labels, &methods)?;
        for Placed { value, .. } in &methods {
            if !matches!(value, Method::Msc { .. } | Method::Smc { .. }) {
                let kind = value.kind();
                return Err(Error::invalid(format!("paths.method: {kind} moves no paths; msc and smc do")));
            }
        }
        expand::<Rule>("paths.optimizer", &self.optimizers).map(drop)
    }

    pub(crate) fn tasks(&self, preset: &Preset) -> Result<Vec<PathFit>, Error> {
        let targets = expand::<Target>("paths.target", &self.targets)?;
        let (methods, optimizers) = (
            expand::<Method>("paths.method", &self.methods)?,
            expand::<Rule>("paths.optimizer", &self.optimizers)?,
        );
        let mut tasks = Vec::new();
        for Placed { value: target, .. } in &targets {
            for optimizer in &optimizers {
                let is_here =
                    |m: &&Placed<Method>| m.is_on(target.label()) && preset.admits(target.label(), &m.value);
                tasks.extend(methods.iter().filter(is_here).map(|method| PathFit {
                    target: target.clone(),
                    method: method.value.clone(),
                    optimizer: optimizer.value.clone(),
                    steps: preset.steps,
                    scoring: self.scoring,
                }));
            }
        }
        Ok(tasks)
    }
}

impl PathFit {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<Done>, Error> {
        let checkpoints = Checkpoints::new(job, running);
        // All methods share one seed; each currency has its own.
        let seed = job.seed.named(self.target.label());
        let target = CountedVolatility::new(self.target.volatility(running.catalogue)?);
        let scene = Scene { fit: self, checkpoints, target: &target, seed };
        match self.method {
            Method::Msc { fresh } => scene.climb(msc_paths(fresh + 1)),
            Method::Smc { particles } => scene.climb(smc_paths(particles)?),
            _ => Err(Error::invalid(format!("{} moves no paths", self.method.kind()))),
        }
    }

    pub(super) fn work(&self) -> u64 {
        self.work_of(self.steps, 2 * self.scoring.filters)
    }

    /// Work: a step moves as many states as there are particles, and so does a filter with its own particles.
    fn work_of(&self, steps: u64, filters: u64) -> u64 {
        (steps * self.method.budget() as u64 * 20 + filters * self.scoring.particles as u64) / 1000
    }
}

/// Fixed parts of a running fit.
struct Scene<'s> {
    fit: &'s PathFit,
    checkpoints: Checkpoints<'s>,
    target: &'s CountedVolatility,
    seed: Seed,
}

/// `log Z-hat` of each filter so far.
#[derive(Default, Serialize, Deserialize)]
struct Scores {
    /// From bootstrap filters.
    #[serde(with = "bits::vector")]
    own: Vec<f64>,
    /// From the published filters.
    #[serde(with = "bits::vector")]
    published: Vec<f64>,
}

/// Contents of a checkpoint: the fit, its outcome if it has ended, the filters so far, and the cost.
type Checkpoint<S, O> = (State<S, O>, Option<Outcome>, Scores, Spent);

impl Scores {
    fn count(&self) -> u64 {
        (self.own.len() + self.published.len()) as u64
    }

    /// Estimates of the evidence by bootstrap filters, which are common to all methods, and by the published filters.
    fn values(&self) -> [(String, f64); 4] {
        let [own, published] = [&self.own, &self.published].map(|found| mean_and_error(found));
        let names = ["log_z", "log_z_error", "log_z_as_published", "log_z_as_published_error"];
        let values = [own.0, own.1, published.0, published.1];
        std::array::from_fn(|k| (names[k].to_owned(), values[k]))
    }
}

/// Mean and its standard error; the error of a single value is NaN.
fn mean_and_error(found: &[f64]) -> (f64, f64) {
    let count = found.len() as f64;
    let mean = found.iter().sum::<f64>() / count;
    let square: f64 = found.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (square / (count - 1.0) / count).sqrt())
}

impl Scene<'_> {
    /// Runs the steps of the fit, then the filters.
    fn climb<K: PathKernel>(mut self, climb: PathClimb<K>) -> Result<Option<Done>, Error> {
        let Self { fit: plan, checkpoints, target, seed } = &mut self;
        let filters = 2 * plan.scoring.filters;
        let (estimator, optimizer) = (Joint { climb }, plan.optimizer.clone());
        let ascent =
            Ascent { target: *target, family: &Twisted, estimator, optimizer, seed: aside(*seed, "fit") };
        let lambdas = 2 * target.inner.num_states();
        let kept: Option<Checkpoint<_, _>> = checkpoints.last()?;
        let (mut fit, mut ended, mut scores, before) = match kept {
            Some(kept) => kept,
            None => {
                let fit = ascent.start(start(lambdas, aside(*seed, "start")))?;
                (fit, None, Scores::default(), Spent::default())
            }
        };
        ascent.run(&mut fit, 0).map_err(|error| checkpoints.named(error))?;
        let mut meter = Meter::after(before);
        let counts = || target.counts().map(|(name, count)| (name.to_owned(), count)).into();
        checkpoints.tell(plan.work_of(fit.step(), scores.count()));
        while ended.is_none() {
            let before = fit.step();
            let left = plan.steps - before;
            let most = checkpoints.stretch(left + filters).min(left);
            let outcome = ascent.run(&mut fit, most)?;
            let is_over = fit.step() == plan.steps || outcome.is_failure();
            ended = is_over.then_some(outcome);
            let work = plan.work_of(fit.step(), 0) - plan.work_of(before, 0);
            let state = || (&fit, &ended, &scores, meter.spent(counts()));
            if !checkpoints.goes_on(fit.step() - before, work, state) {
                return Ok(None);
            }
        }
        let (lambda, theta) = fit.params().split_at(lambdas);
        while scores.count() < filters {
            let done = scores.count();
            // Each filter is a stretch of its own: it moves many particles along the whole path.
            checkpoints.stretch(filters - done);
            let start = now();
            plan.filter(target, lambda, theta, *seed, &mut scores)?;
            meter.set_aside(start);
            let work = plan.work_of(plan.steps, done + 1) - plan.work_of(plan.steps, done);
            if !checkpoints.goes_on(1, work, || (&fit, &ended, &scores, meter.spent(counts()))) {
                return Ok(None);
            }
        }
        let failure = ended.as_ref().filter(|outcome| outcome.is_failure()).map(Outcome::to_string);
        let mut row = Row { step: fit.step(), values: scores.values().into() };
        let theta = Theta::from([theta[0], theta[1], theta[2], theta[3]]);
        let own = [
            ("phi", theta.phi()),
            ("sigma", theta.log_sigma.exp()),
            ("log_variance", theta.mu + theta.log_beta),
        ];
        row.values.extend(own.map(|(name, value)| (name.to_owned(), value)));
        let Spent { counts, seconds, measuring } = meter.spent(counts());
        Ok(Some((vec![row], Ended { failure, outcome: ended, health: None, counts, seconds, measuring })))
    }
}

impl PathFit {
    /// Runs one more filter: first bootstrap filters, which are common to all methods, then the published ones.
    fn filter(
        &self,
        target: &CountedVolatility,
        lambda: &[f64],
        theta: &[f64],
        seed: Seed,
        scores: &mut Scores,
    ) -> Result<(), Error> {
        let model = target.inner.at(theta);
        let lane = scores.own.len() as u64;
        if lane < self.scoring.filters {
            let seed = aside(seed, "bootstrap");
            scores.own.push(self.filtered(&model, &mut Bootstrap(&model), seed.stream(lane, 0))?);
            return Ok(());
        }
        let lane = scores.published.len() as u64;
        let mut memory = vec![0.0; Twisted.guide_len(&model)];
        let mut steps = Twisted.guide(&model, lambda, &mut memory);
        scores.published.push(match self.method {
            Method::Smc { .. } => {
                let mut guide = Untwisted { model: &model, guide: steps };
                self.filtered(&model, &mut guide, aside(seed, "untwisted").stream(lane, 0))?
            }
            _ => self.filtered(&model, &mut steps, aside(seed, "twisted").stream(lane, 0))?,
        });
        Ok(())
    }

    /// `log Z-hat` of one filter.
    fn filtered<P: StateSpace, G: PathGuide>(
        &self,
        model: &P,
        guide: &mut G,
        mut lane: Stream,
    ) -> Result<f64, Error> {
        let smc = Smc::new(self.scoring.particles, Resampling::Systematic, 1.0)?;
        let mut work = vec![0.0; smc.work_len(model)];
        Ok(smc.log_evidence(model, guide, &mut lane, &mut work))
    }
}

/// Initial parameters as published: `nu ~ 0.1 N(0, 1)`, `log Lambda ~ 0.5 + 0.1 N(0, 1)`, theta `~ 0.1 N(0, 1)`.
fn start(lambdas: usize, seed: Seed) -> Vec<f64> {
    let mut stream = seed.stream(0, 0);
    let half = lambdas / 2;
    let centre = |k: usize| if (half..lambdas).contains(&k) { 0.5 } else { 0.0 };
    (0..lambdas + 4).map(|k| centre(k) + 0.1 * stream.normal()).collect()
}
