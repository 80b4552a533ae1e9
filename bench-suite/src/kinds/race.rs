//! Fits of a logistic regression at equal numbers of evaluations of the likelihood of one datum.

use mcsa_core::{Counted, Error, Estimator, LogDensity, Pushforward};
use mcsa_estimators::{Ascent, Average, Draws, Fit as State, FlowElbo, Minibatched, Run, ScoreClimb, pmcsa};
use mcsa_kernels::{DelayedAcceptance, Imh};
use mcsa_models::surrogate::Coreset;
use mcsa_models::{Logistic, WeightedRows, accuracy, log_odds_from_draws, log_predictive_density};

use super::checkpoints::Checkpoints;
use super::path::mean_and_error;
use super::spent::{Meter, Spent};
use super::{Done, Running, Tally};
use crate::catalog::{LogisticRows, Method, OptimizerConfig, Pushed, Reference};
use crate::store::{Ended, Row};
use crate::task::{Fit, Job};

/// Most draws behind a prediction, as for metrics of the bound.
const PREDICTING: usize = 1_000;

impl Fit {
    /// Runs a fit whose length is a number of passes over the training rows.
    pub(super) fn run_race(
        &self,
        draws: usize,
        job: &Job,
        running: &Running<'_>,
    ) -> Result<Option<Done>, Error> {
        let rows = &self.target.logistic_rows(running.catalogue, job.seed)?;
        let reference = &self.target.reference(running.catalogue, job.seed)?;
        let (all, dim) = (rows.train.rows() as u64, rows.model.dim());
        let (place, seed) = (self.start.place().unwrap_or((0.0, 1.0)), job.seed.named("surrogate"));
        let (optimizer, fitted) = (self.optimizer.clone(), job.seed.named("fit"));
        macro_rules! race {
            ($target:expr, $family:expr, $pushed:expr, $estimator:expr, $params:expr, $cost:expr) => {{
                let (target, family, estimator) = ($target, $family, $estimator);
                let ascent = Ascent { target, family, estimator, optimizer, seed: fitted };
                let (pushed, cost) = ($pushed, $cost);
                Race { fit: self, job, running, rows, reference, pushed, draws, cost: &cost }
                    .run(&ascent, $params)
            }};
        }
        let around = || {
            let built = self.family.build(dim)?;
            let (mean, deviations) = (vec![place.0; dim], vec![place.1; dim]);
            let params = built.around(&mean, &deviations, &mut job.seed.named("hidden").stream(0, 0))?;
            Ok::<_, Error>((built, params))
        };
        match self.method {
            Method::Minibatched { samples, batch } => {
                let Pushed { family, params } = self.family.pushed(rows, place, seed)?;
                // Unless it is drawn, a path meets every point of its surrogate twice per step: gradient, and its derivative.
                let path = self.family.path_rows(all as usize) as u64;
                let cost =
                    |steps: u64| steps * samples as u64 * (2 * path) + steps * batch.min(all as usize) as u64;
                race!(
                    &rows.model,
                    family.pushforward(),
                    family.pushforward(),
                    Minibatched::new(batch, FlowElbo::new(samples)),
                    params,
                    cost
                )
            }
            Method::Pmcsa { chains } => {
                let ((built, params), target) = (around()?, Counted::new(&rows.model));
                let cost = |_| target.counts().log_density * all;
                race!(&target, &*built.family, &*built.pushforward, pmcsa(chains), params, cost)
            }
            Method::PmcsaDelayed { chains, points, warm } => {
                let ((built, mut params), target) = (around()?, Counted::new(&rows.model));
                if warm > 0 {
                    let (family, estimator) = (&*built.family, pmcsa(chains));
                    let (optimizer, seed) = (self.optimizer.clone(), job.seed.named("warm"));
                    let ascent = Ascent { target: &target, family, estimator, optimizer, seed };
                    let mut fit = ascent.start(params)?;
                    ascent.run(&mut fit, warm)?;
                    params = fit.params().to_vec();
                }
                let Coreset { rows: chosen, weights } =
                    Coreset::logistic(rows.train.x.as_ref(), &rows.train.y, points, &mut seed.stream(0, 0))?;
                let each = chosen.len() as u64;
                let surrogate = Counted::new(WeightedRows::new(&rows.model, chosen, weights)?);
                let kernel = DelayedAcceptance { inner: Imh::default(), surrogate: &surrogate };
                let estimator = ScoreClimb::new(kernel, chains, Average::Chains);
                let cost = |_| target.counts().log_density * all + surrogate.counts().log_density * each;
                race!(&target, &*built.family, &*built.pushforward, estimator, params, cost)
            }
            ref other => Err(Error::invalid(format!("{} has no count of rows", other.kind()))),
        }
    }
}

