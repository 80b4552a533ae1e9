//! Execution of a fit: a warm fit if there is one, then the stages in sequence; its rows, by its target or by reference draws.

use faer::MatRef;
use mcsa_core::{
    Address, Counted, Error, Estimator, Family, Gradient, LogDensity, Reparameterised, Seed, bits,
};
use mcsa_data::Dataset;
use mcsa_estimators::{Ascent, Draws, Health, pmcsa};
use mcsa_families::{Defence, GaussianFamily, MeanField, Tail};
use mcsa_models::{Link, Probit, Tempered};
use mcsa_optim::Adam;
use mcsa_optim::deterministic::{ExpectationPropagation, Propagated};
use serde::{Deserialize, Serialize};

use super::running::{Checkpoint, Iterate, JobRun, Log, StageEnd, StageSpan};
use super::{JobEnd, Running, Sums, now, totals};
use crate::catalog::{
    Method, OptimizerConfig, Posterior, Problem, Reference, Start, Target, Views, of_labels,
};
use crate::metric::Vector;
use crate::store::{Ended, Row};
use crate::task::{Fit, Job, Metrics};

/// Name of the experiment for a single fit by the verb `fit`: its health is estimated from as many draws as k-hat needs.
pub(crate) const SINGLE: &str = "fit";

/// Draws for the health of each fit of an experiment; its k-hat is reported with an error.
const HEALTH_DRAWS: usize = 1_000;

/// Most draws in a piece of a health.
const MOST_DRAWS: u64 = 1_000;

const WARM_CHAINS: usize = 10;

impl Fit {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<JobEnd>, Error> {
        self.check()?;
        match (self.metrics, &self.method, &self.target) {
            (_, &Method::Ep { sweeps }, _) => {
                let done = propagate(self, sweeps, job, running)?;
                (running.progress)(job.task.work());
                Ok(Some(done))
            }
            (Metrics::Filters { particles, filters }, ..) => self.run_path(particles, filters, job, running),
            (Metrics::Bound { draws }, _, Target::SparseProcess(_)) => self.run_sparse(draws, job, running),
            (Metrics::Bound { draws }, _, Target::LocalRegression(_)) => self.run_local(draws, job, running),
            (Metrics::Bound { draws }, ..) => self.run_bound(draws, job, running),
            (Metrics::Target | Metrics::Reference, ..) => self.run_steps(job, running),
        }
    }

