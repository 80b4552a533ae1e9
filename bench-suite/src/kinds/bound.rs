//! Fits of pushforwards to the evidence lower bound of a logistic regression, on all rows or on minibatches.

use mcsa_core::{Error, Pushforward, Seed, Separable};
use mcsa_estimators::{Ascent, Draws, FlowElbo, Minibatched};
use mcsa_models::{Logistic, accuracy, log_odds_from_draws, log_predictive_density};
use serde::{Serialize, Serializer};

use super::ascend::{Climbed, Log, Saved, Seen, Stretch, Trail};
use super::checkpoints::Checkpoints;
use super::path::mean_and_error;
use super::spent::{Meter, Spent};
use super::{Done, Running, Tally};
use crate::catalog::{LogisticRows, Method, Pushed};
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
    ) -> Result<Option<Done>, Error> {
        let checkpoints = Checkpoints::new(job, running);
        let rows = self.target.logistic_rows(running.catalogue, job.seed)?;
        let place = self.start.place().unwrap_or((0.0, 1.0));
        let Pushed { family, params } = self.family.pushed(&rows, place, job.seed.named("surrogate"))?;
        let (state, found, before) = match checkpoints.last()? {
            Some(Saved { state, log, spent, .. }) => (state, log, spent),
            None => (None, Vec::new(), Spent::default()),
        };
        let terms = self.steps * self.terms(rows.model.num_data());
        let log = Recorder { rows: &rows, family: &*family, draws, seed: job.seed, terms, found };
        let mut run = Trail { checkpoints, meter: Meter::after(before), log, is_told: false };
        let (work, counts) = (|steps| self.work_of(steps, 0), Tally::new);
        let (to, last) = (self.steps, [self.steps]);
        let stretch = Stretch {
            number: 0,
            from: 0,
            to,
            after: 0,
            work: &work,
            rows: &last,
            auxiliary: None,
            counts: &counts,
        };
        let (optimizer, seed) = (self.optimizer.clone(), job.seed.named("fit"));
        macro_rules! climb {
            ($estimator:expr) => {{
                let (target, family, estimator) = (&rows.model, &*family, $estimator);
                let ascent = Ascent { target, family, estimator, optimizer, seed };
                let climbed = run.climb(&ascent, &stretch, params, state)?;
                climbed.map(|Climbed { fit, outcome, failure }| (fit.params().to_vec(), outcome, failure))
            }};
        }
        let climbed = match self.method {
            Method::Minibatched { samples, batch } => climb!(Minibatched::new(batch, FlowElbo::new(samples))),
            Method::Elbo { samples } => climb!(FlowElbo::new(samples)),
            ref other => return Err(Error::invalid(format!("{} is not fitted to the bound", other.kind()))),
        };
        let Some((params, outcome, failure)) = climbed else { return Ok(None) };
        (running.last)(&params);
        let ended = Ended { failure, outcome, ..run.spent(&counts).ended() };
        Ok(Some((run.log.found, ended)))
    }
}

/// Row at the end of a fit, and its measurement.
struct Recorder<'s> {
    rows: &'s LogisticRows,
    family: &'s (dyn Pushforward + 's),
    draws: usize,
    seed: Seed,
    /// Likelihood terms of single data in all steps.
    terms: u64,
    found: Vec<Row>,
}

impl Serialize for Recorder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.found.serialize(serializer)
    }
}

impl Log for Recorder<'_> {
    fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    fn record(&mut self, seen: Seen<'_>, spent: &Spent) -> Result<(), Error> {
        let LogisticRows { model, test, .. } = self.rows;
        let lane = self.seed.named("measure").stream(0, seen.step);
        let draws = Draws::pushed(model, self.family, seen.params, lane, self.draws)?;
        let (bound, error) = mean_and_error(&draws.log_ratios());
        let mut odds = vec![0.0; test.rows()];
        let points = draws.points.get(.., ..PREDICTING.min(draws.len()));
        log_odds_from_draws::<Logistic>(test.x.as_ref(), points, &mut odds);
        let sizes = self.family.step_sizes(seen.params, &mut vec![0.0; self.family.work_len(1)]);
        let values = [
            ("elbo", bound),
            ("elbo_error", error),
            ("log_z", draws.log_evidence()),
            ("k_hat", draws.shape),
            ("accuracy", accuracy(&odds, &test.y)),
            ("lpd", log_predictive_density(&odds, &test.y)),
            ("zero_steps", sizes.zero as f64),
            ("longest_steps", sizes.longest as f64),
            ("still", f64::from(u8::from(sizes.is_still()))),
            ("terms", self.terms as f64),
            ("seconds", spent.seconds),
        ];
        self.found.push(Row::new(seen.step, values));
        Ok(())
    }
}