/// Fixed parts of a fit, and its cost.
struct Race<'s> {
    fit: &'s Fit,
    job: &'s Job,
    running: &'s Running<'s>,
    rows: &'s LogisticRows,
    reference: &'s Reference,
    pushed: &'s (dyn Pushforward + 's),
    draws: usize,
    /// Evaluations of the likelihood of one datum in this run, after a number of steps.
    cost: &'s dyn Fn(u64) -> u64,
}

impl Race<'_> {
    /// Makes steps until the passes are spent. `None` if it was interrupted.
    fn run<P, F, E>(
        &self,
        ascent: &Ascent<'_, P, F, E, OptimizerConfig>,
        params: Vec<f64>,
    ) -> Result<Option<Done>, Error>
    where
        P: LogDensity + ?Sized,
        F: ?Sized,
        E: Estimator<P, F>,
    {
        let all = self.rows.train.rows() as u64;
        let mut checkpoints = Checkpoints::new(self.job, self.running);
        type Saved<E, P, F> = (
            State<<E as Estimator<P, F>>::State, <OptimizerConfig as mcsa_core::Optimizer>::State>,
            Vec<Row>,
            u64,
            Spent,
        );
        let saved: Option<Saved<E, P, F>> = checkpoints.last()?;
        let is_new = saved.is_none();
        let (mut fit, mut found, before, spent) = match saved {
            Some(saved) => saved,
            None => (ascent.start(params)?, Vec::new(), 0, Spent::default()),
        };
        // A checkpoint of another fit is refused here; what that evaluates is not counted again.
        let (first, checked) = (fit.step(), ascent.run(&mut fit, 0));
        checked.map_err(|error| checkpoints.named(error))?;
        let uncounted = if is_new { 0 } else { (self.cost)(0) };
        let evaluated = |fit: &State<_, _>| before + (self.cost)(fit.step() - first) - uncounted;
        let (mut meter, counts) = (Meter::after(spent), Tally::new);
        let (mut outcome, mut failure) = (None, None);
        let work = |evaluations: u64| self.fit.work_of((evaluations / all).min(self.fit.steps), 0);
        checkpoints.tell(work(evaluated(&fit)));
        for pass in self.fit.recorded() {
            if found.iter().any(|row: &Row| row.step >= pass) {
                continue;
            }
            while evaluated(&fit) < pass * all && failure.is_none() {
                let now = evaluated(&fit);
                let each = (now / fit.step().max(1)).max(1);
                let (left, next) = ((self.fit.steps * all).saturating_sub(now), pass * all - now);
                // The cost of a step is known after the first; a stretch ends well before the next row, so that rows do not depend on
                // interruptions.
                let before_row = if fit.step() == 0 { 1 } else { (next / (2 * each)).max(1) };
                let most = checkpoints.stretch((left / each).max(1)).min(before_row);
                let step = fit.step();
                match ascent.run(&mut fit, Run::of(most)) {
                    Err(error) => failure = Some(format!("step {}: {error}", fit.step() + 1)),
                    Ok(ended) => {
                        failure = ended.is_failure().then(|| ended.to_string());
                        outcome = Some(ended);
                    }
                }
                let made = work(evaluated(&fit)) - work(now);
                let saved = || (&fit, &found, evaluated(&fit), meter.spent(counts()));
                if failure.is_none() && !checkpoints.goes_on(fit.step() - step, made, saved) {
                    return Ok(None);
                }
            }
            if failure.is_some() {
                break;
            }
            let (evaluations, seconds) = (evaluated(&fit), meter.spent(counts()).seconds);
            let row = meter.aside(&counts, || self.row(pass, evaluations, seconds, &fit))?;
            found.push(row);
        }
        (self.running.last)(fit.params());
        let ended = meter.spent(Tally::from([("row_evaluations".to_owned(), evaluated(&fit))])).ended();
        Ok(Some((found, Ended { failure, outcome, ..ended })))
    }

    /// Metrics of draws of the family, against those of the reference.
    fn row<S, O>(&self, pass: u64, evaluations: u64, seconds: f64, fit: &State<S, O>) -> Result<Row, Error> {
        let LogisticRows { model, test, .. } = self.rows;
        let lane = self.job.seed.named("measure").stream(0, pass);
        let draws = Draws::pushed(model, self.pushed, fit.params(), lane, self.draws)?;
        let (bound, error) = mean_and_error(&draws.log_ratios());
        let mut odds = vec![0.0; test.rows()];
        let points = draws.points.get(.., ..PREDICTING.min(draws.len()));
        log_odds_from_draws::<Logistic>(test.x.as_ref(), points, &mut odds);
        let (mean_error, scale_error) = errors(&draws.points, &self.reference.points);
        let sizes = self.pushed.step_sizes(fit.params(), &mut vec![0.0; self.pushed.work_len(1)]);
        let values = [
            ("mean_error", mean_error),
            ("scale_error", scale_error),
            ("elbo", bound),
            ("elbo_error", error),
            ("log_z", draws.log_evidence()),
            ("k_hat", draws.shape),
            ("accuracy", accuracy(&odds, &test.y)),
            ("lpd", log_predictive_density(&odds, &test.y)),
            ("acceptance", fit.watch().acceptance().unwrap_or(f64::NAN)),
            ("row_evaluations", evaluations as f64),
            ("fit_steps", fit.step() as f64),
            ("zero_steps", sizes.zero as f64),
            ("seconds", seconds),
        ];
        Ok(Row::new(pass, values))
    }
}