    /// Runs the steps of a family, with rows along the way.
    fn run_steps(&self, job: &Job, running: &Running<'_>) -> Result<Option<JobEnd>, Error> {
        let problem = self.target.build(running.catalogue, job.seed)?;
        let target = Counted::new(&*problem.posterior);
        let dim = target.dim();
        let (shaped, gaussian) = (self.family.build(dim)?, self.family.gaussian(dim));
        let measured = match (self.metrics, &gaussian) {
            (Metrics::Target, Some(gaussian)) => Measured::Target(&problem, &**gaussian),
            _ => {
                let reference = self.target.reference(running.catalogue, job.seed)?;
                Measured::Reference(reference, &*problem.posterior, &*shaped.family)
            }
        };
        let log = Recorder { fit: self, seed: job.seed, measured };
        let family = Counted::new(&*shaped.family);
        let pushforward = Counted::new(&*shaped.pushforward);
        let closed = gaussian.as_deref().filter(|_| !self.is_staged()).map(Counted::new);
        let plain = || closed.as_ref().map(Counted::counts).unwrap_or_default();
        let counts = || totals(target.counts(), &[family.counts(), pushforward.counts(), plain()]);
        let records =
            Records { average: (self.averaged > 0).then(|| Average::new(dim)), ..Records::default() };
        let mut run = JobRun::resume(job, running, records, &counts)?;
        let reached = run.reached;
        let start = match (self.start, &gaussian) {
            (Start::Warm { .. }, _) => match self.warm(&target, &mut run, job)? {
                Some(place) => place,
                None => return Ok(None),
            },
            (_, Some(gaussian)) => {
                let params = self.start.draw(&**gaussian, &mut job.seed.named("start").stream(0, 0))?;
                Place::of(&**gaussian, params)?
            }
            (_, None) => Place::uniform(dim, self.start.place()),
        };
        let mut hidden = job.seed.named("hidden").stream(0, 0);
        let mut around = |start: &Place| shaped.around(&start.mean, &start.deviations, &mut hidden);
        let mut params = start.params.clone().map_or_else(|| around(&start), Ok)?;

        let seed = job.seed.named("auxiliary");
        let standard = |family: &dyn GaussianFamily| {
            Start::Standard.draw(family, &mut seed.named("standard").stream(0, 0))
        };
        let auxiliary = gaussian.as_deref().filter(|_| self.auxiliary > 0).map(standard).transpose()?;
        let auxiliary = auxiliary.map(|standard| (self.auxiliary, seed, standard));
        let tail = Tail::cauchy(dim).at(&start.mean, &start.deviations)?;
        let spans = self.stages().spans(self.steps);
        let mut rows = self.trace.steps(self.steps);
        rows.extend(spans.iter().map(|(_, to)| to));
        rows.sort_unstable();
        rows.dedup();
        if self.is_staged() {
            // The first row comes before the start of the chains.
            rows.retain(|row| *row > 0);
            if run.records.rows.is_empty() {
                run.record(&log, Iterate { params: &params, ..Iterate::default() })?;
            }
        }
        let views = Views {
            closed: closed.as_ref().map(|family| family as &dyn Reparameterised),
            pushforward: Some(&pushforward),
        };
        let (mut outcome, mut failure, mut health) = (None, None, None);
        let before = self.start.warm_steps();
        for (number, &(from, to)) in (1..).zip(&spans).skip_while(|(number, _)| *number < reached) {
            if failure.is_some() {
                break;
            }
            let stage = StageSpan { number, from, to, before, rows: &rows, auxiliary: auxiliary.as_ref() };
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
            let ascent = Ascent { target, family: &family as &dyn Family, estimator, optimizer, seed };
            let Some(end) = run.ascend(&ascent, stage, &log, params)? else { return Ok(None) };
            if closed.is_some() {
                let draws = (job.experiment != SINGLE).then_some(HEALTH_DRAWS);
                health = match judge(&ascent, &end, draws, &mut run) {
                    Ok(None) => return Ok(None),
                    judged => judged.ok().flatten(),
                };
            }
            params = end.fit.params().to_vec();
            (outcome, failure) = (end.outcome, end.failure);
        }
        (running.last)(&params);
        let ended = Ended { failure, outcome, health, ..run.meter.cost() };
        Ok(Some((run.records.rows, ended)))
    }

    /// The end of the warm fit, after its steps unless they are made. `None` if it was interrupted.
    fn warm(
        &self,
        target: &Counted<&dyn Posterior>,
        run: &mut JobRun<'_, Records>,
        job: &Job,
    ) -> Result<Option<Place>, Error> {
        let family = MeanField::new(target.dim());
        if run.records.warm.is_empty() {
            let Place { mean, deviations, .. } = Place::uniform(target.dim(), self.start.place());
            let guard = Defence::new(0.1, Tail::cauchy(target.dim()).at(&mean, &deviations)?)?;
            let (estimator, optimizer) =
                (pmcsa(WARM_CHAINS).guarded(guard), OptimizerConfig::Adam(Adam::new(0.01)?));
            let seed = job.seed.named("warm");
            let ascent = Ascent { target, family: &family, estimator, optimizer, seed };
            let stage = StageSpan { to: self.start.warm_steps(), ..StageSpan::default() };
            let start = family.at(&mean, &deviations)?;
            let Some(warm) = run.ascend(&ascent, stage, &(), start)? else { return Ok(None) };
            run.records.warm = warm.fit.params().to_vec();
        }
        Ok(Some(Place { params: None, ..Place::of(&family, run.records.warm.clone())? }))
    }
}

/// Start of a fit: means and standard deviations, and lambda if it is drawn for the family.
struct Place {
    mean: Vec<f64>,
    deviations: Vec<f64>,
    params: Option<Vec<f64>>,
}

