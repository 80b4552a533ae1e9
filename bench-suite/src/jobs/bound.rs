//! Fits to the evidence lower bound: of regressions, models with local latent points, and sparse Gaussian processes.

use mcsa_annealed::{LocalMinibatch, Minibatched, SparseGaussianProcess, SparsePosterior, SparseSurrogate};
use mcsa_core::{
    Columns, Counted, Curvature, Error, Estimator, LogDensity, Pushforward, Seed, Stream, from_fn,
};
use mcsa_estimators::{Ascent, Draws, FlowElbo};
use mcsa_families::{Drawn, FullRank, Link, MeanField, WithTheta};
use mcsa_models::{
    self as models, LocalRobustRegression, WeightsPrior, accuracy, log_odds_from_draws,
    log_predictive_density,
};
use mcsa_optim::{Adam, Schedule};
use serde::{Deserialize, Serialize};

use super::path::mean_and_error;
use super::running::{Iterate, JobRun, Log, StageEnd, StageSpan};
use super::{JobEnd, Running, Tally, terms};
use crate::catalog::{
    AnnealedConfig, Ansatz, FamilyConfig, LabelledRows, Method, OptimizerConfig, Pushed, SparseRows, Target,
    full_rank_at,
};
use crate::store::{Ended, Row};
use crate::task::{Fit, Job};

/// Most draws behind a prediction; later ones change it by less than the error of the bound.
pub(super) const PREDICTING: usize = 1_000;

impl Fit {
    /// Runs a fit whose metrics are those of the bound.
    pub(super) fn run_bound(
        &self,
        draws: usize,
        job: &Job,
        running: &Running<'_>,
    ) -> Result<Option<JobEnd>, Error> {
        let (catalogue, seed) = (running.catalogue, job.seed);
        match self.target {
            Target::HierarchicalLogistic { .. } => {
                self.run_labels(&self.target.hierarchical_rows(catalogue, seed)?, draws, job, running)
            }
            Target::Probit { .. } => {
                self.run_labels(&self.target.probit_halves(catalogue, seed)?, draws, job, running)
            }
            _ => self.run_labels(&self.target.logistic_rows(catalogue, seed)?, draws, job, running),
        }
    }

    fn run_labels<W: WeightsPrior, L: models::Link>(
        &self,
        rows: &LabelledRows<W, L>,
        draws: usize,
        job: &Job,
        running: &Running<'_>,
    ) -> Result<Option<JobEnd>, Error> {
        let place = self.start.place().unwrap_or((0.0, 1.0));
        let Pushed { family, params, terms: others } =
            self.family.pushed(rows, place, job.seed.named("surrogate"))?;
        let (model, family) = (Counted::new(&rows.model), &*family);
        let counts = || terms(&model, others());
        let lane = || job.seed.named("measure").stream(0, self.steps);
        let measure = |params: &[f64]| measured(rows, family, params, lane(), draws);
        let run = JobRun::resume(job, running, Records::default(), &counts)?;
        let whole = (self, 0);
        match self.method {
            Method::Minibatched { samples, batch } => {
                let estimator = Minibatched::new(batch, FlowElbo::new(samples));
                run.finish(whole, (&model, family, estimator), params, &measure)
            }
            Method::Elbo { samples } => {
                run.finish(whole, (&model, family, FlowElbo::new(samples)), params, &measure)
            }
            ref other => Err(Error::invalid(format!("{} is not fitted to the bound", other.kind()))),
        }
    }
}

/// Bound on all training rows, and predictions of the held-out rows.
fn measured<W: WeightsPrior, L: models::Link>(
    rows: &LabelledRows<W, L>,
    family: &dyn Pushforward,
    params: &[f64],
    lane: Stream,
    draws: usize,
) -> Result<Vec<(&'static str, f64)>, Error> {
    let LabelledRows { model, train, test, .. } = rows;
    let draws = Draws::pushed(model, family, params, lane, draws)?;
    let mut odds = vec![0.0; test.rows()];
    let points = draws.points.get(W::FIRST.., ..PREDICTING.min(draws.len()));
    log_odds_from_draws::<L>(test.x.as_ref(), points, &mut odds);
    let rate = train.y.iter().sum::<f64>() / train.rows() as f64;
    let mut values = of_draws(&draws, family, params);
    values.extend([
        ("accuracy", accuracy(&odds, &test.y)),
        ("balanced_accuracy", by_label(accuracy, &odds, &test.y, 0.5)),
        ("lpd", log_predictive_density(&odds, &test.y)),
        ("lpd_as_trained", by_label(log_predictive_density, &odds, &test.y, rate)),
    ]);
    Ok(values)
}

