//! Targets with latent processes: sparse Gaussian processes, local latent points, volatilities.

use mcsa_annealed::dais::{SemiAnnealed, Slope};
use mcsa_annealed::surrogate::Clusters;
use mcsa_annealed::{InducingCoordinates, SparseGaussianProcess};
use mcsa_core::{Error, Seed};
use mcsa_data::{Catalogue, DataError, Dataset, Scaling, Series, Split, Standardised};
use mcsa_models::LocalRobustRegression;
use mcsa_particles::{FxVolatility, Theta};
use serde::{Deserialize, Serialize};

use super::Target;
use super::regression::whole;

/// Settings of a sparse Gaussian process: its rows and its start.
#[expect(missing_docs, reason = "the name of such a setting describes it")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SparseConfig {
    /// Label of the target; by default the name of the data set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub data: String,
    pub rows: usize,
    pub held_out: usize,
    pub inducing: usize,
    /// Length of the kernel at the start, in units of the root of the number of inputs.
    pub length: f64,
    /// True if the coordinates of the inducing values are whitened.
    pub whitened: bool,
    /// Share of the steps, the first ones, that fit a full-rank Gaussian jointly with kernel, errors and inducing points.
    pub warm: f64,
    /// True if kernel, errors and inducing points are learned in the later steps too. Else every family takes their values at the
    /// end of the first steps.
    pub joint: bool,
    pub seed: u64,
}

/// Sparse process of the training rows, theta at the start of a fit, and a process of the held-out rows.
pub struct SparseRows {
    /// The process on the training rows.
    pub process: SparseGaussianProcess,
    /// Parameters theta at the start.
    pub theta: Vec<f64>,
    /// The process on the held-out rows.
    pub test: SparseGaussianProcess,
    /// Standardisation of the responses of a regression; `None` for labels.
    pub scaling: Option<Scaling>,
}

/// Scale and degrees of freedom of the errors at the start: half of the responses' standard deviation, and heavy tails. Ours, since
/// the paper states none; both are learned.
const ERRORS: [f64; 2] = [0.5, 5.0];

const PASSES: usize = 100;

impl Target {
    /// The process on rows of the replicate: training rows and held-out rows drawn by `seed`, standardised by the former; inducing
    /// points at the centres of clusters; all lengths of the kernel equal.
    pub fn sparse_rows(&self, catalogue: &Catalogue, seed: Seed) -> Result<SparseRows, Error> {
        let Self::SparseProcess(config) = self else { return Err(self.is_no("sparse process")) };
        let SparseConfig { data, rows, held_out, inducing, length, whitened, seed: stand_in, .. } = config;
        if !(0.0..1.0).contains(&config.warm) {
            return Err(Error::parameter("warm", config.warm, "at least 0 and less than 1"));
        }
        let set = whole(catalogue, data, rows.saturating_add(*held_out), Seed::new(*stand_in))?;
        let Standardised { train, test, target: scaling, .. } = subset(&set, *rows, *held_out, seed)?;
        let coordinates = match whitened {
            true => InducingCoordinates::Whitened,
            false => InducingCoordinates::Plain,
        };
        let process = |data: &Dataset| {
            let make = match data.has_labels {
                true => SparseGaussianProcess::classification,
                false => SparseGaussianProcess::robust,
            };
            make(data.x.as_ref(), &data.y, *inducing).map(|process| process.with_coordinates(coordinates))
        };
        let mut stream = seed.named("inducing").stream(0, 0);
        let clusters = Clusters::k_means(train.x.as_ref(), *inducing, PASSES, &mut stream)?;
        let log_length = (length * (train.inputs() as f64).sqrt()).ln();
        let [scale, freedom] = ERRORS;
        let noise = [scale.ln(), (freedom - 2.0_f64).ln()];
        let noise = if scaling.is_some() { &noise[..] } else { &[] };
        let (process, test) = (process(&train)?, process(&test)?);
        let theta =
            process.theta(0.0, &vec![log_length; train.inputs()], noise, clusters.centres.as_ref())?;
        Ok(SparseRows { process, theta, test, scaling })
    }
}

/// Training rows and held-out rows; labels have the shares of the whole set.
pub(super) fn subset(set: &Dataset, rows: usize, held_out: usize, seed: Seed) -> Result<Standardised, Error> {
    let split = match set.has_labels {
        true => Split::stratified(set, [rows, held_out], None, seed)?,
        false => {
            if rows == 0 || held_out == 0 || rows.saturating_add(held_out) > set.rows() {
                return Err(Error::invalid(format!(
                    "{rows} rows to train and {held_out} to test, of {} of {}",
                    set.rows(),
                    set.name
                )));
            }
            let Split { train, mut order, .. } = Split::new(set, rows, seed)?;
            order.truncate(rows + held_out);
            Split { train, test: set.select(&order[rows..]), order }
        }
    };
    Ok(Standardised::new(&split)?)
}

/// Settings of a robust regression with local latent precisions.
#[expect(missing_docs, reason = "the name of such a setting describes it")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalConfig {
    /// Label of the target; by default the name of the data set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub data: String,
    pub rows: usize,
    pub freedom: f64,
    /// Standard deviation of the prior of a weight.
    pub prior_scale: f64,
    pub seed: u64,
}

