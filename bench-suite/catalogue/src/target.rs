//! Targets by name.

use std::sync::Arc;

use mcsa_core::{Error, Seed, fits_in_memory, square_fits_in_memory};
use mcsa_data::{Catalogue, DataError, Standardised};
use mcsa_models::{
    Banana, EightSchools, Funnel, Gaussian, GaussianProcessClassification, NeuralRegression,
    ProbitRegression, Radon, RobustGaussianProcess, SkewNormal, StockVolatility,
};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::processes::index_levels;
use super::regression::{correlated_gaussian, halves, scaled};
use super::{Case, FirstState, LocalConfig, Method, Posterior, Problem, SparseConfig, is_default};

/// A target by name, with its settings.
#[expect(missing_docs, reason = "the name of such a setting describes it")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Target {
    /// Mean 0, covariance 1.
    StandardGaussian { dim: usize },
    /// Means `1, -1, 1, ..`, standard deviations from 0.5 to 2, all pairs equally correlated.
    CorrelatedGaussian { dim: usize, correlation: f64 },
    /// Gaussian with independent coordinates of random variance (CW): drawn once, equal in all replicates.
    DiagonalGaussian { dim: usize },
    /// Gaussian with a random Wishart covariance (pMCSA): drawn once, equal in all replicates.
    WishartGaussian { dim: usize, freedom: f64 },
    /// The skew normal of MSC.
    SkewNormal,
    /// Banana-shaped density.
    Banana {
        /// Standard deviation along the ridge.
        width: f64,
        bend: f64,
    },
    /// Neal's funnel.
    Funnel {
        dim: usize,
        /// Scale of the log variance.
        scale: f64,
    },
    /// Two interleaving half circles, each a mixture of round Gaussians.
    Moons {
        /// Gaussians per half circle.
        per_moon: usize,
        noise: f64,
    },
    /// Mixture of two standard normals at a distance.
    Modes { dim: usize, distance: f64, share: f64 },
    /// Eight schools, with standardised effects as coordinates.
    EightSchools,
    /// Radon levels in homes, by county.
    Radon,
    /// Stochastic volatility of a time series, or of its synthetic stand-in if it is absent and has one.
    StockVolatility { data: String },
    /// Stochastic volatility of the monthly returns of one currency. The path is fitted; fits of the family `twisted` also
    /// learn theta (MSC).
    FxVolatility {
        /// Data set with the exchange rates.
        data: String,
        series: String,
        first: FirstState,
    },
    /// Logistic regression with hierarchical scales (MCMC-SE).
    HierarchicalLogistic { data: String, standardised: bool },
    /// Logistic regression with a normal prior.
    Logistic { data: String, standardised: bool, prior_scale: f64 },
    /// Logistic regression with a normal prior on synthetic rows with a rare class and correlated features, drawn once. The first
    /// coordinate is the intercept.
    SyntheticLogistic {
        /// Label of the target, which begins with `synthetic`.
        name: String,
        rows: usize,
        held_out: usize,
        dim: usize,
        rate: f64,
        correlation: f64,
        prior_scale: f64,
        seed: u64,
    },
    /// Logistic regression with a normal prior and an intercept on a subset of a large data set, or of its synthetic stand-in if the
    /// data set is absent (SL-DAIS, Sec. 7). The rows are standardised.
    SubsetLogistic {
        /// Label of the target; by default the name of the data set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        data: String,
        rows: usize,
        /// Number of further rows that are held out. Their shares of labels are those of the data set.
        held_out: usize,
        /// Share of the label 1 among the training rows; by default that of the data set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ratio: Option<f64>,
        prior_scale: f64,
        /// Seed of the subset, and of the stand-in.
        seed: u64,
        /// True if each replicate draws a subset of its own; else all share one.
        #[serde(default, skip_serializing_if = "is_default")]
        splits: bool,
    },
    /// Sparse Gaussian process on a subset of a data set, or of its synthetic stand-in if the data set is absent; regression with
    /// Student t errors of measured responses, classification of labels (SL-DAIS, Sec. 7.4 and 7.5). Each replicate draws its rows.
    /// Kernel, errors and inducing points are learned. Only for metrics of the bound.
    SparseProcess(SparseConfig),
    /// Linear regression with Student t errors, written with a local precision per datum, on rows of a data set, or of its synthetic
    /// stand-in if the data set is absent (SL-DAIS, App. A). Each replicate draws its rows. Only for metrics of the bound.
    LocalRegression(LocalConfig),
    /// Probit regression with a standard normal prior (MSC).
    Probit {
        data: String,
        /// True if the fit uses all rows and holds out none.
        #[serde(default, skip_serializing_if = "is_default")]
        complete: bool,
    },
    /// Gaussian process classification (MCMC-SE).
    GpClassification { data: String, standardised: bool },
    /// Neural network regression with one hidden layer (pMCSA).
    NeuralRegression { data: String, hidden: usize },
    /// Gaussian process regression with Student noise (pMCSA).
    RobustGp { data: String },
    /// Case of a verdict: a target with known moments, or a planted failure.
    Case { case: Case },
}

