//! Cases of a verdict: posteriors whose moments are known, and planted failures.

mod exported;
mod faulty;
mod line;
mod long_run;
mod name;
mod posteriordb;
mod rows;
mod truth;

use std::sync::Arc;

use faer::Mat;
use mcsa_core::{Error, Seed};
use mcsa_data::Catalogue;
use mcsa_models::{
    Banana, EightSchools, Funnel, Gaussian, GroundTruth, HierarchicalLogistic, LinearRegression,
    LogisticRegression, Mixture, ProbitRegression, Radon, ScalePrior, SkewNormal, Student,
};
use serde::{Deserialize, Serialize};

pub(crate) use exported::Exported;
pub use faulty::Fault;
use faulty::{Bananas, NanCorner, Separated, WrongGradient};
use line::{FirstCoordinate, Line};
pub(crate) use long_run::{HEAD, LongRun};
use rows::{standardised, synthetic_rows};
pub use truth::Truth;

use super::Posterior;

/// Case of a verdict: a target with what is known of its moments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Case {
    /// Two standard normals, the first at the origin, the second `distance` away on the first axis.
    TwoModes {
        /// The dimension.
        dim: usize,
        /// Distance of the means.
        distance: f64,
        /// Mass of the second.
        share: f64,
    },
    /// Two standard normals on both sides of the origin.
    SymmetricModes {
        /// The dimension.
        dim: usize,
        /// Distance of the means.
        distance: f64,
        /// Mass of the second.
        share: f64,
    },
    /// Standard normal, and a mode of standard deviation 0.01 at distance 6.
    Needle {
        /// The dimension.
        dim: usize,
        /// Mass of the narrow mode.
        share: f64,
    },
    /// Neal's funnel, centred.
    NealFunnel {
        /// The dimension.
        dim: usize,
        /// Standard deviation of the log variance.
        scale: f64,
    },
    /// Student t in all coordinates together.
    Student {
        /// The dimension.
        dim: usize,
        /// Degrees of freedom.
        freedom: f64,
    },
    /// Student t in one coordinate, normal in the others.
    HeavyCoordinate {
        /// The dimension.
        dim: usize,
        /// Degrees of freedom.
        freedom: f64,
    },
    /// Standard normal that is `exp(height)` times as high where the first coordinate exceeds 1.
    Step {
        /// The dimension.
        dim: usize,
        /// Log of the ratio at the step.
        height: f64,
    },
    /// Flat in one coordinate: improper.
    Flat {
        /// The dimension.
        dim: usize,
    },
    /// Logistic regression with separated classes and a flat prior: improper.
    Separated {
        /// The dimension.
        dim: usize,
    },
    /// Density that falls like `1/z` in one coordinate: improper.
    LogTail {
        /// The dimension.
        dim: usize,
    },
    /// Standard normal with a gradient that is not its own.
    WrongGradient {
        /// The dimension.
        dim: usize,
        /// The fault.
        fault: Fault,
    },
    /// Standard normal that is NaN in a corner, which a right answer would have to include.
    NanCorner {
        /// The dimension.
        dim: usize,
        /// Number of coordinates that bound the corner.
        coordinates: usize,
        /// Its edge in each of them.
        from: f64,
    },
    /// Pairs of coordinates, each with a banana-shaped density.
    Bananas {
        /// Number of pairs.
        pairs: usize,
        /// Curvature of the ridges, whose standard deviation is 2.
        bend: f64,
    },
    /// Gaussian with a random Wishart covariance.
    Wishart {
        /// The dimension.
        dim: usize,
    },
    /// The skew normal of MSC.
    Skewed,
    /// Eight schools, with standardised effects as coordinates.
    Schools,
    /// Logistic regression with hierarchical scales on all rows, unscaled.
    HierarchicalRows {
        /// The data set.
        data: String,
    },
    /// Logistic regression on all rows, standardised, with a standard normal prior.
    LogisticRows {
        /// The data set.
        data: String,
    },
    /// Probit regression on all rows, standardised, with a standard normal prior.
    ProbitRows {
        /// The data set.
        data: String,
    },
    /// Linear regression on all rows, standardised, with noise of scale 0.5 and a standard normal prior.
    LinearRows {
        /// The data set.
        data: String,
    },
    /// Logistic regression on `10 d` SYNTHETIC rows with correlated inputs and a standard normal prior.
    SyntheticRows {
        /// The dimension.
        dim: usize,
    },
    /// Radon levels in homes, by county.
    RadonCounties,
    /// Linear regression of `posteriordb` with noise of unknown scale, from a folder that the user has.
    Posteriordb {
        /// `posteriordb/NAME`.
        data: String,
    },
}

