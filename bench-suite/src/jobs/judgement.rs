//! Fits in one call with their verdicts, and climbs of one family from a start that is off.

use std::ops::ControlFlow;

use faer::Mat;
use mcsa::posterior::{FitResult, FitState, Objection, Options, Target};
use mcsa_core::{Counted, Error, Seed};
use mcsa_estimators::{Ascent, Draws, Moments, Run, pmcsa};
use mcsa_families::{FullRank, LowRank, MeanField, MomentMatched, MultivariateT};
use mcsa_optim::Sgd;
use mcsa_optim::deterministic::{Gaussian, Laplace, Lbfgs};

use super::running::{Checkpoints, Meter, Spent};
use super::{Done, Running, Tally, now};
use crate::catalog::{Built, Method, Posterior, Truth};
use crate::store::Row;
use crate::task::{Climber, Job, Judgement, Rung};

/// Distance, in standard deviations of a standard normal mode, within which a start has reached it.
const NEAR: f64 = 1.0;

impl Judgement {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<Done>, Error> {
        let mut checkpoints = Checkpoints::new(job, running);
        let Some(case) = self.case() else { return Err(Error::invalid("the target is no case")) };
        let built = case.build(running.catalogue)?;
        let start = || (Vec::new(), Spent::default());
        let (mut rows, before): (Vec<Row>, Spent) = checkpoints.last()?.unwrap_or_else(start);
        // Runs of different cases are independent: rates are over all of them.
        let seed = job.seed.named(&case.title());
        let meter = Meter::after(before);
        let mut counts = Tally::new();
        checkpoints.tell(rows.len() as u64 * self.evaluations);
        while (rows.len() as u64) < self.runs {
            let made = checkpoints.stretch(self.runs - rows.len() as u64);
            for _ in 0..made {
                let run = rows.len() as u64 + 1;
                let values = self.fit(&built, seed.child(run))?;
                for (name, value) in values.iter().filter(|(name, _)| name.starts_with("p_")) {
                    *counts.entry((*name).to_owned()).or_default() += *value as u64;
                }
                rows.push(Row::new(run, values));
            }
            if !checkpoints.goes_on(made, made * self.evaluations, || (&rows, meter.spent(counts.clone()))) {
                return Ok(None);
            }
        }
        Ok(Some((rows, meter.spent(counts).ended())))
    }

    fn fit(&self, built: &Built, seed: Seed) -> Result<Vec<(&'static str, f64)>, Error> {
        let posterior = &*built.posterior;
        let target = match self.gradient {
            true => Target::with_gradient(&posterior),
            false => Target::density_only(&posterior),
        };
        let number = (seed.stream(0, 0).uniform() * 2.0_f64.powi(53)) as u64;
        let options = Options { evaluations: self.evaluations, ..Options::seeded(number) };
        let mut fitting = FitState::new(&options)?;
        let fitted =
            fitting.run(&target, &mut |_| ControlFlow::Continue(())).and_then(|()| fitting.finish(&target));
        let spent = target.evaluations();
        let mut values =
            vec![("p_evaluations", spent.density as f64), ("p_gradients", spent.gradient as f64)];
        if let Some(hidden) = &built.hidden {
            let near = |point: &[f64]| {
                let square: f64 = point.iter().zip(hidden).map(|(a, b)| (a - b).powi(2)).sum();
                square.sqrt() < NEAR
            };
            let modes = fitting.ascents.modes.iter().filter(|mode| near(&mode.point));
            let reached: usize = modes.map(|mode| mode.reached).sum();
            values.push(("start_share", reached as f64 / fitting.ascents.made.max(1) as f64));
        }
        // A fit that ends with an error gives no answer: the verdict is no.
        match fitted {
            Ok(fitted) => values.extend(seen(&fitted, &built.truth)),
            Err(_) => values.extend([("yes", 0.0), ("objects_error", 1.0)]),
        }
        Ok(values)
    }
}