/// Seed of random targets, which are drawn once.
const FIXED: Seed = Seed::new(2022);

impl Target {
    /// Builds the target. Data are split by `seed`, so that each replicate has its own split, which all methods share.
    pub fn build(&self, catalogue: &Catalogue, seed: Seed) -> Result<Problem, Error> {
        self.check_size()?;
        let mut fixed = FIXED.named(self.kind()).stream(0, 0);
        let by_moments = |target: Arc<dyn Posterior>| Ok(Problem::moments(target));
        match self {
            Self::StandardGaussian { dim } => Problem::gaussian(Gaussian::standard(*dim)),
            Self::CorrelatedGaussian { dim, correlation } => {
                Problem::gaussian(correlated_gaussian(*dim, *correlation)?)
            }
            Self::DiagonalGaussian { dim } => Problem::gaussian(Gaussian::random_diagonal(*dim, &mut fixed)?),
            Self::WishartGaussian { dim, freedom } => {
                Problem::gaussian(Gaussian::random_wishart(*dim, *freedom, &mut fixed)?)
            }
            Self::SkewNormal => by_moments(Arc::new(SkewNormal::msc())),
            Self::Banana { width, bend } => by_moments(Arc::new(Banana::new(*width, *bend)?)),
            Self::Funnel { dim, scale } => by_moments(Arc::new(Funnel::new(*dim, *scale)?)),
            Self::Moons { .. } | Self::Modes { .. } => by_moments(Arc::new(self.mixture()?)),
            Self::EightSchools => by_moments(Arc::new(EightSchools::non_centred())),
            Self::Case { case } => by_moments(case.posterior(catalogue)?.posterior),
            Self::FxVolatility { .. } => by_moments(Arc::new(self.volatility(catalogue)?)),
            Self::Radon => {
                let data = catalogue.radon()?;
                let model = Radon::new(data.counties.len(), data.county, data.floor, data.log_radon)?;
                Ok(Problem::evidence(model))
            }
            Self::StockVolatility { data } => {
                let levels = index_levels(catalogue, data)?.levels.col_as_slice(0).to_vec();
                Ok(Problem::evidence(StockVolatility::new(levels)?))
            }
            Self::HierarchicalLogistic { .. } => {
                Ok(Problem::labels(self.hierarchical_rows(catalogue, seed)?))
            }
            Self::Logistic { .. } | Self::SyntheticLogistic { .. } | Self::SubsetLogistic { .. } => {
                Ok(Problem::labels(self.logistic_rows(catalogue, seed)?))
            }
            Self::SparseProcess(_) | Self::LocalRegression(_) => {
                Err(Error::invalid(format!("target {} is for metrics of the bound", self.kind())))
            }
            Self::Probit { complete: true, .. } => {
                let (all, _) = self.probit_rows(catalogue, seed)?;
                by_moments(Arc::new(ProbitRegression::new(all.x.as_ref(), &all.y, 1.0)?))
            }
            Self::Probit { .. } => Ok(Problem::labels(self.probit_halves(catalogue, seed)?)),
            Self::GpClassification { data, standardised } => {
                let [train, test] = halves(catalogue, data, *standardised, seed)?;
                let model = GaussianProcessClassification::new(train.x.as_ref(), &train.y)?;
                Ok(Problem::process_labels(model, test))
            }
            Self::NeuralRegression { data, hidden } => {
                let Standardised { train, test, target, .. } = scaled(catalogue, data, seed)?;
                let scaling = target.ok_or_else(|| no_responses(data))?;
                let model = NeuralRegression::new(train.x.as_ref(), &train.y, *hidden)?;
                Ok(Problem::responses(model, test, scaling))
            }
            Self::RobustGp { data } => {
                let Standardised { train, test, target, .. } = scaled(catalogue, data, seed)?;
                let scaling = target.ok_or_else(|| no_responses(data))?;
                let model = RobustGaussianProcess::new(train.x.as_ref(), &train.y)?;
                Ok(Problem::process_responses(model, [train, test], scaling))
            }
        }
    }
}

