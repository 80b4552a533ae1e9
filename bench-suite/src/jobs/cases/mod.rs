//! Runs on cases: fits by `mcsa::fit` with their verdicts, fits of one family by running moments, and methods of inference within
//! budgets of evaluations.

mod answer;
mod methods;

use std::ops::ControlFlow;

use faer::Mat;
use mcsa::Calibration;
use mcsa::posterior::{FitResult, FitState, Objection, Options, Target};
use mcsa_core::{Counted, Error, Gradient, Seed, Stream};
use mcsa_estimators::{Ascent, Draws, Moments, Run, pmcsa};
use mcsa_families::{FullRank, Link, LowRank, MeanField, MomentMatched, MultivariateT};
use mcsa_optim::deterministic::{Gaussian, Laplace, Lbfgs};
use mcsa_optim::{Adam, Schedule, Sgd};

use super::running::rows_of_fits;
use super::{JobEnd, Running, now};
use crate::catalog::{self, Built, Case, Entrant, FamilyConfig, Method, Moment, Posterior, Simulated, Truth};
use crate::metric::Vector;
use crate::store::Row;
use crate::task::{Benchmark, Job, Judgement, Rung};
use answer::{Answer, Known};

impl Judgement {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<JobEnd>, Error> {
        let (title, built) = built(&self.target, running)?;
        // Runs of different cases are independent: rates are over all of them.
        let seed = job.seed.named(&title);
        if let Some(Case::Simulated { model, prior }) = self.target.case() {
            return rows_of_fits(job, running, |number| self.ranked(*model, *prior, seed, number));
        }
        let row = |number| {
            let drawn =
                self.target.case().map_or(Ok(None), |case| case.redrawn(job.seed.child(number + 1)))?;
            Ok(Row::new(number + 1, self.fit(drawn.as_ref().unwrap_or(&built), seed.child(number + 1))?))
        };
        rows_of_fits(job, running, row)
    }

    /// Row of one simulated data set.
    fn ranked(&self, model: Simulated, prior: f64, seed: Seed, number: u64) -> Result<Row, Error> {
        let call = if self.gradient { mcsa::fit::<Box<dyn Gradient>> } else { mcsa::fit_density };
        let plan = Calibration { options: self.options(seed), ..Calibration::default() };
        let ranked = plan.data_set(number, |stream| model.draw(prior, stream), call)?;
        let yes = if ranked.no.is_none() { 1.0 } else { 0.0 };
        let vectors = [(Vector::Ranks, ranked.ranks)].into();
        Ok(Row { vectors, ..Row::new(number + 1, [("yes", yes)]) })
    }

    fn options(&self, seed: Seed) -> Options {
        let number = (seed.stream(0, 0).uniform() * 2.0_f64.powi(53)) as u64;
        Options { evaluations: Some(self.evaluations), ..Options::seeded(number) }
    }

    fn fit(&self, built: &Built, seed: Seed) -> Result<Vec<(&'static str, f64)>, Error> {
        let posterior = &*built.posterior;
        let target = match self.gradient {
            true => Target::with_gradient(&posterior),
            false => Target::density_only(&posterior),
        };
        let mut fitting = FitState::new(&self.options(seed))?;
        let fitted =
            fitting.run(&target, &mut |_| ControlFlow::Continue(())).and_then(|()| fitting.finish(&target));
        let spent = target.evaluations();
        let mut values =
            vec![("p_evaluations", spent.density as f64), ("p_gradients", spent.gradient as f64)];
        let reached = built.hidden.iter().map(|hidden| {
            let modes = fitting.ascents.modes.iter().filter(|mode| hidden(&mode.point));
            modes.map(|mode| mode.reached).sum::<usize>()
        });
        if let Some(least) = reached.min() {
            values.push(("start_share", least as f64 / fitting.ascents.made.max(1) as f64));
        }
        // A fit that ends with an error gives no answer: the verdict is no.
        match fitted {
            Ok(fitted) => values.extend(seen(&fitted, &built.truth)),
            Err(_) => values.extend([("yes", 0.0), ("objects_error", 1.0)]),
        }
        Ok(values)
    }
}

