//! Fits of families of paths, with the parameters theta of the model learned beside lambda.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use faer::MatRef;
use mcsa_core::{Error, LogDensity, Seed, Stream, bits};
use mcsa_estimators::{Ascent, Outcome};
use mcsa_models::Learnable;
use mcsa_particles::{
    Bootstrap, FxStates, FxVolatility, GaussianDynamics, JointPaths, PathKernel, PathScore, Resampling, Smc,
    StateSpace, Theta, Twisted, Untwisted, msc_paths, smc_paths,
};
use serde::{Deserialize, Serialize};

use super::running::{JobRun, StageEnd, StageSpan};
use super::{JobEnd, Running};
use crate::catalog::Method;
use crate::store::{Ended, Row};
use crate::task::{Fit, Job};

impl Fit {
    /// Runs a fit of a family of paths: its steps, then the filters.
    pub(super) fn run_path(
        &self,
        particles: usize,
        filters: u64,
        job: &Job,
        running: &Running<'_>,
    ) -> Result<Option<JobEnd>, Error> {
        let smc = Smc::new(particles, Resampling::Systematic, 1.0)?;
        match self.method {
            Method::Msc { fresh } => self.ascend_paths(msc_paths(fresh + 1), smc, 2 * filters, job, running),
            Method::Smc { particles } => {
                self.ascend_paths(smc_paths(particles)?, smc, 2 * filters, job, running)
            }
            _ => Err(Error::invalid(format!("{} moves no paths", self.method.kind()))),
        }
    }

    /// Makes the steps of the fit, then runs the filters `smc`.
    fn ascend_paths<K: PathKernel>(
        &self,
        climb: PathScore<K>,
        smc: Smc,
        filters: u64,
        job: &Job,
        running: &Running<'_>,
    ) -> Result<Option<JobEnd>, Error> {
        // All methods share one seed; each currency has its own.
        let seed = job.seed.named(self.target.label());
        let inner = self.target.volatility(running.catalogue)?;
        let target = &Counting { inner, counters: Counters::default() };
        let names = ["p_evaluations", "p_transitions", "q_steps"].map(str::to_owned);
        let counts = || names.iter().cloned().zip(target.counters.iter().map(|n| n.load(Relaxed))).collect();
        let lambdas = 2 * target.inner.num_states();
        let mut run = JobRun::resume(job, running, Filters::default(), &counts)?;
        if run.records.end.is_none() {
            let (estimator, optimizer) = (JointPaths { climb }, self.optimizer.clone());
            let ascent = Ascent { target, family: &Twisted, estimator, optimizer, seed: seed.named("fit") };
            let stage = StageSpan { to: self.steps, ..StageSpan::default() };
            let params = start(lambdas, seed.named("start"));
            let Some(StageEnd { fit, outcome, failure }) = run.ascend(&ascent, stage, &(), params)? else {
                return Ok(None);
            };
            run.records.end = Some(End { params: fit.params().to_vec(), step: fit.step(), outcome, failure });
        }
        let End { params, step, outcome, failure } = run.records.end.clone().unwrap_or_default();
        let place = params.split_at(lambdas.min(params.len()));
        let made = self.steps + run.records.found.len() as u64;
        let is_over = run.make(made, |meter, records, number| {
            let number = number - self.steps;
            let which = (number < filters / 2, number % (filters / 2));
            records.found.push(meter.untimed(|| filtered((smc, &self.method), target, place, seed, which)));
            Ok(())
        })?;
        if !is_over {
            return Ok(None);
        }
        let (own, published) = run.records.found.split_at(filters as usize / 2);
        let [own, published] = [own, published].map(mean_and_error);
        let theta = Theta::from(std::array::from_fn(|k| place.1[k]));
        let row = Row::new(
            step,
            [
                ("log_z", own.0),
                ("log_z_error", own.1),
                ("log_z_as_published", published.0),
                ("log_z_as_published_error", published.1),
                ("phi", theta.phi()),
                ("sigma", theta.log_sigma.exp()),
                ("log_variance", theta.mu + theta.log_beta),
            ],
        );
        Ok(Some((vec![row], Ended { failure, outcome, ..run.meter.cost() })))
    }
}

