//! Regressions with their rows: carried, a subset of a large set, or synthetic.

use std::sync::{Arc, LazyLock};

use faer::Mat;
use mcsa_core::{Error, Seed, Stream, numeric};
use mcsa_data::{Catalogue, DataError, Dataset, Scaling, Split, Standardised};
use mcsa_diagnostics::quantile;
use mcsa_estimators::Draws;
use mcsa_models::{
    Gaussian, GaussianProcessClassification, HierarchicalLogistic, HierarchicalWeights, Link, Logistic,
    LogisticRegression, Mixture, NeuralRegression, NormalWeights, Probit, ProbitRegression,
    RobustGaussianProcess, ScalePrior, WeightsPosterior, WeightsPrior, accuracy, log_odds_from_moments,
    log_predictive_density, normal_log_predictive_density, root_mean_squared_error,
};

use super::{Measures, Problem, Target};
use crate::published_rules::{kernel, label_odds, predictive_variance};

/// Regression of labels with its rows, an intercept among the columns.
pub struct LabelledRows<W, L> {
    /// The model on the training rows.
    pub model: WeightsPosterior<W, L>,
    /// The training rows.
    pub train: Dataset,
    /// The held-out rows.
    pub test: Dataset,
    /// Standard deviation of each coefficient under the prior of a logistic regression; `None` for others, for which some surrogates are
    /// not made.
    pub prior_scale: Option<f64>,
}

/// Logistic regression with a normal prior, and its rows.
pub type LogisticRows = LabelledRows<NormalWeights, Logistic>;

impl Target {
    /// Returns true if the target is a logistic regression with a normal prior.
    pub fn is_logistic(&self) -> bool {
        matches!(self, Self::Logistic { .. } | Self::SyntheticLogistic { .. } | Self::SubsetLogistic { .. })
    }

    /// Returns true if the target is a regression of labels with held-out rows.
    pub fn has_labels(&self) -> bool {
        let others = matches!(self, Self::HierarchicalLogistic { .. } | Self::Probit { complete: false, .. });
        self.is_logistic() || others
    }

    /// Logistic regression with a normal prior, and its rows.
    pub fn logistic_rows(&self, catalogue: &Catalogue, seed: Seed) -> Result<LogisticRows, Error> {
        let ([train, test], prior_scale) = match self {
            Self::Logistic { data, standardised, prior_scale } => (
                halves(catalogue, data, *standardised, seed)?.map(|rows| rows.with_ones(rows.inputs())),
                *prior_scale,
            ),
            Self::SyntheticLogistic { prior_scale, .. } => (self.synthetic_rows()?, *prior_scale),
            Self::SubsetLogistic { prior_scale, .. } => {
                (self.subset_rows(catalogue, seed)?.map(|rows| rows.with_ones(rows.inputs())), *prior_scale)
            }
            _ => return Err(self.is_no("logistic regression with a normal prior")),
        };
        let model = LogisticRegression::new(train.x.as_ref(), &train.y, prior_scale)?;
        Ok(LogisticRows { model, train, test, prior_scale: Some(prior_scale) })
    }

    /// Hierarchical logistic regression, and its rows.
    pub fn hierarchical_rows(
        &self,
        catalogue: &Catalogue,
        seed: Seed,
    ) -> Result<LabelledRows<HierarchicalWeights, Logistic>, Error> {
        let Self::HierarchicalLogistic { data, standardised } = self else {
            return Err(self.is_no("hierarchical logistic regression"));
        };
        let rows = halves(catalogue, data, *standardised, seed)?;
        let model = HierarchicalLogistic::new(rows[0].x.as_ref(), &rows[0].y, ScalePrior::HalfNormal)?;
        let [train, test] = rows.map(|rows| rows.with_ones(rows.inputs()));
        Ok(LabelledRows { model, train, test, prior_scale: None })
    }

    /// Probit regression of nine tenths of the rows, with these and the held-out ones.
    pub fn probit_halves(
        &self,
        catalogue: &Catalogue,
        seed: Seed,
    ) -> Result<LabelledRows<NormalWeights, Probit>, Error> {
        let (train, Some(test)) = self.probit_rows(catalogue, seed)? else {
            return Err(self.is_no("probit regression with held-out rows"));
        };
        let model = ProbitRegression::new(train.x.as_ref(), &train.y, 1.0)?;
        Ok(LabelledRows { model, train, test, prior_scale: None })
    }