fn seen(fitted: &FitResult, truth: &Truth) -> Vec<(&'static str, f64)> {
    let mut values = vec![
        ("yes", if fitted.verdict.is_yes() { 1.0 } else { 0.0 }),
        ("by_chains", if fitted.sampled.is_some() { 1.0 } else { 0.0 }),
        ("k_hat", fitted.draws.shape),
        ("sample_share", fitted.draws.sample_size / fitted.draws.len() as f64),
    ];
    if let Truth::Moments { means, sds } = truth {
        let (mean, found) = fitted.moments();
        // A standard deviation that is not shown is neither right nor wrong.
        let is_shown = |found: f64| fitted.sampled.is_none() || !found.is_nan();
        let shown = found.iter().zip(sds).filter(|(found, _)| is_shown(**found));
        let of_sds = shown.map(|(found, sd)| (found / sd).ln().abs());
        values.push(("answer_error", mean_error(&mean, means, sds)));
        values.push(("answer_stretch", largest(of_sds).exp()));
    }
    let mut witnesses: Vec<&'static str> = fitted.verdict.objections.iter().map(witness).collect();
    witnesses.sort_unstable();
    witnesses.dedup();
    values.extend(witnesses.into_iter().map(|witness| (witness, 1.0)));
    values
}

/// The largest error; NaN if one is.
fn largest(errors: impl Iterator<Item = f64>) -> f64 {
    errors.fold(0.0, |a, b| if b <= a { a } else { b })
}

/// Largest error of a mean in standard deviations.
fn mean_error(found: &[f64], means: &[f64], sds: &[f64]) -> f64 {
    largest(found.iter().zip(means).zip(sds).map(|((found, mean), sd)| ((found - mean) / sd).abs()))
}

/// Metric of a witness: 1 in a run in which it objects.
fn witness(objection: &Objection) -> &'static str {
    match objection {
        Objection::Gradient { .. } => "objects_gradient",
        Objection::Weights { .. } | Objection::Spread { .. } => "objects_weights",
        Objection::Start { .. } | Objection::Starts { .. } => "objects_start",
        Objection::Mixing { .. }
        | Objection::Slow { .. }
        | Objection::Divergences { .. }
        | Objection::Stein { .. } => "objects_mixing",
        Objection::Moments { .. } => "objects_moments",
        Objection::Passed { .. } | Objection::Missed { .. } | Objection::WiderProposals { .. } => {
            "objects_missed"
        }
        Objection::Tail { .. } => "objects_tail",
        Objection::NonFinite { .. } | Objection::Random { .. } => "objects_non_finite",
        Objection::Budget
        | Objection::Time
        | Objection::Interrupted
        | Objection::Unverified { .. }
        | Objection::Draws { .. }
        | Objection::Tempering { .. } => "objects_budget",
    }
}

/// Error of the start in standard deviations, and factor of its scales, where the start is made of the moments of the target.
const OFF: (f64, f64) = (0.3, 1.14);
const RANK: usize = 10;
/// Degrees of freedom of a Student t at the start, and their lower bound: with it the covariance is finite.
const FREEDOM: (f64, f64) = (8.0, 2.0);
/// Number of draws that are weighted at the end of a fit, if the task has none, and most draws of an answer.
const DRAWS: usize = 4_000;
/// Prior sample size of the start, per dimension.
const START: f64 = 10.0;

impl Rung {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<JobEnd>, Error> {
        let (_, built) = built(&self.target, running)?;
        let seed = job.seed.named("climb");
        let row = |number| Ok(Row::new(number + 1, self.fit(&built, seed.child(number + 1))?));
        rows_of_fits(job, running, row)
    }

    fn fit(&self, built: &Built, seed: Seed) -> Result<Vec<(&'static str, f64)>, Error> {
        let Method::Pmcsa { chains } = self.method else {
            return Err(Error::invalid("parallel chains are needed"));
        };
        let Truth::Moments { means, sds } = &built.truth else {
            return Err(Error::invalid("a fit is judged by moments"));
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
        Ok(vec![
            // Every family begins its parameters with the mean or location.
            ("fit_error", mean_error(&fit.params()[..means.len()], means, sds)),
            ("answer_error", mean_error(&weighted, means, sds)),
            ("k_hat", draws.shape),
            ("sample_share", draws.sample_size / number as f64),
            ("p_evaluations", spent.log_density as f64),
            ("p_gradients", spent.gradient as f64),
            ("seconds", seconds),
        ])
    }

    /// Family, and parameters at its start: the moments of a target whose covariance has a closed form, displaced by `OFF`; else
    /// Laplace's approximation.
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
        moments_at(self.family, &gaussian, &mut stream)
    }
}