impl Place {
    /// The place of a start in all coordinates, by default that of a standard normal.
    fn uniform(dim: usize, place: Option<(f64, f64)>) -> Self {
        let (mean, scale) = place.unwrap_or((0.0, 1.0));
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
    end: &StageEnd<E::State>,
    draws: Option<usize>,
    run: &mut JobRun<'_, Records>,
) -> Result<Option<Health>, Error> {
    let JobRun { checkpoints, meter, records, .. } = run;
    let (before, begun) = (meter.cost(), now());
    let (done, mut is_first) = (std::mem::take(&mut records.judged), true);
    let next = |log_p: &[f64]| {
        // A fit that failed has no checkpoint after its last step: it would be continued from an earlier one.
        if end.failure.is_some() {
            return usize::MAX;
        }
        log_p.clone_into(&mut records.judged);
        let log = &*records;
        let state = || {
            let took = begun.elapsed().as_secs_f64();
            let (measuring, judging) = (before.measuring + took, before.judging + took);
            let cost = Ended { measuring, judging, ..before.clone() };
            Checkpoint { stage: 1, state: (&end.fit, None::<()>), log, cost }
        };
        if !std::mem::take(&mut is_first) && !checkpoints.continues(0, 0, state) {
            return 0;
        }
        checkpoints.stretch(MOST_DRAWS).max(1) as usize
    };
    let health = meter.judge(|| ascent.health_in_pieces(&end.fit, draws, done, next))?;
    // Before the first step the chains are draws from q, which give no upper bound.
    let is_new = end.fit.step() == 0;
    Ok(health.map(|health| if is_new { Health { evidence_upper: f64::NAN, ..health } } else { health }))
}

/// Draws from q for a row by reference draws.
const DRAWS: usize = 2_000;
/// Draws from q stored at the end of a fit in two dimensions, for figures.
const SEEN: usize = 400;

struct Recorder<'s> {
    fit: &'s Fit,
    seed: Seed,
    measured: Measured<'s>,
}

#[derive(Default, Serialize, Deserialize)]
struct Records {
    rows: Vec<Row>,
    /// Average of the last iterates, if they are averaged.
    average: Option<Average>,
    /// Parameters at the end of the warm fit, once it has ended.
    #[serde(with = "bits::vector")]
    warm: Vec<f64>,
    /// Log densities of the draws for the health of the fit, as far as they are evaluated.
    #[serde(with = "bits::vector")]
    judged: Vec<f64>,
}

enum Measured<'s> {
    /// The evaluator of the target, and the Gaussian family.
    Target(&'s Problem, &'s dyn GaussianFamily),
    /// Reference draws of the target.
    Reference(Reference, &'s dyn Posterior, &'s dyn Family),
}

impl Log<Records> for Recorder<'_> {
    fn iterate(&self, records: &mut Records, step: u64, params: &[f64]) -> Result<(), Error> {
        match (&mut records.average, &self.measured) {
            (Some(average), Measured::Target(_, family)) if step + self.fit.averaged > self.fit.steps => {
                average.add(*family, params)
            }
            _ => Ok(()),
        }
    }

    fn record(&self, records: &mut Records, at: Iterate<'_>, cost: &Ended) -> Result<(), Error> {
        let (step, is_last) = (at.step, at.step == self.fit.steps);
        let mut row = match &self.measured {
            Measured::Target(problem, family) => {
                let mut row = Row::new(step, at.kernel.iter().copied());
                let average = records.average.as_ref().filter(|_| is_last);
                let averaged = average.map(|average| average.params(*family)).transpose()?;
                row.vectors
                    .extend(average.into_iter().flat_map(|of| vectors(&of.means.mean, &of.variances.mean)));
                let params = averaged.as_deref().unwrap_or(at.params);
                let stream = self.seed.named("measure").stream(0, step);
                row.values.extend((problem.evaluator)(*family, params, stream)?);
                if is_last {
                    row.vectors.extend(problem.vectors(family.mean(params)));
                }
                row
            }
            Measured::Reference(reference, target, family) => {
                self.by_reference(reference, *target, *family, &at)?
            }
        };
        row.values.extend(at.variance.map(|variance| ("variance", variance)));
        for name in ["p_evaluations", "p_gradients"] {
            row.values.insert(name, cost.counts.get(name).copied().unwrap_or(0) as f64);
        }
        row.values.insert("seconds", cost.seconds);
        records.rows.push(row);
        Ok(())
    }
}

