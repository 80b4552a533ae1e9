//! Metrics on held-out data.

use std::sync::Arc;

use mcsa_core::{Error, Stream};
use mcsa_estimators::Draws;
use mcsa_families::GaussianFamily;
use mcsa_models::{
    GaussianProcessClassification, Link, NeuralRegression, RobustGaussianProcess, accuracy,
    log_odds_from_moments, log_predictive_density, normal_log_predictive_density, root_mean_squared_error,
};

use super::weights::{PLACES, density, of_weights};
use super::{Evaluator, Measures, Posterior};
use crate::as_published::{kernel, label_odds, predictive_variance};
use crate::metric::Vector;
use mcsa_data::{Dataset, Scaling};

/// Draws for k-hat, as many as in CW.
const DRAWS: usize = 128;

/// Accuracy and mean log predictive density of labels, on the training and the test rows, and k-hat of the weights `p / q`.
pub(super) struct Labels<L> {
    pub(super) target: Arc<dyn Posterior>,
    pub(super) train: Dataset,
    pub(super) test: Dataset,
    /// Index of the first regression weight among the coordinates.
    pub(super) first: usize,
    pub(super) link: std::marker::PhantomData<L>,
}

impl<L: Link> Evaluator for Labels<L> {
    fn measure(
        &self,
        family: &dyn GaussianFamily,
        params: &[f64],
        stream: Stream,
    ) -> Result<Measures, Error> {
        let (mean, variances) = (family.mean(params), family.variances(params)?);
        let odds = |data: &Dataset| {
            let mut odds = vec![0.0; data.rows()];
            log_odds_from_moments::<L>(
                data.x.as_ref(),
                &mean[self.first..],
                &variances[self.first..],
                &mut odds,
            );
            odds
        };
        let mut measures = of_labels(&odds(&self.test), &self.test, &odds(&self.train), &self.train);
        measures.push(("k_hat", Draws::of(&*self.target, family, params, stream, DRAWS)?.shape));
        Ok(measures)
    }
}

pub(crate) fn of_labels(odds: &[f64], test: &Dataset, fitted: &[f64], train: &Dataset) -> Measures {
    vec![
        ("accuracy", accuracy(odds, &test.y)),
        ("error", 1.0 - accuracy(odds, &test.y)),
        ("lpd", log_predictive_density(odds, &test.y)),
        ("train_accuracy", accuracy(fitted, &train.y)),
        ("train_lpd", log_predictive_density(fitted, &train.y)),
    ]
}

/// Accuracy and mean log predictive density of labels for Gaussian process classification, the latter also by the published rule.
pub(super) struct ProcessLabels {
    pub(super) model: Arc<GaussianProcessClassification>,
    pub(super) test: Dataset,
}

impl Evaluator for ProcessLabels {
    fn measure(&self, family: &dyn GaussianFamily, params: &[f64], _: Stream) -> Result<Measures, Error> {
        let (mean, variances) = (family.mean(params), family.variances(params)?);
        let mut odds = vec![0.0; self.test.rows()];
        self.model.log_odds_from_moments(self.test.x.as_ref(), mean, &variances, &mut odds)?;
        let published = label_odds(&self.model, self.test.x.as_ref(), mean)?;
        Ok(vec![
            ("accuracy", accuracy(&odds, &self.test.y)),
            ("lpd", log_predictive_density(&odds, &self.test.y)),
            ("lpd_as_published", log_predictive_density(&published, &self.test.y)),
        ])
    }
}

/// Index of the first network weight: the logarithms of two precisions come before.
const FIRST_WEIGHT: usize = 2;

/// Root mean squared error and mean log predictive density of responses, in the units of the data, and the share of the
/// network's weights with means near zero; at the end of the fit also the density of these means.
pub(super) struct Responses {
    pub(super) model: Arc<NeuralRegression>,
    pub(super) test: Dataset,
    pub(super) scaling: Scaling,
}

impl Evaluator for Responses {
    fn measure(&self, family: &dyn GaussianFamily, params: &[f64], _: Stream) -> Result<Measures, Error> {
        let (mean, variances) = (family.mean(params), family.variances(params)?);
        let (mut means, mut spreads) = (vec![0.0; self.test.rows()], vec![0.0; self.test.rows()]);
        self.model.predict_from_moments(self.test.x.as_ref(), mean, &variances, &mut means, &mut spreads);
        let lpd = normal_log_predictive_density(&means, &spreads, &self.test.y);
        let mut measures = of_responses(&means, lpd, &self.test, &self.scaling);
        measures.extend(of_weights(&mean[FIRST_WEIGHT..]));
        Ok(measures)
    }

    fn vectors(&self, family: &dyn GaussianFamily, params: &[f64]) -> Vec<(Vector, Vec<f64>)> {
        let density = density(&family.mean(params)[FIRST_WEIGHT..]);
        vec![(Vector::Weight, PLACES.to_vec()), (Vector::WeightDensity, density)]
    }
}

fn of_responses(means: &[f64], lpd: f64, test: &Dataset, scaling: &Scaling) -> Measures {
    let error = root_mean_squared_error(means, &test.y);
    vec![("rmse", error * scaling.deviation), ("lpd", lpd - scaling.log_deviation())]
}

/// Metrics of responses for a Gaussian process with Student noise, and the log predictive density with the published
/// variance.
pub(super) struct ProcessResponses {
    pub(super) model: Arc<RobustGaussianProcess>,
    pub(super) train: Dataset,
    pub(super) test: Dataset,
    pub(super) scaling: Scaling,
}

impl Evaluator for ProcessResponses {
    fn measure(&self, family: &dyn GaussianFamily, params: &[f64], _: Stream) -> Result<Measures, Error> {
        let (mean, variances) = (family.mean(params), family.variances(params)?);
        let moments = self.model.predict_from_moments(self.test.x.as_ref(), mean, &variances)?;
        let means: Vec<f64> = moments.iter().map(|(mean, _)| *mean).collect();
        let lpd = self.model.log_predictive_density(mean, &moments, &self.test.y);
        let mut measures = of_responses(&means, lpd, &self.test, &self.scaling);
        let published = self.as_published(mean, &variances, &means)?;
        measures.push(("lpd_as_published", published - self.scaling.log_deviation()));
        Ok(measures)
    }
}

impl ProcessResponses {
    fn as_published(&self, mean: &[f64], variances: &[f64], means: &[f64]) -> Result<f64, Error> {
        let (x, new) = (self.train.x.as_ref(), self.test.x.as_ref());
        // Order of coordinates: log eps_y, log eps_f, log a, log nu, lengths, field.
        let (nugget, amplitude) = ((2.0 * mean[1]).exp() + 1e-6, mean[2]);
        let first = 4 + x.ncols();
        let mut square = kernel(x, x, amplitude, &mean[4..first]);
        (0..x.nrows()).for_each(|i| square[(i, i)] += nugget);
        let cross = kernel(x, new, amplitude, &mean[4..first]);
        let prior = (2.0 * amplitude).exp();
        let spreads = predictive_variance(prior, cross.as_ref(), square.as_ref(), &variances[first..])?;
        let moments: Vec<(f64, f64)> =
            means.iter().copied().zip(spreads.into_iter().map(|v| v.max(0.0))).collect();
        Ok(self.model.log_predictive_density(mean, &moments, &self.test.y))
    }
}