    /// Training rows and held-out rows of a probit regression; `None` in place of the latter if it is complete.
    pub fn probit_rows(
        &self,
        catalogue: &Catalogue,
        seed: Seed,
    ) -> Result<(Dataset, Option<Dataset>), Error> {
        match self {
            Self::Probit { data, complete: true } => Ok((catalogue.load(data)?.with_ones(0), None)),
            Self::Probit { data, .. } => {
                // Nine tenths of the rows, rounded to the nearest as in MSC.
                let set = catalogue.load(data)?;
                let split = Split::new(&set, (9 * set.rows() + 5) / 10, seed)?;
                Ok((split.train.with_ones(0), Some(split.test.with_ones(0))))
            }
            _ => Err(self.is_no("probit regression")),
        }
    }
}

/// A random split into nine tenths of the rows, rounded down as in pMCSA and MCMC-SE, and the others.
fn nine_tenths(set: &Dataset, seed: Seed) -> Result<Split, DataError> {
    Split::new(set, set.rows() * 9 / 10, seed)
}

/// Training rows and held-out rows, standardised by the former.
pub(super) fn scaled(catalogue: &Catalogue, name: &str, seed: Seed) -> Result<Standardised, DataError> {
    Standardised::new(&nine_tenths(&catalogue.load(name)?, seed)?)
}

/// Training rows and held-out rows, standardised if `scale`.
pub(super) fn halves(
    catalogue: &Catalogue,
    name: &str,
    scale: bool,
    seed: Seed,
) -> Result<[Dataset; 2], DataError> {
    let split = nine_tenths(&catalogue.load(name)?, seed)?;
    if scale {
        let Standardised { train, test, .. } = Standardised::new(&split)?;
        return Ok([train, test]);
    }
    Ok([split.train, split.test])
}

/// Draws for k-hat, as many as in CW.
const DRAWS: usize = 128;