/// Annealed paths for local latent points, with a mean-field Gaussian for global ones (see [`SemiAnnealed`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SemiConfig {
    /// Number K of steps; without steps local points are mean-field Gaussian too.
    pub steps: usize,
    /// True if all data share step sizes, persistence, mass and temperatures.
    pub shared: bool,
    /// Largest step size.
    pub longest: f64,
    /// Step size at the start of the fit.
    pub step_size: f64,
    /// True if kappa is a share of the largest step size; else kappa itself is a parameter, as published.
    #[serde(default)]
    pub scaled: bool,
}

impl SemiConfig {
    /// The family for a model.
    pub fn family(&self, model: LocalRobustRegression) -> SemiAnnealed {
        let slope = if self.scaled { Slope::Scaled } else { Slope::Plain };
        SemiAnnealed {
            shared: self.shared,
            longest: self.longest,
            slope,
            ..SemiAnnealed::new(model, self.steps)
        }
    }
}

impl Target {
    /// The regression on rows that are drawn by `seed` and standardised, with an intercept. One further row is held out and not used.
    pub fn local_rows(&self, catalogue: &Catalogue, seed: Seed) -> Result<LocalRobustRegression, Error> {
        let Self::LocalRegression(config) = self else { return Err(self.is_no("model with local latents")) };
        let LocalConfig { data, rows, freedom, prior_scale, seed: stand_in, .. } = config;
        let set = whole(catalogue, data, *rows, Seed::new(*stand_in))?;
        let train = match rows.cmp(&set.rows()) {
            std::cmp::Ordering::Less => subset(&set, *rows, 1, seed)?.train,
            // All rows of the set: the one that is held out is a copy.
            _ => {
                let order: Vec<usize> = (0..set.rows()).collect();
                let split = Split { train: set.clone(), test: set.select(&[0]), order };
                Standardised::new(&split)?.train
            }
        };
        let train = train.with_ones(train.inputs());
        LocalRobustRegression::new(train.x.as_ref(), &train.y, *freedom, *prior_scale)
    }
}

impl Target {
    /// Volatility model of the currency, with all parameters 0.
    pub fn volatility(&self, catalogue: &Catalogue) -> Result<FxVolatility, Error> {
        let Self::FxVolatility { data, series, first } = self else {
            return Err(self.is_no("volatility of a currency"));
        };
        let levels = catalogue.series(data)?;
        let place = levels.columns.iter().position(|name| name == series);
        let place = place.ok_or_else(|| {
            Error::invalid(format!("{data} has no {series:?}; it has {}", levels.columns.join(", ")))
        })?;
        let returns = levels.log_returns().col_as_slice(place).to_vec();
        Ok(FxVolatility::new(returns, Theta::default())?.with_first(*first))
    }
}

/// Seed of the stand-in of a stock index, chosen before any fit to it.
const STAND_IN: Seed = Seed::new(1);

/// Levels of a time series; if it is absent and has a synthetic stand-in, those of the stand-in.
pub(super) fn index_levels(catalogue: &Catalogue, data: &str) -> Result<Series, DataError> {
    match catalogue.series(data) {
        Err(DataError::Absent { stand_in: true, .. }) => catalogue.series_stand_in(data, STAND_IN),
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(data: &str, inducing: usize) -> Target {
        let settings = "kind = 'sparse-process'\nrows = 60\nheld_out = 20\nlength = 0.5\nwhitened = true\nwarm = 0.5\n\
                        joint = true\nseed = 1";
        toml::from_str(&format!("{settings}\ndata = '{data}'\ninducing = {inducing}")).unwrap()
    }

    #[test]
    fn regressions_and_classifications_by_the_task_of_the_data() {
        let catalogue = Catalogue::new(None);
        for (name, noise) in [("wasp_precipitation_2010", 2), ("susy", 0), ("pima", 0)] {
            let rows = target(name, 7).sparse_rows(&catalogue, Seed::new(3)).unwrap();
            assert_eq!((rows.process.num_data(), rows.test.num_data()), (60, 20));
            assert_eq!(rows.scaling.is_some(), noise == 2, "{name}");
            let inputs = (rows.theta.len() - 1 - noise) / 8;
            assert_eq!(rows.theta.len(), 1 + inputs + noise + 7 * inputs);
            assert!(rows.process.check_theta(&rows.theta).is_ok());
            let again = target(name, 7).sparse_rows(&catalogue, Seed::new(3)).unwrap();
            assert_eq!(again.theta, rows.theta);
            assert_ne!(target(name, 7).sparse_rows(&catalogue, Seed::new(4)).unwrap().theta, rows.theta);
        }
        let refused = |target: Target| target.sparse_rows(&catalogue, Seed::new(3)).map(|_| ()).unwrap_err();
        assert!(refused(target("no such set", 7)).to_string().contains("no such set"));
        assert!(refused(target("susy", 61)).to_string().contains("61"));
        assert!(refused(Target::Radon).to_string().contains("radon"));
    }

    #[test]
    fn rows_are_those_of_the_replicate_or_all() {
        let catalogue = Catalogue::new(None);
        let target: Target = toml::from_str(
            "kind = 'local-regression'\ndata = 'pol'\nrows = 30\nfreedom = 4.0\nprior_scale = 1.0\nseed = 1",
        )
        .unwrap();
        let some = |seed| target.local_rows(&catalogue, Seed::new(seed)).unwrap();
        assert_eq!((some(1).num_data(), some(1).num_globals()), (30, 28));
        let theta = [0.1; 28];
        assert_eq!(some(1).term(3, &theta), some(1).term(3, &theta));
        assert_ne!(some(1).term(3, &theta), some(2).term(3, &theta));
        assert!(Target::Radon.local_rows(&catalogue, Seed::new(1)).is_err());
    }
}