/// Family of running moments at a Gaussian, with its parameters there; `stream` draws the factors of one of low rank.
fn moments_at(
    family: Moment,
    gaussian: &Gaussian,
    stream: &mut Stream,
) -> Result<(Box<dyn MomentMatched>, Vec<f64>), Error> {
    let (mean, scales) = (&gaussian.mean, gaussian.scales());
    let dim = mean.len();
    Ok(match family {
        Moment::MeanField => {
            let family = MeanField::new(dim);
            (Box::new(family), family.at(mean, &scales)?)
        }
        Moment::LowRank => {
            let family = LowRank::new(dim, RANK.min(dim));
            let factor = Mat::from_fn(dim, RANK.min(dim), |i, _| 0.1 * scales[i] * stream.normal());
            (Box::new(family), family.at(mean, &scales, factor.as_ref())?)
        }
        Moment::FullRank => {
            let family = FullRank::new(dim);
            (Box::new(family), family.at(mean, gaussian.factor()?.as_ref())?)
        }
        Moment::StudentT | Moment::Mixture => {
            let family = MultivariateT::learned(dim, FREEDOM.1)?;
            (Box::new(family), family.at(mean, gaussian.factor()?.as_ref(), FREEDOM.0)?)
        }
    })
}

/// Title of a target that is a case, and what is known of it.
fn built(target: &catalog::Target, running: &Running<'_>) -> Result<(String, Built), Error> {
    let case = target.case().ok_or_else(|| Error::invalid("the target is no case"))?;
    Ok((case.title(), case.build(running.catalogue)?))
}

/// Metrics that are infinite if a run fails, on targets with moments.
const ERRORS: [&str; 5] = ["answer_error", "answer_median", "spread_error", "spread_median", "wasserstein"];

#[derive(Clone, Copy)]
struct Bounded<'r, 'a> {
    target: &'r Counted<&'a dyn Posterior>,
    /// Evaluations, with those of the start and of the draws.
    budget: u64,
    /// Half the width of the cube from which starts are drawn; the standard deviation of normal starts is half of it.
    reach: f64,
    seed: Seed,
}

impl Bounded<'_, '_> {
    /// Number of weighted draws: at most a third of the budget.
    fn draws(&self) -> usize {
        DRAWS.min((self.budget / 3) as usize)
    }

    /// Evaluations so far, with or without a gradient.
    fn spent(&self) -> u64 {
        let spent = self.target.counts();
        spent.log_density + spent.gradient
    }

    /// Number of steps of `cost` evaluations that leave room for the draws.
    fn steps(&self, cost: usize) -> u64 {
        self.budget.saturating_sub(self.spent() + self.draws() as u64) / cost.max(1) as u64
    }
}

impl Benchmark {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<JobEnd>, Error> {
        let Some(entrant) = self.entrant() else {
            return Err(Error::invalid("the method is no method of inference"));
        };
        let known = Known::of(built(&self.target, running)?.1);
        let ladder = self.reached();
        let row = |number: u64| {
            let budget = ladder[number as usize];
            Ok(Row::new(budget, row(entrant, &known, (budget, self.reach), job.seed)))
        };
        rows_of_fits(job, running, row)
    }
}

/// Row of a run within one budget. A method that ends with an error, or with draws that are not finite, has failed, and its
/// errors are infinite.
fn row(
    entrant: &Entrant,
    known: &Known,
    (budget, reach): (u64, f64),
    seed: Seed,
) -> Vec<(&'static str, f64)> {
    let (begun, target) = (now(), Counted::new(&*known.built.posterior));
    let found = answer(entrant, Bounded { target: &target, budget, reach, seed });
    let (seconds, spent) = (begun.elapsed().as_secs_f64(), target.counts());
    let mut values = vec![
        ("p_evaluations", spent.log_density as f64),
        ("p_gradients", spent.gradient as f64),
        ("seconds", seconds),
    ];
    match found.ok().and_then(|answer| answer.measures(known)) {
        Some(measures) => values.extend(measures.into_iter().chain([("failed", 0.0)])),
        None => {
            let errors: &[&'static str] = match known.built.truth {
                Truth::Moments { .. } => &ERRORS,
                Truth::None => &[],
            };
            values.extend(errors.iter().map(|name| (*name, f64::INFINITY)));
            values.push(("failed", 1.0));
        }
    }
    values
}

fn answer(entrant: &Entrant, run: Bounded<'_, '_>) -> Result<Answer, Error> {
    match entrant {
        Entrant::Moments { family } => run.moments(*family),
        Entrant::Pmcsa { chains, rate, laplace } => {
            let family = FamilyConfig::MeanField { link: Link::Softplus };
            run.pmcsa(&family, *chains, Adam::new(*rate)?, &run.begin(*laplace))
        }
        Entrant::Flow { family, chains, rate } => {
            let rate = Schedule::power(*rate, 0.0, 0.5)?;
            run.pmcsa(family, *chains, Adam::new(rate)?, &run.start(0))
        }
        Entrant::Elbo { family, samples, rate, laplace } => run.elbo(family, *samples, *rate, *laplace),
        Entrant::BatchMatch { samples, laplace } => run.batch_match(*samples, *laplace),
        Entrant::Pathfinder => run.pathfinder(),
        Entrant::Nuts => run.nuts(),
        Entrant::Fit => run.fit(),
    }
}