impl Problem {
    /// Accuracy and mean log predictive density of labels, on the training and the test rows, and k-hat of the weights `p / q`.
    pub(super) fn labels<W: WeightsPrior + 'static, L: Link>(rows: LabelledRows<W, L>) -> Self {
        let LabelledRows { model, train, test, .. } = rows;
        let model = Arc::new(model);
        Self::new(model.clone(), move |family, params, stream| {
            let (mean, variances) = (family.mean(params), family.variances(params)?);
            let odds = |data: &Dataset| {
                let mut odds = vec![0.0; data.rows()];
                log_odds_from_moments::<L>(
                    data.x.as_ref(),
                    &mean[W::FIRST..],
                    &variances[W::FIRST..],
                    &mut odds,
                );
                odds
            };
            let mut measures = of_labels(&odds(&test), &test, &odds(&train), &train);
            measures.push(("k_hat", Draws::of(&*model, family, params, stream, DRAWS)?.shape));
            Ok(measures)
        })
    }

    /// Accuracy and mean log predictive density of labels for Gaussian process classification, the latter also by the published rule.
    pub(super) fn process_labels(model: GaussianProcessClassification, test: Dataset) -> Self {
        let model = Arc::new(model);
        Self::new(model.clone(), move |family, params, _| {
            let (mean, variances) = (family.mean(params), family.variances(params)?);
            let mut odds = vec![0.0; test.rows()];
            model.log_odds_from_moments(test.x.as_ref(), mean, &variances, &mut odds)?;
            let published = label_odds(&model, test.x.as_ref(), mean)?;
            Ok(vec![
                ("accuracy", accuracy(&odds, &test.y)),
                ("lpd", log_predictive_density(&odds, &test.y)),
                ("lpd_as_published", log_predictive_density(&published, &test.y)),
            ])
        })
    }

    /// Root mean squared error and mean log predictive density of responses, in the units of the data, and the share of the
    /// network's weights with means near zero; at the end of the fit also the density of these means.
    pub(super) fn responses(model: NeuralRegression, test: Dataset, scaling: Scaling) -> Self {
        let model = Arc::new(model);
        let problem = Self::new(model.clone(), move |family, params, _| {
            let (mean, variances) = (family.mean(params), family.variances(params)?);
            let (mut means, mut spreads) = (vec![0.0; test.rows()], vec![0.0; test.rows()]);
            model.predict_from_moments(test.x.as_ref(), mean, &variances, &mut means, &mut spreads);
            let lpd = normal_log_predictive_density(&means, &spreads, &test.y);
            let mut measures = of_responses(&means, lpd, &test, &scaling);
            measures.extend(of_weights(&mean[FIRST_WEIGHT..]));
            Ok(measures)
        });
        Self { first_weight: Some(FIRST_WEIGHT), ..problem }
    }

    /// Metrics of responses for a Gaussian process with Student noise, and the log predictive density with the published
    /// variance.
    pub(super) fn process_responses(
        model: RobustGaussianProcess,
        [train, test]: [Dataset; 2],
        scaling: Scaling,
    ) -> Self {
        let model = Arc::new(model);
        Self::new(model.clone(), move |family, params, _| {
            let (mean, variances) = (family.mean(params), family.variances(params)?);
            let (x, new) = (train.x.as_ref(), test.x.as_ref());
            let mut moments = model.predict_from_moments(new, mean, &variances)?;
            let means: Vec<f64> = moments.iter().map(|(mean, _)| *mean).collect();
            let lpd = model.log_predictive_density(mean, &moments, &test.y);
            let mut measures = of_responses(&means, lpd, &test, &scaling);
            // Order of coordinates: log eps_y, log eps_f, log a, log nu, lengths, field.
            let (nugget, amplitude, first) = ((2.0 * mean[1]).exp() + 1e-6, mean[2], 4 + x.ncols());
            let mut square = kernel(x, x, amplitude, &mean[4..first]);
            (0..x.nrows()).for_each(|i| square[(i, i)] += nugget);
            let cross = kernel(x, new, amplitude, &mean[4..first]);
            let prior = (2.0 * amplitude).exp();
            let published = predictive_variance(prior, cross.as_ref(), square.as_ref(), &variances[first..])?;
            moments.iter_mut().zip(published).for_each(|(moments, variance)| moments.1 = variance.max(0.0));
            let published = model.log_predictive_density(mean, &moments, &test.y);
            measures.push(("lpd_as_published", published - scaling.log_deviation()));
            Ok(measures)
        })
    }
}

/// Measures of predicted labels, from log odds at the held-out rows and at the training rows.
pub fn of_labels(odds: &[f64], test: &Dataset, fitted: &[f64], train: &Dataset) -> Measures {
    vec![
        ("accuracy", accuracy(odds, &test.y)),
        ("error", 1.0 - accuracy(odds, &test.y)),
        ("lpd", log_predictive_density(odds, &test.y)),
        ("train_accuracy", accuracy(fitted, &train.y)),
        ("train_lpd", log_predictive_density(fitted, &train.y)),
    ]
}

fn of_responses(means: &[f64], lpd: f64, test: &Dataset, scaling: &Scaling) -> Measures {
    let error = root_mean_squared_error(means, &test.y);
    vec![("rmse", error * scaling.deviation), ("lpd", lpd - scaling.log_deviation())]
}

/// Index of the first network weight: the logarithms of two precisions come before.
const FIRST_WEIGHT: usize = 2;

/// Number of rows of a stand-in for each row that is used, so that subsets of any ratio can be drawn.
const SPARE: usize = 4;

impl Target {
    /// Training rows and held-out rows of a subset, standardised by the former.
    ///
    /// `replicate` is the seed of the job, from which the subset is drawn if each replicate has its own. Rows without any measurement are
    /// left out. Held-out rows are drawn first: subsets that differ in the ratio alone have the same,
    /// and of two of them the training rows with the rarer label are among those of the other.
    pub(super) fn subset_rows(&self, catalogue: &Catalogue, replicate: Seed) -> Result<[Dataset; 2], Error> {
        let Self::SubsetLogistic { data, rows, held_out, ratio, seed, splits, .. } = self else {
            return Err(self.is_no("subset"));
        };
        self.check_size()?;
        let seed = Seed::new(*seed).named(self.kind());
        let all = whole(catalogue, data, rows.saturating_add(*held_out), seed)?;
        let seed = if *splits { replicate.named(self.kind()) } else { seed };
        let split = Split::stratified(&all, [*rows, *held_out], *ratio, seed)?;
        let Standardised { train, test, .. } = Standardised::new(&split)?;
        Ok([train, test])
    }
}

