//! Climbs of one family by running moments from a start that is off.

use faer::Mat;
use mcsa_core::{Counted, Error, MomentMatched, Seed};
use mcsa_estimators::{Ascent, Draws, Moments, Run, pmcsa};
use mcsa_families::{FullRank, LowRank, MeanField, MultivariateT};
use mcsa_optim::Sgd;
use mcsa_optim::deterministic::{Gaussian, Laplace, Lbfgs};

use super::checkpoints::Checkpoints;
use super::spent::{Meter, Spent};
use super::{Done, Running, Tally, now};
use crate::catalog::{Built, Method, Posterior, Truth};
use crate::store::Row;
use crate::task::{Climber, Job, Rung};

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