fn no_responses(name: &str) -> Error {
    Error::invalid(format!("the set {name} has labels; this model regresses measured responses"))
}

impl Target {
    /// Every name with its settings and a description, but for targets of metrics of the bound alone.
    pub const ALL: [(&'static str, &'static str, &'static str); 22] = [
        ("standard-gaussian", "dim = 1", "mean 0, covariance 1"),
        ("correlated-gaussian", "dim = 10, correlation = 0.5", "every pair equally correlated"),
        ("diagonal-gaussian", "dim = 100", "independent coordinates of random variance (CW)"),
        ("wishart-gaussian", "dim = 100, freedom = 600.0", "random covariance (pMCSA)"),
        ("skew-normal", "", "one dimension (MSC)"),
        ("banana", "width = 2.0, bend = 0.5", "a bent ridge"),
        ("funnel", "dim = 5, scale = 1.0", "Neal's funnel"),
        ("moons", "per_moon = 8, noise = 0.15", "two half circles that reach into each other"),
        ("modes", "dim = 2, distance = 6.0, share = 0.3", "two standard normals apart"),
        ("eight-schools", "", "non-centred"),
        ("radon", "", "homes in counties (MCMC-SE, CW)"),
        ("stock-volatility", "data = \"sp500_close_2007_2017\"", "levels of an index (CW)"),
        (
            "fx-volatility",
            "data = \"fx_ecb_18\", series = \"cad\", first = \"level\"",
            "returns of a currency (MSC)",
        ),
        ("hierarchical-logistic", "data = \"pima\", standardised = false", "labels (MCMC-SE, CW)"),
        ("logistic", "data = \"pima\", standardised = true, prior_scale = 1.0", "labels"),
        ("probit", "data = \"pima\"", "labels (MSC)"),
        ("gp-classification", "data = \"sonar\", standardised = false", "labels (MCMC-SE)"),
        ("neural-regression", "data = \"yacht\", hidden = 50", "responses (pMCSA)"),
        ("robust-gp", "data = \"yacht\"", "responses (pMCSA)"),
        (
            "synthetic-logistic",
            "name = \"synthetic\", rows = 500, held_out = 500, dim = 5, rate = 0.1, correlation = 0.5, prior_scale = 1.0, \
             seed = 1",
            "synthetic labels, one of them rare (SL-DAIS)",
        ),
        (
            "subset-logistic",
            "data = \"susy\", rows = 500, held_out = 500, ratio = 0.1, prior_scale = 1.0, seed = 1",
            "labels of a large set, or SYNTHETIC ones of its shape (SL-DAIS)",
        ),
        ("case", "case = { kind = \"skewed\" }", "a case of the verdict on a fit"),
    ];

    /// Name used in files.
    pub fn kind(&self) -> &'static str {
        self.into()
    }

    /// The error that the target is of another kind than a function is for.
    pub(super) fn is_no(&self, what: &str) -> Error {
        Error::invalid(format!("{} is no {what}", self.kind()))
    }

    /// Label and all numerical settings: `correlated-gaussian, correlation 0.2, dim 10`.
    pub fn title(&self) -> String {
        match self {
            Self::Case { case } => case.title(),
            _ => titled(self.label(), self),
        }
    }
}

impl Method {
    /// Kind and all settings: `pmcsa, chains 10`.
    pub fn title(&self) -> String {
        match self {
            Self::Inference { entrant } => entrant.title(),
            _ => titled(self.kind(), self),
        }
    }
}

fn titled(name: &str, settings: &impl Serialize) -> String {
    let mut title = name.to_owned();
    if let Ok(serde_json::Value::Object(settings)) = serde_json::to_value(settings) {
        let numbers = settings.iter().filter(|(_, value)| value.is_number());
        numbers.for_each(|(key, value)| title.push_str(&format!(", {} {value}", key.replace('_', " "))));
    }
    title
}

/// Number of inputs of the widest large data set.
const WIDEST: usize = 54;