#[cfg(test)]
mod tests {
    use mcsa_core::{Seed, from_fn};
    use mcsa_data::Catalogue;

    use super::*;
    use crate::catalog::Case;

    fn entrants() -> Vec<Entrant> {
        let families =
            [Moment::MeanField, Moment::LowRank, Moment::FullRank, Moment::StudentT, Moment::Mixture];
        let flow = FamilyConfig::AffineFlow { couplings: 2, width: 4, freedom: None };
        let mut all: Vec<Entrant> = families.map(|family| Entrant::Moments { family }).into();
        all.extend([
            Entrant::Pmcsa { chains: 10, rate: 0.02, laplace: false },
            Entrant::Pmcsa { chains: 10, rate: 0.02, laplace: true },
            Entrant::Flow { family: flow.clone(), chains: 10, rate: 0.02 },
            Entrant::Elbo { family: flow.clone(), samples: 10, rate: 0.02, laplace: false },
            Entrant::Elbo { family: flow, samples: 10, rate: 0.02, laplace: true },
            Entrant::Elbo { family: FamilyConfig::FullRank, samples: 10, rate: 0.02, laplace: false },
            Entrant::Elbo { family: FamilyConfig::FullRank, samples: 10, rate: 0.02, laplace: true },
            Entrant::BatchMatch { samples: 5, laplace: false },
            Entrant::BatchMatch { samples: 5, laplace: true },
            Entrant::Pathfinder,
            Entrant::Nuts,
            Entrant::Fit,
        ]);
        all
    }

    fn value(row: &[(&'static str, f64)], name: &str) -> f64 {
        row.iter().find(|(known, _)| *known == name).map_or(f64::NAN, |(_, value)| *value)
    }

    /// A Gaussian in two dimensions with a correlation is easy for every method: means within a quarter of a standard deviation, which is
    /// over ten standard errors of the draws, log standard deviations within a third; the budget holds, but for the witnesses of `fit`.
    #[test]
    fn every_method_finds_a_gaussian_within_its_budget() {
        let known = Known::of(Case::Wishart { dim: 2 }.build(&Catalogue::new(None)).unwrap());
        for entrant in entrants() {
            let name = entrant.title();
            let found = row(&entrant, &known, (20_000, 2.0), Seed::new(5));
            assert_eq!(value(&found, "failed"), 0.0, "{name}");
            assert!(value(&found, "answer_error") < 0.25, "{name}: {found:?}");
            assert!(value(&found, "spread_error") < 0.33, "{name}: {found:?}");
            assert!(value(&found, "wasserstein") < 0.2, "{name}: {found:?}");
            let log_z = value(&found, "evidence_error");
            assert!(log_z < 0.1 || log_z.is_nan() && entrant == Entrant::Nuts, "{name}: {log_z}");
            assert!(value(&found, "answer_median") <= value(&found, "answer_error"), "{name}");
            let spent = value(&found, "p_evaluations") + value(&found, "p_gradients");
            let most = if entrant == Entrant::Fit { 60_000.0 } else { 21_000.0 };
            assert!((1_000.0..most).contains(&spent), "{name}: {spent}");
            assert_eq!(value(&found, "yes").is_nan(), entrant != Entrant::Fit);
            assert_eq!(value(&found, "k_hat").is_nan(), entrant == Entrant::Nuts, "{name}");
        }
    }

    /// Counterexample: the moments of another target are missed.
    #[test]
    fn other_moments_are_missed() {
        let known = Known::of(Case::Wishart { dim: 2 }.build(&Catalogue::new(None)).unwrap());
        let truth = Truth::Moments { means: vec![5.0; 2], sds: vec![0.1; 2] };
        let found =
            row(&Entrant::Nuts, &Known::of(Built { truth, ..known.built }), (20_000, 2.0), Seed::new(5));
        assert!(value(&found, "answer_error") > 10.0 && value(&found, "spread_error") > 1.0, "{found:?}");
    }

    /// A method that cannot end is a failure with infinite errors, not an error of the job: here the density is NaN.
    #[test]
    fn a_failure_is_a_row() {
        let nowhere = from_fn(2, |_| f64::NAN).with_gradient(|_, gradient| gradient.fill(f64::NAN));
        let truth = Truth::Moments { means: vec![0.0; 2], sds: vec![1.0; 2] };
        let known = Known::of(Built { truth, ..Built::unknown(nowhere) });
        for entrant in entrants() {
            let found = row(&entrant, &known, (1_000, 2.0), Seed::new(5));
            assert_eq!(value(&found, "failed"), 1.0, "{}: {found:?}", entrant.title());
            assert_eq!(value(&found, "answer_error"), f64::INFINITY);
        }
    }
}
