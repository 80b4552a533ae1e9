//! Fits of pushforwards to the evidence lower bound of a logistic regression, on all rows or on minibatches.

use mcsa_core::{Counted, Error, Pushforward, Seed};
use mcsa_estimators::{Ascent, Draws, FlowElbo, Minibatched};
use mcsa_models::{Logistic, accuracy, log_odds_from_draws, log_predictive_density};
use serde::{Serialize, Serializer};

use super::ascend::{Climbed, Log, Saved, Seen, Stretch, Trail};
use super::checkpoints::Checkpoints;
use super::path::mean_and_error;
use super::spent::{Meter, Spent};
use super::{Done, Running, terms};
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
        let Pushed { family: moved, params } =
            self.family.pushed(&rows, place, job.seed.named("surrogate"))?;
        let (state, found, before) = match checkpoints.last()? {
            Some(Saved { state, log, spent, .. }) => (state, log, spent),
            None => (None, Vec::new(), Spent::default()),
        };
        let (model, family) = (Counted::new(&rows.model), moved.pushforward());
        let log = Recorder { rows: &rows, family, draws, seed: job.seed, found };
        let mut run = Trail { checkpoints, meter: Meter::after(before), log, is_told: false };
        let (work, counts) = (|steps| self.work_of(steps, 0), || terms(&model, moved.terms()));
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
                let (target, estimator) = (&model, $estimator);
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
        let LogisticRows { model, train, test, .. } = self.rows;
        let lane = self.seed.named("measure").stream(0, seen.step);
        let draws = Draws::pushed(model, self.family, seen.params, lane, self.draws)?;
        let (bound, error) = mean_and_error(&draws.log_ratios());
        let mut odds = vec![0.0; test.rows()];
        let points = draws.points.get(.., ..PREDICTING.min(draws.len()));
        log_odds_from_draws::<Logistic>(test.x.as_ref(), points, &mut odds);
        let rate = train.y.iter().sum::<f64>() / train.rows() as f64;
        let sizes = self.family.step_sizes(seen.params, &mut vec![0.0; self.family.work_len(1)]);
        let values = [
            ("elbo", bound),
            ("elbo_error", error),
            ("log_z", draws.log_evidence()),
            ("k_hat", draws.shape),
            ("accuracy", accuracy(&odds, &test.y)),
            ("balanced_accuracy", by_label(accuracy, &odds, &test.y, 0.5)),
            ("lpd", log_predictive_density(&odds, &test.y)),
            ("lpd_as_trained", by_label(log_predictive_density, &odds, &test.y, rate)),
            ("zero_steps", sizes.zero as f64),
            ("longest_steps", sizes.longest as f64),
            ("still", f64::from(u8::from(sizes.is_still()))),
            ("terms", spent.counts.values().sum::<u64>() as f64),
            ("seconds", spent.seconds),
        ];
        self.found.push(Row::new(seen.step, values));
        Ok(())
    }
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
