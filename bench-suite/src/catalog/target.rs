//! Targets by name.

use std::marker::PhantomData;
use std::sync::Arc;

use mcsa_core::{Error, Seed, Separable};
use mcsa_models::{
    Banana, EightSchools, Funnel, Gaussian, GaussianProcessClassification, HierarchicalLogistic, Link,
    Logistic, NeuralRegression, Probit, ProbitRegression, Radon, RobustGaussianProcess, ScalePrior,
    SkewNormal, StockVolatility,
};
use serde::{Deserialize, Serialize};

use super::evaluator::{Divergence, LogEvidence, Moments};
use super::made_up::correlated_gaussian;
use super::regression::{Labels, ProcessLabels, ProcessResponses, Responses};
use super::rows::{halves, scaled};
use super::volatility::index_levels;
use super::{Case, Evaluator, First, LocalConfig, LogisticRows, Posterior, Problem, SparseConfig};
use mcsa_data::{Catalogue, Dataset, Standardised};

/// A target by name, with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Target {
    /// Mean 0, covariance 1.
    StandardGaussian {
        /// The dimension.
        dim: usize,
    },
    /// Means `1, -1, 1, ..`, standard deviations from 0.5 to 2, all pairs equally correlated.
    CorrelatedGaussian {
        /// The dimension.
        dim: usize,
        /// Correlation of each pair.
        correlation: f64,
    },
    /// Gaussian with independent coordinates of random variance (CW): drawn once, equal in all replicates.
    DiagonalGaussian {
        /// The dimension.
        dim: usize,
    },
    /// Gaussian with a random Wishart covariance (pMCSA): drawn once, equal in all replicates.
    WishartGaussian {
        /// The dimension.
        dim: usize,
        /// Degrees of freedom.
        freedom: f64,
    },
    /// The skew normal of MSC.
    SkewNormal,
    /// Banana-shaped density.
    Banana {
        /// Standard deviation along the ridge.
        width: f64,
        /// Curvature of the ridge.
        bend: f64,
    },
    /// Neal's funnel.
    Funnel {
        /// The dimension.
        dim: usize,
        /// Scale of the log variance.
        scale: f64,
    },
    /// Two interleaving half circles, each a mixture of round Gaussians.
    Moons {
        /// Gaussians per half circle.
        per_moon: usize,
        /// Standard deviation of each Gaussian.
        noise: f64,
    },
    /// Mixture of two standard normals at a distance.
    Modes {
        /// The dimension.
        dim: usize,
        /// Distance between the two means.
        distance: f64,
        /// Weight of the second component.
        share: f64,
    },
    /// Eight schools, with standardised effects as coordinates.
    EightSchools,
    /// Radon levels in homes, by county.
    Radon,
    /// Stochastic volatility of a time series, or of its synthetic stand-in if it is absent and has one.
    StockVolatility {
        /// Name of the time series.
        data: String,
    },
    /// Stochastic volatility of the monthly returns of one currency. The path is fitted; fits of the family `twisted` also
    /// learn theta (MSC).
    FxVolatility {
        /// Data set with the exchange rates.
        data: String,
        /// Column of the currency.
        series: String,
        /// Mean of the first state.
        first: First,
    },
    /// Logistic regression with hierarchical scales (MCMC-SE).
    HierarchicalLogistic {
        /// The data set.
        data: String,
        /// True if inputs are standardised.
        standardised: bool,
    },
    /// Logistic regression with a normal prior.
    Logistic {
        /// The data set.
        data: String,
        /// True if inputs are standardised.
        standardised: bool,
        /// Standard deviation of the prior.
        prior_scale: f64,
    },
    /// Logistic regression with a normal prior on synthetic rows with a rare class and correlated features, drawn once. The first
    /// coordinate is the intercept.
    SyntheticLogistic {
        /// Label of the target, which begins with `synthetic`.
        name: String,
        /// Number of training rows.
        rows: usize,
        /// Number of further rows that are held out.
        held_out: usize,
        /// The dimension, with the intercept.
        dim: usize,
        /// Mean probability of the label 1.
        rate: f64,
        /// Correlation of each pair of features.
        correlation: f64,
        /// Standard deviation of the prior.
        prior_scale: f64,
        /// Seed of the rows.
        seed: u64,
    },
    /// Logistic regression with a normal prior and an intercept on a subset of a large data set, or of its synthetic stand-in if the
    /// data set is absent (SL-DAIS, Sec. 7). The rows are standardised.
    SubsetLogistic {
        /// Label of the target; by default the name of the data set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The data set.
        data: String,
        /// Number of training rows.
        rows: usize,
        /// Number of further rows that are held out. Their shares of labels are those of the data set.
        held_out: usize,
        /// Share of the label 1 among the training rows; by default that of the data set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ratio: Option<f64>,
        /// Standard deviation of the prior.
        prior_scale: f64,
        /// Seed of the subset, and of the stand-in.
        seed: u64,
        /// True if each replicate draws a subset of its own; else all share one.
        #[serde(default, skip_serializing_if = "is_false")]
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
        /// The data set.
        data: String,
        /// True if the fit uses all rows and holds out none.
        #[serde(default, skip_serializing_if = "is_false")]
        complete: bool,
    },
    /// Gaussian process classification (MCMC-SE).
    GpClassification {
        /// The data set.
        data: String,
        /// True if inputs are standardised.
        standardised: bool,
    },
    /// Neural network regression with one hidden layer (pMCSA).
    NeuralRegression {
        /// The data set.
        data: String,
        /// Number of hidden units.
        hidden: usize,
    },
    /// Gaussian process regression with Student noise (pMCSA).
    RobustGp {
        /// The data set.
        data: String,
    },
    /// Case of a verdict: a target with known moments, or a planted failure.
    Case {
        /// The case.
        case: Case,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Seed of random targets, which are drawn once.
const FIXED: Seed = Seed::new(2022);

impl Target {
    /// Builds the target. Data are split by `seed`, so that each replicate has its own split, which all methods share.
    ///
    /// # Errors
    /// If a setting is invalid or the data cannot be loaded.
    pub fn build(&self, catalogue: &Catalogue, seed: Seed) -> Result<Problem, Error> {
        self.check_size()?;
        let mut fixed = FIXED.named(self.kind()).stream(0, 0);
        match self {
            Self::StandardGaussian { dim } => gaussian(Gaussian::standard(*dim)),
            Self::CorrelatedGaussian { dim, correlation } => {
                gaussian(correlated_gaussian(*dim, *correlation)?)
            }
            Self::DiagonalGaussian { dim } => gaussian(Gaussian::random_diagonal(*dim, &mut fixed)?),
            Self::WishartGaussian { dim, freedom } => {
                gaussian(Gaussian::random_wishart(*dim, *freedom, &mut fixed)?)
            }
            Self::SkewNormal => Ok(evaluated(SkewNormal::msc(), Moments)),
            Self::Banana { width, bend } => Ok(evaluated(Banana::new(*width, *bend)?, Moments)),
            Self::Funnel { dim, scale } => Ok(evaluated(Funnel::new(*dim, *scale)?, Moments)),
            Self::Moons { .. } | Self::Modes { .. } => Ok(evaluated(self.mixture()?, Moments)),
            Self::EightSchools => {
                let model = Arc::new(EightSchools::non_centred());
                let effects = model.effects().to_vec();
                Ok(Problem::new(model.clone(), Moments).of_data(model, effects))
            }
            Self::Radon => {
                let data = catalogue.radon()?;
                let (counties, observed) = (data.counties.len(), data.log_radon.clone());
                Ok(by_evidence(Radon::new(counties, data.county, data.floor, data.log_radon)?, observed))
            }
            Self::Case { case } => Ok(Problem::new(case.posterior(catalogue)?.posterior, Moments)),
            Self::StockVolatility { data } => {
                let levels = index_levels(catalogue, data)?.levels.col_as_slice(0).to_vec();
                Ok(by_evidence(StockVolatility::new(levels.clone())?, levels))
            }
            Self::HierarchicalLogistic { data, standardised } => {
                let (train, test) = halves(catalogue, data, *standardised, seed)?;
                let model = HierarchicalLogistic::new(train.x.as_ref(), &train.y, ScalePrior::HalfNormal)?;
                Ok(labelled::<Logistic>(model, train.with_ones_last(), test.with_ones_last(), 2))
            }
            Self::Logistic { .. } | Self::SyntheticLogistic { .. } | Self::SubsetLogistic { .. } => {
                let LogisticRows { model, train, test, .. } = self.logistic_rows(catalogue, seed)?;
                Ok(labelled::<Logistic>(model, train, test, 0))
            }
            Self::SparseProcess(_) | Self::LocalRegression(_) => {
                Err(Error::invalid(format!("target {} is for metrics of the bound", self.kind())))
            }
            Self::FxVolatility { .. } => Ok(evaluated(self.volatility(catalogue)?, Moments)),
            Self::Probit { .. } => {
                let (train, test) = self.probit_rows(catalogue, seed)?;
                let model = ProbitRegression::new(train.x.as_ref(), &train.y, 1.0)?;
                Ok(match test {
                    Some(test) => labelled::<Probit>(model, train, test, 0),
                    None => {
                        let model = Arc::new(model);
                        Problem::new(model.clone(), Moments).of_data(model, train.y)
                    }
                })
            }
            Self::GpClassification { data, standardised } => {
                let (train, test) = halves(catalogue, data, *standardised, seed)?;
                let model = Arc::new(GaussianProcessClassification::new(train.x.as_ref(), &train.y)?);
                Ok(Problem::new(model.clone(), ProcessLabels { model, test }))
            }
            Self::NeuralRegression { data, hidden } => {
                let Standardised { train, test, target, .. } = scaled(catalogue, data, seed)?;
                let scaling = target.ok_or_else(|| no_responses(data))?;
                let model = Arc::new(NeuralRegression::new(train.x.as_ref(), &train.y, *hidden)?);
                let evaluator = Responses { model: model.clone(), test, scaling };
                Ok(Problem::new(model.clone(), evaluator).of_data(model, train.y))
            }
            Self::RobustGp { data } => {
                let Standardised { train, test, target, .. } = scaled(catalogue, data, seed)?;
                let scaling = target.ok_or_else(|| no_responses(data))?;
                let model = Arc::new(RobustGaussianProcess::new(train.x.as_ref(), &train.y)?);
                let evaluator = ProcessResponses { model: model.clone(), train, test, scaling };
                Ok(Problem::new(model, evaluator))
            }
        }
    }
}

fn evaluated(posterior: impl Posterior + 'static, evaluator: impl Evaluator + 'static) -> Problem {
    Problem::new(Arc::new(posterior), evaluator)
}

/// Problem with labels whose regression weights begin at coordinate `first`.
fn labelled<L: Link + 'static>(
    model: impl Posterior + Separable + 'static,
    train: Dataset,
    test: Dataset,
    first: usize,
) -> Problem {
    let model = Arc::new(model);
    let labels = train.y.clone();
    let evaluator = Labels::<L> { target: model.clone(), train, test, first, link: PhantomData };
    Problem::new(model.clone(), evaluator).of_data(model, labels)
}

fn gaussian(target: Gaussian) -> Result<Problem, Error> {
    let evaluator = Divergence::new(&target)?;
    Ok(evaluated(target, evaluator))
}

fn by_evidence(model: impl Posterior + Separable + 'static, observed: Vec<f64>) -> Problem {
    let model = Arc::new(model);
    Problem::new(model.clone(), LogEvidence { target: model.clone() }).of_data(model, observed)
}

fn no_responses(name: &str) -> Error {
    Error::invalid(format!("the set {name} has labels; this model regresses measured responses"))
}