impl Target {
    /// An error for a size whose matrices do not fit in memory; the message names the largest that do.
    pub(super) fn check_size(&self) -> Result<(), Error> {
        match *self {
            // Dense covariances.
            Self::StandardGaussian { dim }
            | Self::CorrelatedGaussian { dim, .. }
            | Self::DiagonalGaussian { dim }
            | Self::WishartGaussian { dim, .. } => square_fits_in_memory("dim", dim),
            Self::Funnel { dim, .. } | Self::Modes { dim, .. } => fits_in_memory("dim", dim, 2),
            Self::SyntheticLogistic { rows, held_out, dim, .. } => {
                fits_in_memory("rows", rows.saturating_add(held_out), dim)
            }
            Self::SubsetLogistic { rows, held_out, .. } => {
                fits_in_memory("rows", rows.saturating_add(held_out), WIDEST)
            }
            Self::Moons { per_moon, .. } => fits_in_memory("per_moon", per_moon, 8),
            _ => Ok(()),
        }
    }

    /// The case, if the target is one.
    pub fn case(&self) -> Option<&Case> {
        match self {
            Self::Case { case } => Some(case),
            _ => None,
        }
    }

    /// The data set, if there is one.
    pub fn data(&self) -> Option<&str> {
        match self {
            Self::HierarchicalLogistic { data, .. }
            | Self::Logistic { data, .. }
            | Self::Probit { data, .. }
            | Self::FxVolatility { data, .. }
            | Self::GpClassification { data, .. }
            | Self::NeuralRegression { data, .. }
            | Self::RobustGp { data }
            | Self::SubsetLogistic { data, .. }
            | Self::SparseProcess(SparseConfig { data, .. })
            | Self::LocalRegression(LocalConfig { data, .. })
            | Self::StockVolatility { data } => Some(data),
            Self::Radon => Some("radon_mn"),
            Self::Case { case } => case.data(),
            _ => None,
        }
    }

    /// Short label: the currency, the data set, the name of synthetic rows or of a subset, or else the kind.
    pub fn label(&self) -> &str {
        match self {
            Self::FxVolatility { series, .. } => series,
            Self::SyntheticLogistic { name, .. } | Self::SubsetLogistic { name: Some(name), .. } => name,
            Self::SparseProcess(SparseConfig { name: Some(name), .. })
            | Self::LocalRegression(LocalConfig { name: Some(name), .. }) => name,
            Self::Case { case } => case.kind(),
            _ => self.data().unwrap_or_else(|| self.kind()),
        }
    }

    /// Returns true if a synthetic stand-in is used where the data set is absent.
    pub fn stands_in(&self) -> bool {
        let local = matches!(self, Self::SparseProcess(_) | Self::LocalRegression(_));
        local || matches!(self, Self::SubsetLogistic { .. } | Self::StockVolatility { .. })
    }

    /// SHA-256 of the data set; `None` if there is none, or if a synthetic stand-in is used. Archived results were made with the data set.
    pub fn digest(&self, catalogue: &Catalogue) -> Result<Option<String>, DataError> {
        let Some(name) = self.data() else { return Ok(None) };
        match (catalogue.digest(name), catalogue.archived_digest(name)) {
            (Err(error), Some(digest)) if error.is_absent() => Ok(Some(digest)),
            (Err(DataError::Absent { stand_in: true, .. }), None) if self.stands_in() => Ok(None),
            (found, _) => found.map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_told() {
        let target = Target::CorrelatedGaussian { dim: 10, correlation: 0.2 };
        assert_eq!(target.title(), "correlated-gaussian, correlation 0.2, dim 10");
        assert_eq!(Method::Pmcsa { chains: 4 }.title(), "pmcsa, chains 4");
    }

    /// Counterexample: a new fit without the levels has a stand-in, which has no digest.
    #[test]
    fn archived_results_are_those_of_the_data() {
        let index = Target::StockVolatility { data: "sp500_close_2007_2017".to_owned() };
        let catalogue = Catalogue::new(None);
        assert_eq!(index.digest(&catalogue).unwrap(), None);
        let archived = index.digest(&catalogue.of_archive()).unwrap();
        assert!(archived.is_some_and(|digest| digest.len() == 64));
    }

    #[test]
    fn sizes_beyond_memory_are_refused_with_the_largest() {
        let refused = |target: Target| target.check_size().unwrap_err().to_string();
        let gaussian = |dim| Target::StandardGaussian { dim };
        assert!(gaussian(11_585).check_size().is_ok());
        assert!(refused(gaussian(11_586)).contains("expected at most 11585"));
        assert!(refused(Target::WishartGaussian { dim: usize::MAX, freedom: 9.0 }).contains("at most 11585"));
        assert!(refused(Target::Funnel { dim: usize::MAX, scale: 1.0 }).contains("at most 67108864"));
        assert!(refused(Target::Moons { per_moon: usize::MAX, noise: 1.0 }).starts_with("per_moon is"));
    }
}