/// Bound and evidence by weighted draws, and the clipped step sizes of annealed paths.
fn of_draws<F: Pushforward + ?Sized>(draws: &Draws, family: &F, params: &[f64]) -> Vec<(&'static str, f64)> {
    let (bound, error) = mean_and_error(&draws.log_ratios());
    let of_weights =
        [("elbo", bound), ("elbo_error", error), ("log_z", draws.log_evidence()), ("k_hat", draws.shape)];
    of_weights.into_iter().chain(of_steps(family, params)).collect()
}

/// Clipped step sizes of annealed paths.
fn of_steps<F: Pushforward + ?Sized>(family: &F, params: &[f64]) -> [(&'static str, f64); 3] {
    let sizes = family.step_sizes(params, &mut vec![0.0; family.work_len(1)]);
    [
        ("zero_steps", sizes.zero as f64),
        ("longest_steps", sizes.longest as f64),
        ("still", f64::from(u8::from(sizes.is_still()))),
    ]
}

/// Mean of a measure of held-out labels in which those of the label 1 have the share `rate`. NaN if a label does not occur.
fn by_label(measure: fn(&[f64], &[f64]) -> f64, odds: &[f64], y: &[f64], rate: f64) -> f64 {
    let of = |label: f64| {
        let found = odds.iter().zip(y).filter(|(_, y)| **y == label);
        let (odds, y): (Vec<f64>, Vec<f64>) = found.map(|(odds, y)| (*odds, *y)).unzip();
        measure(&odds, &y)
    };
    rate * of(1.0) + (1.0 - rate) * of(0.0)
}

/// Metrics of the parameters at the end of a fit.
type Measure<'m> = dyn Fn(&[f64]) -> Result<Vec<(&'static str, f64)>, Error> + 'm;

/// Records of a fit: the row at its end, and the parameters at the end of its first part.
#[derive(Default, Serialize, Deserialize)]
struct Records {
    rows: Vec<Row>,
    #[serde(default, with = "mcsa_core::bits::vector")]
    first: Vec<f64>,
}

impl Log<Records> for &Measure<'_> {
    fn record(&self, records: &mut Records, at: Iterate<'_>, cost: &Ended) -> Result<(), Error> {
        let mut values = self(at.params)?;
        if !cost.counts.is_empty() {
            values.push(("terms", cost.counts.values().sum::<u64>() as f64));
        }
        values.push(("seconds", cost.seconds));
        records.rows.push(Row::new(at.step, values));
        Ok(())
    }
}

impl JobRun<'_, Records> {
    /// Parameters at the end of a first part of as many steps by Adam; those at its start if there are none. The rate 0.01 drops to a
    /// tenth after a half and again after five sixths. `None` if it was interrupted; one that diverges is an error.
    fn first<P: ?Sized, F: ?Sized, E: Estimator<P, F>>(
        &mut self,
        before: u64,
        (target, family, estimator): (&P, &F, E),
        steps: u64,
        start: Vec<f64>,
    ) -> Result<Option<Vec<f64>>, Error> {
        if steps == 0 {
            return Ok(Some(start));
        }
        if self.reached > 0 {
            return Ok(Some(self.records.first.clone()));
        }
        let rate = Schedule::drops(0.01, 0.1, vec![steps / 2, steps - steps / 6])?;
        let optimizer = OptimizerConfig::Adam(Adam::new(rate)?);
        let seed = self.checkpoints.job.seed.named("first");
        let ascent = Ascent { target, family, estimator, optimizer, seed };
        let stage = StageSpan { to: steps, before, ..StageSpan::default() };
        let Some(StageEnd { fit, failure, .. }) = self.ascend(&ascent, stage, &(), start)? else {
            return Ok(None);
        };
        if let Some(failure) = failure {
            return Err(Error::invalid(format!("first part: {failure}")));
        }
        self.records.first = fit.params().to_vec();
        Ok(Some(fit.params().to_vec()))
    }

    /// Makes the steps of a fit after `from` from these parameters, and measures their end; the sum of its evaluations is the metric
    /// `terms`. `None` if it was interrupted; a fit that diverges is a result.
    fn finish<P: ?Sized, F: ?Sized, E: Estimator<P, F>>(
        mut self,
        (fit, from): (&Fit, u64),
        (target, family, estimator): (&P, &F, E),
        params: Vec<f64>,
        measure: &Measure<'_>,
    ) -> Result<Option<JobEnd>, Error> {
        let (optimizer, seed) = (fit.optimizer.clone(), self.checkpoints.job.seed.named("fit"));
        let ascent = Ascent { target, family, estimator, optimizer, seed };
        let (to, before) = (fit.steps, fit.start.warm_steps());
        let stage = StageSpan { number: 1, from, to, before, rows: &[to], auxiliary: None };
        let end = self.ascend(&ascent, stage, &measure, params)?;
        let Some(StageEnd { fit, outcome, failure }) = end else { return Ok(None) };
        (self.checkpoints.running.last)(fit.params());
        let ended = Ended { failure, outcome, ..self.meter.cost() };
        Ok(Some((self.records.rows, ended)))
    }
}

