//! Fits of pushforwards to the evidence lower bound of a logistic regression, on all rows or on minibatches.

use mcsa_annealed::Minibatched;
use mcsa_core::{Counted, Error, Pushforward, Stream};
use mcsa_estimators::{Draws, FlowElbo};
use mcsa_models::{Logistic, accuracy, log_odds_from_draws, log_predictive_density};

use super::bounded::Bounded;
use super::path::mean_and_error;
use super::{Done, Running, terms};
use crate::catalog::{LogisticRows, Method, Pushed};
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
        let rows = self.target.logistic_rows(running.catalogue, job.seed)?;
        let place = self.start.place().unwrap_or((0.0, 1.0));
        let Pushed { family: moved, params } =
            self.family.pushed(&rows, place, job.seed.named("surrogate"))?;
        let (model, family) = (Counted::new(&rows.model), moved.pushforward());
        let counts = || terms(&model, moved.terms());
        let lane = || job.seed.named("measure").stream(0, self.steps);
        let measure = |params: &[f64]| measured(&rows, family, params, lane(), draws);
        let run = Bounded::new(self, job, running)?.counting(&counts);
        match self.method {
            Method::Minibatched { samples, batch } => {
                let estimator = Minibatched::new(batch, FlowElbo::new(samples));
                run.finish((&model, family, estimator), params, &measure)
            }
            Method::Elbo { samples } => {
                run.finish((&model, family, FlowElbo::new(samples)), params, &measure)
            }
            ref other => Err(Error::invalid(format!("{} is not fitted to the bound", other.kind()))),
        }
    }
}

/// Bound on all training rows, and predictions of the held-out rows.
fn measured(
    rows: &LogisticRows,
    family: &dyn Pushforward,
    params: &[f64],
    lane: Stream,
    draws: usize,
) -> Result<Vec<(&'static str, f64)>, Error> {
    let LogisticRows { model, train, test, .. } = rows;
    let draws = Draws::pushed(model, family, params, lane, draws)?;
    let (bound, error) = mean_and_error(&draws.log_ratios());
    let mut odds = vec![0.0; test.rows()];
    let points = draws.points.get(.., ..PREDICTING.min(draws.len()));
    log_odds_from_draws::<Logistic>(test.x.as_ref(), points, &mut odds);
    let rate = train.y.iter().sum::<f64>() / train.rows() as f64;
    let sizes = family.step_sizes(params, &mut vec![0.0; family.work_len(1)]);
    Ok(vec![
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
    ])
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