/// Root mean squares over coordinates of the error of the mean, in standard deviations of the reference, and of the log ratio of the
/// standard deviations.
fn errors(points: &faer::Mat<f64>, reference: &faer::Mat<f64>) -> (f64, f64) {
    let moments = |points: &faer::Mat<f64>, i: usize| {
        let count = points.ncols() as f64;
        let mean = points.row(i).iter().sum::<f64>() / count;
        (mean, (points.row(i).iter().map(|z| (z - mean).powi(2)).sum::<f64>() / count).sqrt())
    };
    let (mut of_means, mut of_scales) = (0.0, 0.0);
    for i in 0..points.nrows() {
        let ((mean, scale), (right, deviation)) = (moments(points, i), moments(reference, i));
        of_means += ((mean - right) / deviation).powi(2);
        of_scales += (scale / deviation).ln().powi(2);
    }
    let dim = points.nrows() as f64;
    ((of_means / dim).sqrt(), (of_scales / dim).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_of_the_definition() {
        let reference = faer::mat![[0.0, 2.0], [1.0, 5.0]];
        let points = faer::mat![[2.0, 4.0], [1.0, 5.0]];
        let (mean, scale) = errors(&points, &reference);
        assert!((mean - 2.0_f64.sqrt()).abs() < 1e-12 && scale.abs() < 1e-12);
        let wider = faer::mat![[-1.0, 3.0], [1.0, 5.0]];
        let (mean, scale) = errors(&wider, &reference);
        assert!(mean.abs() < 1e-12 && (scale - 2.0_f64.ln() / 2.0_f64.sqrt()).abs() < 1e-12);
    }
}