/// The data set without rows that have no measurement; if it is absent, a stand-in that has a few times as many rows as are used.
pub(super) fn whole(
    catalogue: &Catalogue,
    name: &str,
    used: usize,
    seed: Seed,
) -> Result<Dataset, DataError> {
    let set = match catalogue.load(name) {
        Err(error) if error.is_absent() => {
            let most = catalogue.entry(name)?.rows;
            catalogue.stand_in(name, Some(used.saturating_mul(SPARE).min(most)), seed)?
        }
        found => found?,
    };
    Ok(match catalogue.entry(name)?.missing {
        Some(code) => set.without_rows_of(code),
        None => set,
    })
}

impl Target {
    /// Training rows and held-out rows of a synthetic logistic regression.
    pub(super) fn synthetic_rows(&self) -> Result<[Dataset; 2], Error> {
        let Self::SyntheticLogistic { name, rows, held_out, dim, rate, correlation, seed, .. } = self else {
            return Err(self.is_no("regression on synthetic rows"));
        };
        let refuse = |name, value, expected| Err(Error::parameter(name, value, expected).within(self.kind()));
        if !name.starts_with("synthetic") {
            return Err(Error::invalid(format!("name is {name:?}, expected one that begins with synthetic")));
        }
        if *rows < 2 || *held_out == 0 {
            return Err(Error::invalid("expected at least 2 rows, and 1 held out").within(self.kind()));
        }
        if *dim < 2 {
            return refuse("dim", *dim as f64, "at least 2");
        }
        if !(*rate > 0.0 && *rate < 1.0) {
            return refuse("rate", *rate, "between 0 and 1");
        }
        if !(0.0..1.0).contains(correlation) {
            return refuse("correlation", *correlation, "at least 0 and less than 1");
        }
        let seed = Seed::new(*seed).named(self.kind());
        let all = drawn(name, seed, [rows + held_out, *dim], *rate, *correlation);
        let part = |from: usize, to: usize| all.select(&(from..to).collect::<Vec<_>>());
        Ok([part(0, *rows), part(*rows, rows + held_out)])
    }
}

/// Synthetic rows and labels.
///
/// ```text
/// u_k = sqrt(c) f + sqrt(1 - c) e_k,   x = [1; u standardised],   y ~ Bernoulli(sigmoid(a + sum_k (-1)^k x_k))
/// ```
/// with standard normal f and e, the correlation c, and a such that the mean probability is the rate.
fn drawn(name: &str, seed: Seed, [count, dim]: [usize; 2], rate: f64, correlation: f64) -> Dataset {
    let mut stream = seed.stream(0, 0);
    let (common, own) = (correlation.sqrt(), (1.0 - correlation).sqrt());
    let mut x = Mat::from_fn(count, dim, |_, _| 1.0);
    for i in 0..count {
        let factor = common * stream.normal();
        (1..dim).for_each(|k| x[(i, k)] = factor + own * stream.normal());
    }
    (1..dim).for_each(|k| standardise(x.col_as_slice_mut(k)));
    let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
    let slopes: Vec<f64> = (0..count).map(|i| (1..dim).map(|k| sign(k) * x[(i, k)]).sum()).collect();
    let probability = |intercept: f64, slope: f64| numeric::scalar::sigmoid(intercept + slope);
    let mean = |a: f64| slopes.iter().map(|slope| probability(a, *slope)).sum::<f64>() / count as f64;
    // The mean probability rises with the intercept from 0 to 1.
    let (mut low, mut high) = (-100.0 * dim as f64, 100.0 * dim as f64);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if mean(middle) < rate { low = middle } else { high = middle }
    }
    let y = slopes.iter().map(|slope| f64::from(u8::from(stream.uniform() < probability(low, *slope))));
    Dataset { name: name.to_owned(), has_labels: true, y: y.collect(), x }
}