/// A case, built.
pub struct Built {
    /// The target.
    pub posterior: Arc<dyn Posterior>,
    /// Its moments.
    pub truth: Truth,
    /// The covariance, if it is known in closed form.
    pub covariance: Option<Mat<f64>>,
    /// A mode that starts may miss.
    pub hidden: Option<Vec<f64>>,
}

/// Seed of targets that are drawn once.
const FIXED: Seed = Seed::new(1703);
/// Noise of the linear regression.
const NOISE: f64 = 0.5;

fn exact(target: impl GroundTruth + Posterior + 'static) -> Built {
    let (truth, covariance) = (Truth::of(&target), target.covariance());
    Built { truth, covariance, posterior: Arc::new(target), hidden: None }
}

fn hidden(target: Mixture, at: f64) -> Built {
    let mut mode = vec![0.0; mcsa_core::LogDensity::dim(&target)];
    mode[0] = at;
    Built { hidden: Some(mode), ..exact(target) }
}

impl Case {
    /// Builds the case. Moments without a closed form come from stored long runs.
    ///
    /// # Errors
    /// If a setting is invalid, the data cannot be loaded, or there is no stored run.
    pub fn build(&self, catalogue: &Catalogue) -> Result<Built, Error> {
        let built = self.posterior(catalogue)?;
        match built.truth {
            Truth::None if !self.is_planted() => Ok(Built { truth: LongRun::of(&self.title())?, ..built }),
            _ => Ok(built),
        }
    }