/// Errors and verdict of a fit.
fn seen(fitted: &FitResult, truth: &Truth) -> Vec<(&'static str, f64)> {
    let mut values = vec![
        ("yes", if fitted.verdict.is_yes() { 1.0 } else { 0.0 }),
        ("k_hat", fitted.draws.shape),
        ("sample_share", fitted.draws.sample_size / fitted.draws.len() as f64),
    ];
    if let Truth::Moments { means, sds } = truth {
        let (mean, variance) = fitted.draws.moments();
        let errors = means.iter().zip(sds).zip(mean.iter().zip(&variance));
        let largest = |all: Vec<f64>| all.into_iter().fold(0.0, |a: f64, b| if b <= a { a } else { b });
        let of_means = errors.clone().map(|((m, sd), (mean, _))| ((mean - m) / sd).abs()).collect();
        let of_sds = errors.map(|((_, sd), (_, variance))| (variance.sqrt() / sd).ln().abs()).collect();
        values.push(("answer_error", largest(of_means)));
        values.push(("answer_stretch", largest(of_sds).exp()));
    }
    let mut witnesses: Vec<&'static str> = fitted.verdict.objections.iter().map(witness).collect();
    witnesses.sort_unstable();
    witnesses.dedup();
    values.extend(witnesses.into_iter().map(|witness| (witness, 1.0)));
    values
}

/// Metric of a witness: 1 in a run in which it objects.
fn witness(objection: &Objection) -> &'static str {
    match objection {
        Objection::Gradient { .. } => "objects_gradient",
        Objection::Weights { .. } | Objection::Spread { .. } => "objects_weights",
        Objection::Start { .. } | Objection::Starts { .. } => "objects_start",
        Objection::Mixing { .. } => "objects_mixing",
        Objection::Moments { .. } => "objects_moments",
        Objection::Missed { .. } | Objection::WiderProposals { .. } => "objects_missed",
        Objection::Tail { .. } => "objects_tail",
        Objection::NonFinite { .. } | Objection::Random { .. } => "objects_non_finite",
        Objection::Unconfirmed
        | Objection::Budget
        | Objection::Time
        | Objection::Interrupted
        | Objection::Unverified { .. }
        | Objection::Draws { .. }
        | Objection::Tempering { .. } => "objects_budget",
    }
}

/// Error of the start in standard deviations, and factor of its scales, where there is no Laplace approximation.
const OFF: (f64, f64) = (0.3, 1.14);
/// Number of factors of the low-rank family.
const RANK: usize = 10;
/// Degrees of freedom of the Student t at the start.
const FREEDOM: f64 = 8.0;
/// Number of draws that are weighted at the end, if the task has none.
const DRAWS: usize = 4_000;
/// Prior sample size of the start, per dimension.
const START: f64 = 10.0;

impl Rung {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<Done>, Error> {
        let mut checkpoints = Checkpoints::new(job, running);
        let Some(case) = self.case() else { return Err(Error::invalid("the target is no case")) };
        let built = case.build(running.catalogue)?;
        let start = || (Vec::new(), Spent::default());
        let (mut rows, before): (Vec<Row>, Spent) = checkpoints.last()?.unwrap_or_else(start);
        let meter = Meter::after(before);
        let mut counts = Tally::new();
        checkpoints.tell(rows.len() as u64 * self.evaluations);
        while (rows.len() as u64) < self.runs {
            let made = checkpoints.stretch(self.runs - rows.len() as u64);
            for _ in 0..made {
                let run = rows.len() as u64 + 1;
                let values = self.climb(&built, job.seed.named("climb").child(run))?;
                for (name, value) in values.iter().filter(|(name, _)| name.starts_with("p_")) {
                    *counts.entry((*name).to_owned()).or_default() += *value as u64;
                }
                rows.push(Row::new(run, values));
            }
            if !checkpoints.goes_on(made, made * self.evaluations, || (&rows, meter.spent(counts.clone()))) {
                return Ok(None);
            }
        }
        Ok(Some((rows, meter.spent(counts).ended())))
    }