impl Recorder<'_> {
    /// A row by reference draws.
    ///
    /// ```text
    /// kl = E_p[log p - log q] - log Z,   by draws of p;   w = p / (q Z) at draws of q and of p
    /// ```
    fn by_reference(
        &self,
        reference: &Reference,
        target: &dyn Posterior,
        family: &dyn Family,
        at: &Iterate<'_>,
    ) -> Result<Row, Error> {
        let lane = self.seed.named("measure").stream(0, at.step);
        let draws = Draws::of(target, family, at.params, lane, DRAWS)?;
        let Reference { points: truth, log_p, log_normaliser, .. } = reference;
        let mut log_q = vec![0.0; truth.ncols()];
        family.log_probs(
            at.params,
            truth.as_ref(),
            &mut log_q,
            &mut vec![0.0; family.work_len(truth.ncols())],
        );
        let ratios: Vec<f64> = log_p.iter().zip(&log_q).map(|(p, q)| p - q - log_normaliser).collect();
        let (divergence, error) = reference.mean(&ratios);
        let drawn = draws.log_ratios().into_iter().map(|w| w - log_normaliser);
        let top = drawn.chain(ratios).fold(f64::NEG_INFINITY, f64::max);
        let values = [
            ("kl", divergence),
            ("kl_error", error),
            ("k_hat", draws.shape),
            ("sample_share", draws.sample_size / DRAWS as f64),
            ("log_weight_bound", top),
            ("acceptance", at.acceptance.unwrap_or(f64::NAN)),
        ];
        let mut row = Row::new(at.step, values);
        if let (Some(share), Some(of_truth)) = (reference.share(&draws.points), reference.share(truth)) {
            row.values.extend([("share", share), ("share_of_target", of_truth)]);
        }
        if at.step == self.fit.steps && family.dim() == 2 {
            let coordinate = |i: usize| (0..SEEN).map(|j| draws.points[(i, j)]).collect();
            row.vectors.extend([(Vector::DrawsX, coordinate(0)), (Vector::DrawsY, coordinate(1))]);
        }
        Ok(row)
    }
}

/// Means and variances of `q`, averaged over iterates:
///
/// ```text
/// m = 1/K sum_k mu_k,     s^2 = 1/K sum_k sigma_k^2      over the last K
/// ```
///
/// MSC predicts with this average (MSC, Tab. 1).
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Average {
    means: Sums,
    variances: Sums,
}

impl Average {
    fn new(dim: usize) -> Self {
        Self { means: Sums::new(dim), variances: Sums::new(dim) }
    }

    fn add(&mut self, family: &dyn GaussianFamily, params: &[f64]) -> Result<(), Error> {
        self.means.add(family.mean(params));
        self.variances.add(&family.variances(params)?);
        Ok(())
    }

    /// Parameters with these moments; in a family that is not mean field, those without correlation.
    fn params(&self, family: &dyn GaussianFamily) -> Result<Vec<f64>, Error> {
        let scales: Vec<f64> = self.variances.mean.iter().map(|variance| variance.sqrt()).collect();
        params(family, &self.means.mean, &scales)
    }
}

/// Parameters of independent coordinates with these means and scales.
fn params(family: &dyn GaussianFamily, mean: &[f64], scales: &[f64]) -> Result<Vec<f64>, Error> {
    let mut rho = scales.to_vec();
    family.link().inverses_into(scales, &mut rho)?;
    family.assemble(mean, &rho, &mut || 0.0)
}

/// Means and log scales of a family with these moments.
fn vectors(mean: &[f64], variance: &[f64]) -> [(Vector, Vec<f64>); 2] {
    let log_scales = variance.iter().map(|variance| 0.5 * variance.ln()).collect();
    [(Vector::Means, mean.to_vec()), (Vector::LogScales, log_scales)]
}

/// States of one estimator in `R` independent copies that use the lambda of a fit and do not affect the fit.
///
/// ```text
/// V = 1/(R - 1) sum_r || g_r - mean g ||^2,   over all of lambda
/// ```
/// Each copy begins at `N(0, I)`, not at `q`, and makes one transition each time `V` is computed (pMCSA, gradient variance
/// figure): its chains lag behind those of the fit. Each copy has its own streams.
#[derive(Serialize, Deserialize)]
pub(super) struct Auxiliary<S> {
    seed: Seed,
    sets: Vec<S>,
}