/// Gaussian with means `1, -1, 1, ..`, standard deviations spaced geometrically from 0.5 to 2, and equal correlation of all
/// pairs.
///
/// # Errors
/// If the covariance is not positive definite: the correlation must lie in `(-1/(dim - 1), 1)`.
pub fn correlated_gaussian(dim: usize, correlation: f64) -> Result<Gaussian, Error> {
    let scale = |i: usize| 0.5 * 4.0_f64.powf(i as f64 / (dim.max(2) - 1) as f64);
    let mean = (0..dim).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let entry = |i, j| scale(i) * scale(j) * if i == j { 1.0 } else { correlation };
    Gaussian::new(mean, Mat::from_fn(dim, dim, entry).as_ref())
}

/// Gaussian around 0 with the covariance `I + B B'`, where B has `factors` columns of standard normal numbers.
pub(super) fn of_factors(dim: usize, factors: usize, stream: &mut Stream) -> Result<Gaussian, Error> {
    let loadings = Mat::from_fn(dim, factors, |_, _| stream.normal());
    let mut covariance = &loadings * loadings.transpose();
    (0..dim).for_each(|i| covariance[(i, i)] += 1.0);
    Gaussian::new(vec![0.0; dim], covariance.as_ref())
}

impl Target {
    pub(super) fn mixture(&self) -> Result<Mixture, Error> {
        match self {
            Self::Moons { per_moon, noise } => Mixture::moons(*per_moon, *noise),
            Self::Modes { dim, distance, share } => Mixture::modes(*dim, *distance, *share),
            _ => Err(self.is_no("mixture")),
        }
    }
}

/// Points at which the density of weights is evaluated: dense around zero, sparse beyond.
///
/// ```text
/// x_k = 2.5 sinh(4 u_k) / sinh(4),   u_k = -1, -0.975, .., 1
/// ```
pub(super) static PLACES: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let place = |k: i32| 2.5 * (4.0 * f64::from(k) / HALF).sinh() / 4.0_f64.sinh();
    (-HALF as i32..=HALF as i32).map(place).collect()
});

const HALF: f64 = 40.0;

/// Share of weights with a mean within 0.1 of zero, and standard deviation of the means.
pub(super) fn of_weights(means: &[f64]) -> Measures {
    let count = means.len() as f64;
    let near = means.iter().filter(|mean| mean.abs() < 0.1).count() as f64;
    vec![("weights_below_0.1", near / count), ("weights_deviation", moments(means).1)]
}

fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt())
}

/// Subtracts the mean, and divides by the standard deviation unless it is 0.
pub(super) fn standardise(values: &mut [f64]) {
    let (mean, deviation) = moments(values);
    let scale = if deviation > 0.0 { deviation } else { 1.0 };
    values.iter_mut().for_each(|value| *value = (*value - mean) / scale);
}

