//! Fits of paths, with the parameters of the model beside lambda.

use mcsa::{ChainFamily, Error, LearnableStateSpace, PathFamily, PathGuide, Seed, StateSpace};
use mcsa_estimators::{Ascent, Joint, PathClimb, msc_paths, smc_paths};
use mcsa_families::Twisted;
use mcsa_kernels::{Bootstrap, PathKernel, Resampling, Smc, Untwisted};
use mcsa_models::Theta;
use serde::{Deserialize, Serialize};

use super::counted_volatility::CountedVolatility;
use super::{Done, Running, aside, now};
use crate::catalog::{Method, Rule, Target};
use crate::experiment::Preset;
use crate::grid::{Entry, Placed, check_on, expand};
use crate::plan::Job;
use crate::store::{Ended, Row};

/// The section `[paths]`: every volatility by every method with every optimiser.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PathFits {
    /// How a fit is scored at its end.
    pub scoring: Scoring,
    /// What is fitted: [`Target::FxVolatility`].
    #[serde(rename = "target", default)]
    targets: Vec<Entry>,
    /// What is compared: [`Method::Msc`], which is then conditional SMC, and [`Method::Smc`].
    #[serde(rename = "method", default)]
    methods: Vec<Entry>,
    /// What moves lambda and theta.
    #[serde(rename = "optimizer", default)]
    optimizers: Vec<Entry>,
}

/// Filters that estimate the evidence at the last theta.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scoring {
    /// How many particles.
    pub particles: usize,
    /// How many filters of each kind: from their spread comes the error of the estimate.
    pub filters: u64,
}

/// A fit of lambda and theta along a path, and what filters say of the evidence at its end.
///
/// ```text
/// z ~ K,   lambda <- lambda + Adam(d/dlambda log q(z)),   theta <- theta + Adam(d/dtheta log p_theta(z, x))
/// log_z                 by bootstrap filters, the same for every method
/// log_z_as_published    msc: by the filter of the fitted steps and twists;   smc: by that of the fitted steps, untwisted
/// ```
///
/// All estimate `log p_theta(x)` of the fit's own theta. As theta differs between methods, so does what is estimated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathFit {
    /// What is fitted.
    pub target: Target,
    /// What moves the path.
    pub method: Method,
    /// What moves lambda and theta.
    pub optimizer: Rule,
    /// How many steps.
    pub steps: u64,
    /// How the end is scored.
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
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Done, Error> {
        // Methods meet the same chance, currencies do not.
        let seed = job.seed.named(self.target.label());
        let target = CountedVolatility::new(self.target.volatility(running.catalogue)?);
        let done = match self.method {
            Method::Msc { fresh } => self.climb(msc_paths(fresh + 1), &target, seed),
            Method::Smc { particles } => self.climb(smc_paths(particles)?, &target, seed),
            _ => Err(Error::invalid(format!("{} moves no paths", self.method.kind()))),
        }?;
        (running.progress)(self.work());
        Ok(done)
    }

    pub(super) fn work(&self) -> u64 {
        // A step moves as many states as there are particles, and a filter as many as it has.
        let filters = 2 * self.scoring.filters * self.scoring.particles as u64;
        (self.steps * self.method.budget() as u64 * 20 + filters) / 1000
    }

    fn climb<K: PathKernel>(
        &self,
        climb: PathClimb<K>,
        target: &CountedVolatility,
        seed: Seed,
    ) -> Result<Done, Error> {
        let since = now();
        let (estimator, optimizer) = (Joint { climb }, self.optimizer.clone());
        let ascent = Ascent { target, family: &Twisted, estimator, optimizer, seed: aside(seed, "fit") };
        let lambdas = 2 * target.inner.num_states();
        let mut fit = ascent.start(start(lambdas, aside(seed, "start")))?;
        let outcome = ascent.run(&mut fit, self.steps, &mut [])?;
        let failure = outcome.is_failure().then(|| outcome.to_string());
        let seconds = since.elapsed().as_secs_f64();
        let counts = target.counts().map(|(name, count)| (name.to_owned(), count)).into();
        let (lambda, theta) = fit.params().split_at(lambdas);
        let mut row = Row { step: fit.step(), values: self.score(target, lambda, theta, seed)?.into() };
        let theta = Theta::from([theta[0], theta[1], theta[2], theta[3]]);
        let own = [
            ("phi", theta.phi()),
            ("sigma", theta.log_sigma.exp()),
            ("log_variance", theta.mu + theta.log_beta),
        ];
        row.values.extend(own.map(|(name, value)| (name.to_owned(), value)));
        let measuring = since.elapsed().as_secs_f64() - seconds;
        Ok((vec![row], Ended { failure, outcome: Some(outcome), health: None, counts, seconds, measuring }))
    }

    /// What filters say of the evidence at the end, by the same filter for all methods, and as published.
    fn score(
        &self,
        target: &CountedVolatility,
        lambda: &[f64],
        theta: &[f64],
        seed: Seed,
    ) -> Result<[(String, f64); 4], Error> {
        let model = target.inner.at(theta);
        let chain = Twisted.on(&model);
        let mut memory = vec![0.0; chain.guide_len()];
        let mut steps = chain.guide(lambda, &mut memory);
        let own = self.filtered(&model, &mut Bootstrap(&model), aside(seed, "bootstrap"))?;
        let published = match self.method {
            Method::Smc { .. } => {
                let mut guide = Untwisted { model: &model, guide: steps };
                self.filtered(&model, &mut guide, aside(seed, "untwisted"))?
            }
            _ => self.filtered(&model, &mut steps, aside(seed, "twisted"))?,
        };
        let names = ["log_z", "log_z_error", "log_z_as_published", "log_z_as_published_error"];
        let values = [own.0, own.1, published.0, published.1];
        Ok(std::array::from_fn(|k| (names[k].to_owned(), values[k])))
    }

    /// The mean of the filters' `log Z-hat`, and its standard error; NaN of one filter.
    fn filtered<P: StateSpace, G: PathGuide>(
        &self,
        model: &P,
        guide: &mut G,
        seed: Seed,
    ) -> Result<(f64, f64), Error> {
        let Scoring { particles, filters } = self.scoring;
        let smc = Smc::new(particles, Resampling::Systematic, 1.0)?;
        let mut work = vec![0.0; smc.work_len(model)];
        let found: Vec<f64> = (0..filters)
            .map(|lane| smc.log_evidence(model, guide, &mut seed.stream(lane, 0), &mut work))
            .collect();
        let count = filters as f64;
        let mean = found.iter().sum::<f64>() / count;
        let square: f64 = found.iter().map(|value| (value - mean).powi(2)).sum();
        Ok((mean, (square / (count - 1.0) / count).sqrt()))
    }
}

/// As published: `nu ~ 0.1 N(0, 1)`, `log Lambda ~ 0.5 + 0.1 N(0, 1)`, theta `~ 0.1 N(0, 1)`.
fn start(lambdas: usize, seed: Seed) -> Vec<f64> {
    let mut stream = seed.stream(0, 0);
    let half = lambdas / 2;
    let centre = |k: usize| if (half..lambdas).contains(&k) { 0.5 } else { 0.0 };
    (0..lambdas + 4).map(|k| centre(k) + 0.1 * stream.normal()).collect()
}