impl<S> Auxiliary<S> {
    /// Starts `sets` copies at step 0, each with its own lanes, from `standard`, the parameters of `N(0, I)`.
    pub(super) fn start<P: ?Sized, F: ?Sized, E: Estimator<P, F, State = S>, O>(
        sets: u64,
        ascent: &Ascent<'_, P, F, E, O>,
        seed: Seed,
        standard: &[f64],
    ) -> Result<Self, Error> {
        let Ascent { target, family, estimator, .. } = ascent;
        let mut lanes = seed.streams(estimator.lanes(), 0);
        let mut first = |set| {
            move_to(&mut lanes, set, 0);
            estimator.init(target, family, standard, &mut lanes)
        };
        let sets = (0..sets).map(&mut first).collect::<Result<_, _>>()?;
        Ok(Self { seed, sets })
    }

    /// Variance of the direction at `params`, after one transition of each copy; `step` is the step of the fit.
    pub(super) fn variance<P: ?Sized, F: ?Sized, E: Estimator<P, F, State = S>, O>(
        &mut self,
        ascent: &Ascent<'_, P, F, E, O>,
        params: &[f64],
        step: u64,
    ) -> Result<f64, Error> {
        let Ascent { target, family, estimator, .. } = ascent;
        let mut lanes = self.seed.streams(estimator.lanes(), 0);
        let mut work = vec![0.0; estimator.work_len(target, family)];
        let (mut direction, mut mean) = (vec![0.0; params.len()], vec![0.0; params.len()]);
        let mut square = 0.0;
        for (set, count) in self.sets.iter_mut().zip(1_u64..) {
            move_to(&mut lanes, count - 1, step + 1);
            let (lanes, out) = (&mut lanes, &mut direction);
            estimator.ascent_direction(target, family, params, set, lanes, out, &mut work)?;
            for (mean, g) in mean.iter_mut().zip(&direction) {
                let off = g - *mean;
                *mean += off / count as f64;
                square += off * (g - *mean);
            }
        }
        Ok(square / (self.sets.len().max(2) - 1) as f64)
    }
}

/// Moves the lanes to one copy and step: no two copies share a lane.
fn move_to(lanes: &mut [mcsa_core::Stream], set: u64, step: u64) {
    let first = set * lanes.len() as u64;
    lanes.iter_mut().zip(first..).for_each(|(lane, k)| lane.go_to(Address::of(k, step)));
}

/// Runs sweeps over the rows of a probit regression. The result is one row of metrics with the number of sweeps as its step.
/// Predictions use the full covariance, not its diagonal; the reported last lambda is the member of the family with the means
/// and scales of the approximation.
///
/// There is no checkpoint: sweeps converge after some tens, and a sweep costs `d^2` operations per row.
fn propagate(fit: &Fit, sweeps: usize, job: &Job, running: &Running<'_>) -> Result<JobEnd, Error> {
    let (train, test) = fit.target.probit_rows(running.catalogue, job.seed)?;
    let since = now();
    let propagation = ExpectationPropagation { sweeps: sweeps as u64, ..ExpectationPropagation::default() };
    let Propagated { gaussian, log_evidence, sweeps, .. } =
        propagation.probit(train.x.as_ref(), &train.y, 1.0)?;
    let seconds = since.elapsed().as_secs_f64();
    let mut row = Row::new(sweeps, [("log_z", log_evidence)]);
    if let Some(test) = test {
        let odds = |data: &Dataset| log_odds(data, &gaussian.mean, gaussian.covariance.as_ref());
        row.values.extend(of_labels(&odds(&test), &test, &odds(&train), &train));
    }
    let scales = gaussian.scales();
    let family =
        fit.family.gaussian(scales.len()).ok_or_else(|| Error::invalid("ep fits a Gaussian family"))?;
    (running.last)(&params(&*family, &gaussian.mean, &scales)?);
    let variances: Vec<f64> = scales.iter().map(|scale| scale * scale).collect();
    row.vectors.extend(vectors(&gaussian.mean, &variances));
    let terms = sweeps * train.rows() as u64;
    let counts = [("terms_matched".to_owned(), terms)].into();
    Ok((vec![row], Ended { counts, seconds, ..Ended::default() }))
}