/// Kernel density estimate of the means at [`PLACES`], with a Gaussian kernel and Silverman's bandwidth.
///
/// ```text
/// 1/(n h) sum_i phi((x - m_i) / h),   h = 0.9 min(s, IQR / 1.34) n^(-1/5)
/// ```
/// `h` is at least 0.005, about half of the distance between points around zero: a sharper peak would fall between them.
pub(super) fn density(means: &[f64]) -> Vec<f64> {
    let mut sorted = means.to_vec();
    let range = quantile(&mut sorted, 0.75) - quantile(&mut sorted, 0.25);
    let count = means.len() as f64;
    let width = (0.9 * moments(means).1.min(range / 1.34) * count.powf(-0.2)).max(0.005);
    let scale = 1.0 / (count * width * (2.0 * std::f64::consts::PI).sqrt());
    let at =
        |x: f64| scale * means.iter().map(|mean| (-0.5 * ((x - mean) / width).powi(2)).exp()).sum::<f64>();
    PLACES.iter().map(|x| at(*x)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(data: &str, more: &str) -> Target {
        let rows = "kind = 'subset-logistic'\nrows = 300\nheld_out = 100\nprior_scale = 1.0\nseed = 1";
        toml::from_str(&format!("{rows}\ndata = '{data}'\n{more}")).unwrap()
    }

    /// MSC, table 1, and MCMC-SE, table 3: 249, 351 and 544 latent dimensions are 62, 36 and 32 more than the training rows.
    #[test]
    fn the_published_splits_come_out() {
        let (catalogue, seed) = (Catalogue::new(None), Seed::new(1));
        let probit = |data: &str| {
            let target = Target::Probit { data: data.into(), complete: false };
            target.probit_rows(&catalogue, seed).unwrap().0.rows()
        };
        assert_eq!(["pima", "ionosphere", "heart_cleveland"].map(probit), [691, 316, 267]);
        let down = |data: &str| nine_tenths(&catalogue.load(data).unwrap(), seed).unwrap().train.rows();
        assert_eq!(["sonar", "ionosphere", "breast_wdbc"].map(down), [187, 315, 512]);
    }

    #[test]
    fn an_absent_set_is_stood_in_for_and_says_so() {
        let catalogue = Catalogue::new(None);
        for name in ["higgs", "susy", "miniboone", "covtype", "covtype_fir"] {
            let [train, test] = target(name, "").subset_rows(&catalogue, Seed::new(7)).unwrap();
            assert_eq!((train.rows(), test.rows()), (300, 100));
            assert!(target(name, "").digest(&catalogue).unwrap().is_none());
            let mean = train.x.col_as_slice(0).iter().sum::<f64>() / 300.0;
            assert!(mean.abs() < 1e-12 && (0..300).all(|row| train.x[(row, 0)] > -900.0), "{name}");
        }
        let [train, _] = target("pima", "").subset_rows(&catalogue, Seed::new(7)).unwrap();
        assert!(train.rows() == 300 && target("pima", "").digest(&catalogue).unwrap().is_some());
        // Counterexamples: a set without stand-in, and targets on whole sets.
        assert!(target("magic_gamma_full", "").subset_rows(&catalogue, Seed::new(7)).is_err());
        let (data, standardised) = ("susy".to_owned(), true);
        assert!(Target::Logistic { data, standardised, prior_scale: 1.0 }.digest(&catalogue).is_err());
    }

    #[test]
    fn the_ratio_is_that_of_the_training_rows_alone() {
        let catalogue = Catalogue::new(None);
        let ones = |data: &Dataset| data.y.iter().sum::<f64>();
        let [even, test] = target("susy", "ratio = 0.5").subset_rows(&catalogue, Seed::new(7)).unwrap();
        let [rare, same] = target("susy", "ratio = 0.02").subset_rows(&catalogue, Seed::new(7)).unwrap();
        assert_eq!((ones(&even), ones(&rare)), (150.0, 6.0));
        assert_eq!(test.y, same.y);
        assert!((30.0..70.0).contains(&ones(&test)));
        assert!(target("susy", "ratio = 0.0").subset_rows(&catalogue, Seed::new(7)).is_err());
    }

    #[test]
    fn replicates_share_their_rows_unless_they_split() {
        let catalogue = Catalogue::new(None);
        let rows = |splits: bool, replicate| {
            let target = target("susy", &format!("splits = {splits}"));
            let [train, _] = target.subset_rows(&catalogue, Seed::new(replicate)).unwrap();
            train.x
        };
        assert_eq!(rows(false, 1), rows(false, 2));
        assert_eq!(rows(true, 1), rows(true, 1));
        assert_ne!(rows(true, 1), rows(true, 2));
    }

    #[test]
    fn a_label_of_its_own_takes_the_place_of_the_data_set() {
        let named = target("susy", "name = 'small'");
        assert_eq!((named.label(), named.data()), ("small", Some("susy")));
        assert_eq!(target("susy", "").label(), "susy");
    }

    const SYNTHETIC: &str = "kind = 'synthetic-logistic'\nname = 'synthetic'\nrows = 15_000\nheld_out = 5_000\ndim = 4\n\
                             rate = 0.1\ncorrelation = 0.8\nprior_scale = 1.0\nseed = 3";

    /// Rows of the synthetic target with a setting replaced.
    fn synthetic(from: &str, to: &str) -> Result<[Dataset; 2], Error> {
        assert!(SYNTHETIC.contains(from));
        toml::from_str::<Target>(&SYNTHETIC.replacen(from, to, 1)).unwrap().synthetic_rows()
    }

    /// Correlation and rate over 20 000 rows: the standard errors are at most 0.003, and the test allows six of them.
    #[test]
    fn rows_are_standardised_correlated_and_of_the_rate() {
        let [train, test] = synthetic("", "").unwrap();
        assert_eq!((train.rows(), test.rows(), train.inputs()), (15_000, 5_000, 4));
        let value = |i: usize, k: usize| {
            if i < 15_000 { train.x[(i, k)] } else { test.x[(i - 15_000, k)] }
        };
        let mean = |of: &dyn Fn(usize) -> f64| (0..20_000).map(of).sum::<f64>() / 20_000.0;
        assert!((1..4).all(|k| mean(&|i| value(i, k)).abs() < 1e-10));
        assert!((1..4).all(|k| (mean(&|i| value(i, k).powi(2)) - 1.0).abs() < 1e-10));
        assert!((0..20_000).all(|i| value(i, 0) == 1.0));
        assert!((mean(&|i| value(i, 1) * value(i, 2)) - 0.8).abs() < 0.02);
        let rate = |train: &Dataset, test: &Dataset| train.y.iter().chain(&test.y).sum::<f64>() / 20_000.0;
        assert!((rate(&train, &test) - 0.1).abs() < 0.013);
        let [other, others] = synthetic("rate = 0.1", "rate = 0.3").unwrap();
        assert!((rate(&other, &others) - 0.1).abs() > 0.1, "another rate is seen");
        assert_eq!(synthetic("", "").unwrap()[0], train);
        assert_ne!(synthetic("seed = 3", "seed = 4").unwrap()[0].x, train.x);
    }

    #[test]
    fn a_wrong_setting_is_named() {
        for (from, to, named) in [
            ("'synthetic'", "'pima'", "synthetic"),
            ("rows = 15_000", "rows = 1", "rows"),
            ("held_out = 5_000", "held_out = 0", "held out"),
            ("dim = 4", "dim = 1", "dim"),
            ("rate = 0.1", "rate = 1.0", "rate"),
            ("correlation = 0.8", "correlation = nan", "correlation"),
        ] {
            let error = synthetic(from, to).unwrap_err().to_string();
            assert!(error.contains(named), "{to}: {error}");
        }
    }

    fn mass(density: &[f64]) -> f64 {
        let pairs = PLACES.windows(2).zip(density.windows(2));
        pairs.map(|(x, y)| 0.5 * (x[1] - x[0]) * (y[0] + y[1])).sum()
    }

    /// Uniform on [-1, 1]: 1/2 inside, half of that at the border, 0 outside.
    #[test]
    fn an_even_spread_is_found_again() {
        let even: Vec<f64> = (0..400).map(|k| (f64::from(k) - 199.5) / 200.0).collect();
        let found = density(&even);
        // Points near 1 are 0.2 apart, as wide as the kernel, so that the trapezoidal rule is no more accurate than this.
        assert!((mass(&found) - 1.0).abs() < 1e-2, "{}", mass(&found));
        let at = |x: f64| {
            let off = |k: &usize| (PLACES[*k] - x).abs();
            let nearest = (0..PLACES.len()).min_by(|a, b| off(a).total_cmp(&off(b))).unwrap();
            (PLACES[nearest], found[nearest])
        };
        assert!((at(0.0).1 - 0.5).abs() < 1e-4 && (at(0.3).1 - 0.5).abs() < 1e-3, "{:?}", at(0.3));
        // The bandwidth is 0.9 x 0.577 x 400^(-1/5) = 0.157, and the slope at the border is 1/2 of the kernel's height.
        let (x, value) = at(1.0);
        assert!((value - (0.25 - 0.5 * (x - 1.0) / (0.157 * 2.507))).abs() < 5e-3, "{x} {value}");
        assert!(at(2.4).1 < 1e-9);
    }

    #[test]
    fn weights_at_zero_are_a_peak() {
        let found = density(&[0.0; 50]);
        assert!((mass(&found) - 1.0).abs() < 0.05 && found.iter().all(|value| value.is_finite()));
        assert_eq!(of_weights(&[0.0, 0.05, -0.2, 1.0])[0], ("weights_below_0.1", 0.5));
    }
}