/// Draws at a time: each has a local point for every datum.
const AT_ONCE: usize = 50;

impl Fit {
    /// Runs a fit of a robust regression: Semi-DAIS, or a mean-field Gaussian for the weights with all local latents integrated out,
    /// which uses all rows in each step.
    pub(super) fn run_local(
        &self,
        draws: usize,
        job: &Job,
        running: &Running<'_>,
    ) -> Result<Option<JobEnd>, Error> {
        let model = self.target.local_rows(running.catalogue, job.seed)?;
        let (globals, (mean, scale)) = (model.num_globals(), self.start.place().unwrap_or((0.0, 1.0)));
        let (means, scales) = (vec![mean; globals], vec![scale; globals]);
        let run = JobRun::resume(job, running, Records::default(), &Tally::new)?;
        let (whole, seed) = ((self, 0), job.seed.named("measure"));
        match (&self.family, &self.method) {
            (FamilyConfig::SemiAnnealed(config), &Method::Minibatched { samples, batch }) => {
                let family = config.family(model.clone());
                let params = family.at(&means, &scales, scale, config.step_size)?;
                let estimator = Minibatched::new(batch, FlowElbo::new(samples));
                let rows: Vec<usize> = (0..model.num_data()).collect();
                let measure = |params: &[f64]| {
                    let (target, part) = (LocalMinibatch::new(&model, &rows)?, family.on(&rows));
                    let mut values = measured_in_parts(draws, |lane, count| {
                        Ok(Draws::pushed(&target, &part, params, seed.stream(lane, 0), count)?.log_ratios())
                    })?;
                    values.extend(of_steps(&part, params));
                    Ok(values)
                };
                run.finish(whole, (&model, &family, estimator), params, &measure)
            }
            (
                FamilyConfig::MeanField { .. },
                Method::Minibatched { samples, .. } | Method::Elbo { samples },
            ) => {
                let family = Drawn(MeanField::new(globals).with_link(Link::Exp));
                let params = family.0.at(&means, &scales)?;
                let target = from_fn(globals, |theta| integrated(&model, theta, &mut [])).with_gradient(
                    |theta, gradient| {
                        integrated(&model, theta, gradient);
                    },
                );
                let measure = |params: &[f64]| {
                    measured_in_parts(draws, |lane, count| {
                        Ok(Draws::pushed(&target, &family, params, seed.stream(lane, 0), count)?.log_ratios())
                    })
                };
                run.finish(whole, (&target, &family, FlowElbo::new(*samples)), params, &measure)
            }
            (family, method) => {
                Err(Error::invalid(format!("{} in {} has no local points", method.kind(), family.kind())))
            }
        }
    }
}

/// `log p(theta, y)` with all local latents integrated out; writes its gradient unless that is empty.
fn integrated(model: &LocalRobustRegression, theta: &[f64], gradient: &mut [f64]) -> f64 {
    gradient.fill(0.0);
    let mut log_p = model.add_prior_gradient(theta, gradient);
    for row in 0..model.num_data() {
        let term = model.term(row, theta);
        log_p += term.log_integral();
        if !gradient.is_empty() {
            let of_square = -0.5 * (term.shape + 0.5) / (term.shape + 0.5 * term.square);
            model.add_theta_gradient(row, theta, of_square, 1.0, gradient);
        }
    }
    log_p
}