/// Records of a fit: its end, then `log Z-hat` of each filter so far; the first half are bootstrap filters.
#[derive(Default, Serialize, Deserialize)]
struct Filters {
    end: Option<End>,
    #[serde(with = "bits::vector")]
    found: Vec<f64>,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct End {
    #[serde(with = "bits::vector")]
    params: Vec<f64>,
    step: u64,
    outcome: Option<Outcome>,
    failure: Option<String>,
}

/// Mean and its standard error; the error of a single value is NaN.
pub(super) fn mean_and_error(found: &[f64]) -> (f64, f64) {
    let count = found.len() as f64;
    let mean = found.iter().sum::<f64>() / count;
    let square: f64 = found.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (square / (count - 1.0) / count).sqrt())
}

/// `log Z-hat` of one filter at the end of a fit by `method`: by a bootstrap filter, common to all methods, or a published one.
fn filtered(
    (smc, method): (Smc, &Method),
    target: &Counting,
    (lambda, theta): (&[f64], &[f64]),
    seed: Seed,
    (is_own, lane): (bool, u64),
) -> f64 {
    let model = target.inner.at(theta);
    let mut work = vec![0.0; smc.work_len(&model)];
    let stream = |name| seed.named(name).stream(lane, 0);
    if is_own {
        return smc.log_evidence(&model, &mut Bootstrap(&model), &mut stream("bootstrap"), &mut work);
    }
    let mut memory = vec![0.0; Twisted.proposal_len(&model)];
    let mut proposal = Twisted.proposal(&model, lambda, &mut memory);
    match method {
        Method::Smc { .. } => {
            let mut proposal = Untwisted { model: &model, proposal: &mut proposal };
            smc.log_evidence(&model, &mut proposal, &mut stream("untwisted"), &mut work)
        }
        _ => smc.log_evidence(&model, &mut proposal, &mut stream("twisted"), &mut work),
    }
}

/// Initial parameters as published: `nu ~ 0.1 N(0, 1)`, `log Lambda ~ 0.5 + 0.1 N(0, 1)`, theta `~ 0.1 N(0, 1)`.
fn start(lambdas: usize, seed: Seed) -> Vec<f64> {
    let mut stream = seed.stream(0, 0);
    let half = lambdas / 2;
    let centre = |k: usize| if (half..lambdas).contains(&k) { 0.5 } else { 0.0 };
    (0..lambdas + 4).map(|k| centre(k) + 0.1 * stream.normal()).collect()
}

/// [`FxVolatility`] with counters of evaluated states.
#[derive(Debug)]
struct Counting {
    inner: FxVolatility,
    counters: Counters,
}

/// Counters of observation densities, of transition densities, and of transition means, with relaxed memory order, because no other
/// operation depends on them.
type Counters = [AtomicU64; 3];

/// The states at one theta.
#[derive(Debug)]
struct CountedStates<'a>(FxStates<'a>, &'a Counters);

impl CountedStates<'_> {
    fn add(&self, counter: usize, count: usize) {
        self.1[counter].fetch_add(count as u64, Relaxed);
    }
}

impl LogDensity for CountedStates<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.0.log_density(z, work)
    }
}

impl StateSpace for CountedStates<'_> {
    fn num_states(&self) -> usize {
        self.0.num_states()
    }

    fn draw_states_into(&self, t: usize, previous: &[f64], stream: &mut Stream, z: &mut [f64]) {
        self.0.draw_states_into(t, previous, stream, z);
    }

    fn log_transitions(&self, t: usize, previous: &[f64], z: &[f64], out: &mut [f64]) {
        self.add(1, out.len());
        self.0.log_transitions(t, previous, z, out);
    }

    fn log_observations(&self, t: usize, z: &[f64], out: &mut [f64]) {
        self.add(0, out.len());
        self.0.log_observations(t, z, out);
    }
}

impl GaussianDynamics for CountedStates<'_> {
    fn means_into(&self, t: usize, previous: &[f64], means: &mut [f64]) -> f64 {
        self.add(2, means.len());
        self.0.means_into(t, previous, means)
    }
}

impl Learnable for Counting {
    type At<'a> = CountedStates<'a>;

    fn num_thetas(&self) -> usize {
        self.inner.num_thetas()
    }

    fn at<'a>(&'a self, theta: &'a [f64]) -> CountedStates<'a> {
        CountedStates(self.inner.at(theta), &self.counters)
    }

    fn anywhere(&self) -> CountedStates<'_> {
        CountedStates(self.inner.anywhere(), &self.counters)
    }

    fn add_theta_gradients(
        &self,
        theta: &[f64],
        rows: &[usize],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.inner.add_theta_gradients(theta, rows, z, weights, gradient, work);
    }
}