/// `Phi(x' m / sqrt(1 + x' S x))` as log odds, for each row.
fn log_odds(data: &Dataset, mean: &[f64], covariance: MatRef<'_, f64>) -> Vec<f64> {
    let odds = |i: usize| {
        let row = data.x.row(i);
        let (mut f, mut spread) = (0.0, 0.0);
        for (j, x) in row.iter().enumerate() {
            f += x * mean[j];
            spread += x * row.iter().enumerate().map(|(k, y)| covariance[(j, k)] * y).sum::<f64>();
        }
        Probit::log_odds_of_normal(f, spread)
    };
    (0..data.rows()).map(odds).collect()
}

#[cfg(test)]
mod tests {
    use mcsa_core::Seed;
    use mcsa_data::Catalogue;
    use mcsa_families::{Link, MeanField};
    use mcsa_models::log_odds_from_moments;

    use super::*;
    use crate::catalog::Target;

    /// Variances are averaged, not scales: scales 1 and 3 give the root of 5.
    #[test]
    fn two_iterates_by_hand() {
        let family = MeanField::new(1).with_link(Link::Exp);
        let mut average = Average::new(1);
        average.add(&family, &[1.0, 0.0]).unwrap();
        average.add(&family, &[2.0, 3.0_f64.ln()]).unwrap();
        let params = average.params(&family).unwrap();
        assert!((params[0] - 1.5).abs() < 1e-15 && (params[1] - 0.5 * 5.0_f64.ln()).abs() < 1e-15);
        let [means, log_scales] = vectors(&average.means.mean, &average.variances.mean);
        assert_eq!(means, (Vector::Means, vec![params[0]]));
        assert!((log_scales.1[0] - params[1]).abs() < 1e-15);
    }

    /// With `q = p = N(0, I)` every proposal is accepted, so `g` averages `N` independent scores: `V = 3 d / N` in `(mean,
    /// log scale)`. `Var ||s||^2 = 74 d`, so at `N = 1` the standard error of `V` is 3.2 %, and 20 % is six standard errors:
    /// a false alarm has probability below 1e-4.
    #[test]
    fn it_is_the_variance_of_independent_scores_where_all_is_accepted() {
        let problem = Target::StandardGaussian { dim: 2 }.build(&Catalogue::new(None), Seed::new(1)).unwrap();
        let family = MeanField::new(2).with_link(mcsa_families::Link::Exp);
        let at_target = family.at(&[0.0; 2], &[1.0; 2]).unwrap();
        let variance = |chains: usize, params: &[f64]| {
            let (target, seed) = (&*problem.posterior, Seed::new(3));
            let estimator = mcsa_estimators::pmcsa(chains);
            let ascent = Ascent { target, family: &family, estimator, optimizer: (), seed };
            let mut all = Auxiliary::start(4000, &ascent, seed, &at_target).unwrap();
            all.variance(&ascent, params, 0).unwrap()
        };
        let params = at_target.clone();
        for chains in [1, 10] {
            let expected = 6.0 / chains as f64;
            let found = variance(chains, &params);
            assert!((found / expected - 1.0).abs() < 0.2, "{chains} chains: {found} for {expected}");
        }
        // For `q` different from `p` the variance differs.
        let wide = family.at(&[0.0; 2], &[3.0; 2]).unwrap();
        assert!((variance(10, &wide) / 0.6 - 1.0).abs() > 0.5);
    }

    /// With a diagonal covariance the prediction equals that of the library for independent weights.
    #[test]
    fn without_correlation_it_is_the_mean_field_prediction() {
        let target = Target::Probit { data: "pima".into(), complete: false };
        let (_, test) = target.probit_rows(&Catalogue::new(None), Seed::new(1)).unwrap();
        let test = test.unwrap();
        let (mean, variance) = ([0.01; 9], [1e-4; 9]);
        let covariance = faer::Mat::from_fn(9, 9, |i, k| if i == k { variance[i] } else { 0.0 });
        let mut expected = vec![0.0; test.rows()];
        log_odds_from_moments::<Probit>(test.x.as_ref(), &mean, &variance, &mut expected);
        let found = log_odds(&test, &mean, covariance.as_ref());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12 * b.abs().max(1.0)));
    }
}