/// Bound from this many draws, some at a time, each lot with a lane of its own.
fn measured_in_parts(
    draws: usize,
    log_ratios: impl Fn(u64, usize) -> Result<Vec<f64>, Error>,
) -> Result<Vec<(&'static str, f64)>, Error> {
    let mut all = Vec::with_capacity(draws);
    while all.len() < draws {
        all.extend(log_ratios((all.len() / AT_ONCE) as u64, AT_ONCE.min(draws - all.len()))?);
    }
    let (bound, error) = mean_and_error(&all);
    Ok(vec![("elbo", bound), ("elbo_error", error)])
}

/// Most draws behind a prediction; later ones change it by less than the error of the bound.
const PREDICTED: usize = 200;

impl Fit {
    /// Runs a fit of a sparse process: first that of a full-rank Gaussian jointly with theta, and from its end the family of the fit.
    pub(super) fn run_sparse(
        &self,
        draws: usize,
        job: &Job,
        running: &Running<'_>,
    ) -> Result<Option<JobEnd>, Error> {
        let rows = self.target.sparse_rows(running.catalogue, job.seed)?;
        let (Method::Minibatched { samples, batch }, Target::SparseProcess(settings)) =
            (&self.method, &self.target)
        else {
            return Err(Error::invalid(format!("{} does not learn hyperparameters", self.method.kind())));
        };
        let bound = || Minibatched::new(*batch, FlowElbo::new(*samples));
        let (process, dim) = (&rows.process, rows.process.num_inducing());
        let gaussian = Drawn(FullRank::new(dim).with_link(Link::Exp));
        let plain = WithTheta::after(gaussian, rows.theta.len());
        let mut start = full_rank_at(dim, self.start.place().unwrap_or((0.0, 1.0)))?;
        start.extend_from_slice(&rows.theta);
        let mut run = JobRun::resume(job, running, Records::default(), &Tally::new)?;
        let first_steps = (settings.warm * self.steps as f64) as u64;
        let found = run.first(self.start.warm_steps(), (process, &plain, bound()), first_steps, start)?;
        let Some(params) = found else { return Ok(None) };
        let rest = (self, first_steps);
        let (base, theta) = (plain.lambda(&params), &params[plain.theta()]);
        let by = (&rows, draws, job.seed.named("measure"));
        let measured = |family: &dyn Pushforward, lambda: &[f64], theta: &[f64]| {
            measured_sparse(by, family, lambda, theta)
        };
        let surrogate = match &self.family {
            FamilyConfig::Annealed(config) => {
                Some((config, surrogate(config, process, job.seed.named("surrogate"))?))
            }
            _ => None,
        };
        let (all, memory) = prepared(process, theta)?;
        let posterior = process.posterior(theta, &all, &memory);
        let start = |config: &AnnealedConfig, mut params: Vec<f64>| {
            if config.curved {
                // The logarithms of the mass follow base, step size, kappa and gamma.
                let mass = params[base.len() + 3..].iter_mut().zip(curvatures(&posterior, &base[..dim]));
                mass.for_each(|(mass, curvature)| *mass = curvature.ln());
            }
            params
        };
        if settings.joint {
            let Some((config, surrogate)) = surrogate else {
                let measure =
                    |params: &[f64]| measured(&gaussian, plain.lambda(params), &params[plain.theta()]);
                return run.finish(rest, (process, &plain, bound()), params.clone(), &measure);
            };
            let psi = surrogate.initial(theta);
            let annealed = config.family(surrogate);
            let params = start(config, annealed.at(base, config.step_size, &psi)?);
            let family = WithTheta::within(annealed, params.len() - psi.len(), theta.len())?;
            let measure = |params: &[f64]| measured(family.family(), params, &params[family.theta()]);
            return run.finish(rest, (process, &family, bound()), params, &measure);
        }
        let Some((config, surrogate)) = surrogate else {
            let measure = |params: &[f64]| measured(&gaussian, params, theta);
            return run.finish(rest, (&posterior, &gaussian, bound()), base.to_vec(), &measure);
        };
        let psi = surrogate.clone().at(theta)?.initial(theta);
        let family = config.family(surrogate.at(theta)?);
        let measure = |params: &[f64]| measured(&family, params, theta);
        let params = start(config, family.at(base, config.step_size, &psi)?);
        run.finish(rest, (&posterior, &family, bound()), params, &measure)
    }
}

/// Second derivatives of the negative log posterior at a point along each coordinate; at least 1, their value under a whitened prior.
fn curvatures(posterior: &SparsePosterior<'_>, z: &[f64]) -> Vec<f64> {
    let (mut unit, mut product) = (vec![0.0; z.len()], vec![0.0; z.len()]);
    let mut work = vec![0.0; posterior.work_len(1)];
    let along = |i: usize| {
        unit[i] = 1.0;
        posterior.hessian_vector_into(z, &unit, &mut product, &mut work);
        unit[i] = 0.0;
        (-product[i]).max(1.0)
    };
    (0..z.len()).map(along).collect()
}