    fn climb(&self, built: &Built, seed: Seed) -> Result<Vec<(&'static str, f64)>, Error> {
        let Method::Pmcsa { chains } = self.method else {
            return Err(Error::invalid("parallel chains are needed"));
        };
        let Truth::Moments { means, sds } = &built.truth else {
            return Err(Error::invalid("a climb is judged by moments"));
        };
        let begun = now();
        let target = Counted::new(&*built.posterior);
        let (family, params) = self.start(built, &target, seed)?;
        let spent = target.counts();
        let counted = self.draws.unwrap_or(0) as u64;
        let left = self.evaluations.saturating_sub(spent.log_density + spent.gradient + counted);
        let estimator = Moments::new(pmcsa(chains), START * family.dim() as f64);
        let (target, family) = (&target, &*family);
        let ascent = Ascent { target, family, estimator, optimizer: Sgd::new(1.0)?, seed };
        let mut fit = ascent.start(params)?;
        ascent.run(&mut fit, Run::of((left / chains as u64).saturating_sub(1)))?;
        let (seconds, spent) = (begun.elapsed().as_secs_f64(), target.counts());
        let number = self.draws.unwrap_or(DRAWS);
        let draws = Draws::of(target, family, fit.params(), seed.named("draws").stream(0, 0), number)?;
        let (weighted, _) = draws.moments();
        let error = |found: &[f64]| {
            let errors =
                found.iter().zip(means).zip(sds).map(|((found, mean), sd)| ((found - mean) / sd).abs());
            errors.fold(0.0, |a: f64, b| if b <= a { a } else { b })
        };
        Ok(vec![
            // Every family begins its parameters with the mean or location.
            ("fit_error", error(&fit.params()[..means.len()])),
            ("answer_error", error(&weighted)),
            ("k_hat", draws.shape),
            ("sample_share", draws.sample_size / number as f64),
            ("p_evaluations", spent.log_density as f64),
            ("p_gradients", spent.gradient as f64),
            ("seconds", seconds),
        ])
    }

    /// Family, and parameters at its start: Laplace's approximation of a regression; the moments of other targets, moved.
    fn start(
        &self,
        built: &Built,
        target: &Counted<&dyn Posterior>,
        seed: Seed,
    ) -> Result<(Box<dyn MomentMatched>, Vec<f64>), Error> {
        let mut stream = seed.named("start").stream(0, 0);
        let gaussian = match (&built.covariance, &built.truth) {
            (Some(covariance), Truth::Moments { means, sds }) => {
                let mut off = |sd: f64| if stream.uniform() < 0.5 { OFF.0 * sd } else { -OFF.0 * sd };
                let mean = means.iter().zip(sds).map(|(mean, sd)| mean + off(*sd)).collect();
                let wide = Mat::from_fn(means.len(), means.len(), |i, j| OFF.1 * OFF.1 * covariance[(i, j)]);
                Gaussian { mean, covariance: wide }
            }
            _ => {
                let origin = vec![0.0; mcsa_core::LogDensity::dim(target)];
                let peak = Lbfgs::default().mode(target, &origin)?;
                Laplace::by_differences(target, &peak.point)?.gaussian
            }
        };
        let (dim, mean, scales) = (gaussian.mean.len(), gaussian.mean.clone(), gaussian.scales());
        Ok(match self.family {
            Climber::MeanField => {
                let family = MeanField::new(dim);
                (Box::new(family), family.at(&mean, &scales)?)
            }
            Climber::LowRank => {
                let family = LowRank::new(dim, RANK.min(dim));
                let factor = Mat::from_fn(dim, RANK.min(dim), |i, _| 0.1 * scales[i] * stream.normal());
                (Box::new(family), family.at(&mean, &scales, factor.as_ref())?)
            }
            Climber::FullRank => {
                let family = FullRank::new(dim);
                (Box::new(family), family.at(&mean, gaussian.factor()?.as_ref())?)
            }
            Climber::StudentT => {
                let family = MultivariateT::learned(dim, 2.0)?;
                (Box::new(family), family.at(&mean, gaussian.factor()?.as_ref(), FREEDOM)?)
            }
        })
    }
}