    /// Builds the case with those moments alone that have a closed form.
    ///
    /// # Errors
    /// If a setting is invalid, or the data cannot be loaded.
    pub(crate) fn posterior(&self, catalogue: &Catalogue) -> Result<Built, Error> {
        let mut stream = FIXED.named(self.kind()).stream(0, 0);
        let line = |dim: usize, line: Line| {
            let target = FirstCoordinate { dim: dim.max(1), line };
            Built { truth: target.truth(), covariance: None, posterior: Arc::new(target), hidden: None }
        };
        let normal = |dim: usize| Truth::Moments { means: vec![0.0; dim], sds: vec![1.0; dim] };
        let unknown = |posterior: Arc<dyn Posterior>| Built {
            posterior,
            truth: Truth::None,
            covariance: None,
            hidden: None,
        };
        let at = |dim: usize, x: f64, sd: f64| {
            let mut mean = vec![0.0; dim.max(1)];
            mean[0] = x;
            Gaussian::diagonal(mean, vec![sd; dim.max(1)])
        };
        Ok(match self {
            Self::TwoModes { dim, distance, share } => {
                let parts = vec![at(*dim, 0.0, 1.0)?, at(*dim, *distance, 1.0)?];
                hidden(Mixture::new(&[1.0 - share, *share], parts)?, *distance)
            }
            Self::SymmetricModes { dim, distance, share } => {
                hidden(Mixture::modes(*dim, *distance, *share)?, 0.5 * distance)
            }
            Self::Needle { dim, share } => {
                let parts = vec![at(*dim, 0.0, 1.0)?, at(*dim, 6.0, 0.01)?];
                hidden(Mixture::new(&[1.0 - share, *share], parts)?, 6.0)
            }
            Self::NealFunnel { dim, scale } => exact(Funnel::new(*dim, *scale)?),
            Self::Student { dim, freedom } => {
                exact(Student::new(vec![0.0; *dim], vec![1.0; *dim], *freedom)?)
            }
            Self::HeavyCoordinate { dim, freedom } => line(*dim, Line::Student { freedom: *freedom }),
            Self::Step { dim, height } => line(*dim, Line::Step { height: *height }),
            Self::Flat { dim } => line(*dim, Line::Flat),
            Self::LogTail { dim } => line(*dim, Line::LogTail),
            Self::Separated { dim } => unknown(Arc::new(Separated::drawn((*dim).max(2), &mut stream))),
            Self::WrongGradient { dim, fault } => {
                let target = WrongGradient { dim: (*dim).max(1), fault: *fault };
                Built { truth: normal(target.dim), ..unknown(Arc::new(target)) }
            }
            Self::NanCorner { dim, coordinates, from } => {
                let dim = (*dim).max(1);
                let target = NanCorner { dim, coordinates: (*coordinates).clamp(1, dim), from: *from };
                Built { truth: normal(dim), ..unknown(Arc::new(target)) }
            }
            Self::Bananas { pairs, bend } => {
                let banana = Banana::new(2.0, *bend)?;
                let truth = match Truth::of(&banana) {
                    Truth::Moments { means, sds } => {
                        Truth::Moments { means: means.repeat(*pairs), sds: sds.repeat(*pairs) }
                    }
                    Truth::None => Truth::None,
                };
                let one = banana.covariance();
                let entry = |i: usize, j: usize| match &one {
                    Some(one) if i / 2 == j / 2 => one[(i % 2, j % 2)],
                    _ => 0.0,
                };
                let covariance = one.is_some().then(|| Mat::from_fn(2 * pairs, 2 * pairs, entry));
                Built { truth, covariance, ..unknown(Arc::new(Bananas { pairs: *pairs, banana })) }
            }
            Self::Wishart { dim } => exact(Gaussian::random_wishart(*dim, 6.0 * *dim as f64, &mut stream)?),
            Self::Skewed => exact(SkewNormal::msc()),
            Self::Schools => unknown(Arc::new(EightSchools::non_centred())),
            Self::HierarchicalRows { data } => {
                let rows = catalogue.load(data)?;
                unknown(Arc::new(HierarchicalLogistic::new(
                    rows.x.as_ref(),
                    &rows.y,
                    ScalePrior::HalfNormal,
                )?))
            }
            Self::LogisticRows { data } => {
                let rows = standardised(catalogue.load(data)?);
                unknown(Arc::new(LogisticRegression::new(rows.x.as_ref(), &rows.y, 1.0)?))
            }
            Self::ProbitRows { data } => {
                let rows = standardised(catalogue.load(data)?);
                unknown(Arc::new(ProbitRegression::new(rows.x.as_ref(), &rows.y, 1.0)?))
            }
            Self::LinearRows { data } => {
                let rows = standardised(catalogue.load(data)?);
                let (count, mean) = (rows.y.len() as f64, rows.y.iter().sum::<f64>() / rows.y.len() as f64);
                let scale = (rows.y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / count).sqrt();
                let y: Vec<f64> = rows.y.iter().map(|y| (y - mean) / scale).collect();
                let model = LinearRegression::new(rows.x.as_ref(), &y, NOISE, 1.0)?;
                Built { truth: Truth::of(&model.posterior()?), ..unknown(Arc::new(model)) }
            }
            Self::SyntheticRows { dim } => {
                let (x, y) = synthetic_rows((*dim).max(1), &mut stream);
                unknown(Arc::new(LogisticRegression::new(x.as_ref(), &y, 1.0)?))
            }
            Self::Posteriordb { data } => posteriordb::built(catalogue, data)?,
            Self::RadonCounties => {
                let data = catalogue.radon()?;
                unknown(Arc::new(Radon::new(data.counties.len(), data.county, data.floor, data.log_radon)?))
            }
        })
    }
}