/// All rows of a process, and its memory at theta.
fn prepared(process: &SparseGaussianProcess, theta: &[f64]) -> Result<(Vec<usize>, Vec<f64>), Error> {
    let all: Vec<usize> = (0..process.num_data()).collect();
    let mut memory = vec![0.0; process.memory_len(all.len())];
    process.prepare_into(theta, &all, &mut memory)?;
    Ok((all, memory))
}

/// Surrogate of some rows with learned weights, or of all rows.
fn surrogate(
    config: &AnnealedConfig,
    process: &SparseGaussianProcess,
    seed: Seed,
) -> Result<SparseSurrogate, Error> {
    let data = process.num_data();
    match config.surrogate {
        Ansatz::Posterior => {
            Ok(SparseSurrogate::new(process.clone(), (0..data).collect())?.with_fixed_weights())
        }
        Ansatz::Rand if config.points <= data => {
            let (mut rows, mut seen) =
                (vec![0; config.points], vec![0; mcsa_annealed::seen_len(config.points)]);
            let mut stream = seed.stream(0, 0);
            mcsa_annealed::draw_subset(data, &mut rows, &mut seen, |count| stream.index(count).unwrap_or(0));
            SparseSurrogate::new(process.clone(), rows)
        }
        Ansatz::Rand => {
            Err(Error::invalid(format!("{} points of a surrogate, of {data} rows", config.points)))
        }
        other => Err(Error::invalid(format!("{} is no surrogate of a sparse process", other.name()))),
    }
}

const QUADRATURE: usize = 16;

/// Bound on all training rows, and predictions of the held-out rows.
fn measured_sparse(
    (rows, draws, seed): (&SparseRows, usize, Seed),
    family: &dyn Pushforward,
    lambda: &[f64],
    theta: &[f64],
) -> Result<Vec<(&'static str, f64)>, Error> {
    let (all, memory) = prepared(&rows.process, theta)?;
    let posterior = rows.process.posterior(theta, &all, &memory);
    let draws = Draws::pushed(&posterior, family, lambda, seed.stream(0, 0), draws)?;
    let quadrature = (0..QUADRATURE.min(draws.len()))
        .map(|s| posterior.quadrature_error(draws.points.as_ref().column(s)))
        .sum::<f64>()
        / QUADRATURE.min(draws.len()) as f64;
    let (held_out, memory) = prepared(&rows.test, theta)?;
    let mut log_p = vec![0.0; held_out.len()];
    let points = draws.points.get(.., ..PREDICTED.min(draws.len()));
    rows.test.posterior(theta, &held_out, &memory).log_predictive_into(points, &mut log_p);
    let mean = |of: &dyn Fn(f64) -> f64| log_p.iter().map(|p| of(*p)).sum::<f64>() / log_p.len() as f64;
    let mut values = of_draws(&draws, family, lambda);
    values.push(("quadrature_error", quadrature));
    match rows.scaling {
        // A label is predicted if its probability is above one half.
        None => values.extend([
            ("lpd", mean(&|log_p| log_p)),
            ("accuracy", mean(&|log_p| f64::from(u8::from(log_p > -std::f64::consts::LN_2)))),
        ]),
        Some(scaling) => values.extend([
            ("lpd", mean(&|log_p| log_p - scaling.log_deviation())),
            ("freedom", 2.0 + theta[rows.process.first_inducing() - 1].exp()),
        ]),
    }
    Ok(values)
}
#[cfg(test)]
mod tests {
    use super::*;

    /// Three of four negative and one of two positive labels are right.
    #[test]
    fn labels_are_weighted() {
        let (odds, y) = ([-1.0, -2.0, -3.0, 4.0, 1.0, -1.0], [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
        assert_eq!(by_label(accuracy, &odds, &y, 0.5), 0.625);
        assert!((by_label(accuracy, &odds, &y, 1.0 / 3.0) - accuracy(&odds, &y)).abs() < 1e-15);
        let density = by_label(log_predictive_density, &odds, &y, 1.0 / 3.0);
        assert!((density - log_predictive_density(&odds, &y)).abs() < 1e-15);
        assert!(by_label(accuracy, &odds[..4], &y[..4], 0.5).is_nan());
    }
}
