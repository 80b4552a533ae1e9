//! Cases: targets whose moments, margins or normalisers are known, and planted failures.

mod name;
mod posteriors;
mod truth;

use std::f64::consts::TAU;
use std::sync::Arc;

use mcsa_core::{Error, Seed, Stream};
use mcsa_data::Catalogue;
use mcsa_models::{
    EightSchools, Funnel, Gaussian, HierarchicalLogistic, LinearRegression, LogisticRegression, Mixture,
    ProbitRegression, Radon, ScalePrior, SkewNormal, Student,
};
use serde::{Deserialize, Serialize};

use posteriors::{Bananas, NanCorner, Separated, WrongGradient};
pub use posteriors::{Built, Fault};
use posteriors::{response_standardised, standardised, synthetic_rows};
use truth::Margin;
use truth::{FirstCoordinate, Line};
pub use truth::{HEAD, LongRun, Margins, Truth};

use super::Posterior;
use super::regression::{correlated_gaussian, of_factors};

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
    /// Gaussian with the covariance `I + B B'` of random factors.
    Factors {
        /// The dimension.
        dim: usize,
        /// Number of columns of B, whose entries are standard normal.
        factors: usize,
    },
    /// Gaussian with equal correlations and variances from 1/4 to 4.
    EqualCorrelation {
        /// The dimension.
        dim: usize,
        /// Correlation of every pair.
        correlation: f64,
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
    /// Forty Gaussians in the plane (Midgley et al. 2023), with means of our own seed.
    FortyGaussians,
    /// Linear regression of `posteriordb` with noise of unknown scale, from a folder that the user has.
    Posteriordb {
        /// `posteriordb/NAME`.
        data: String,
    },
}

/// Seed of targets that are drawn once.
const FIXED: Seed = Seed::new(1703);
/// Noise of the linear regression.
const NOISE: f64 = 0.5;

fn gaussian(target: Gaussian) -> Built {
    let sds: Vec<f64> = (0..target.mean().len()).map(|i| target.variance(i).sqrt()).collect();
    let margins = Margins::normal(target.mean(), &sds);
    Built::exact(target, margins)
}

fn forty_gaussians(stream: &mut Stream) -> Result<Mixture, Error> {
    Mixture::scattered(40, 40.0, 1.0_f64.exp().ln_1p(), stream)
}

impl Case {
    /// Builds the case. Moments without a closed form come from stored long runs.
    ///
    /// # Errors
    /// If a setting is invalid, the data cannot be loaded, or there is no stored run of a case whose chains move well.
    pub fn build(&self, catalogue: &Catalogue) -> Result<Built, Error> {
        let built = self.posterior(catalogue)?;
        if built.truth != Truth::None || self.is_planted() {
            return Ok(built);
        }
        match LongRun::of(&self.title()) {
            Ok((truth, margins)) => Ok(Built { truth, margins: Some(margins), ..built }),
            Err(error) => Err(error),
        }
    }

    /// Builds the case with those moments alone that have a closed form.
    ///
    /// # Errors
    /// If a setting is invalid, or the data cannot be loaded.
    pub fn posterior(&self, catalogue: &Catalogue) -> Result<Built, Error> {
        let mut stream = FIXED.named(self.kind()).stream(0, 0);
        let line = |dim: usize, line: Line| Built::line(FirstCoordinate { dim: dim.max(1), line });
        // Failures planted in the standard normal density, without its constant.
        let normal = |dim: usize, posterior: Arc<dyn Posterior>| Built {
            truth: Truth::Moments { means: vec![0.0; dim], sds: vec![1.0; dim] },
            log_z: Some(0.5 * dim as f64 * TAU.ln()),
            margins: Some(Margins::repeated(vec![Margin::standard()], dim)),
            ..Built::unknown(posterior)
        };
        let unknown = Built::unknown;
        let at = |dim: usize, x: f64, sd: f64| {
            let mut mean = vec![0.0; dim.max(1)];
            mean[0] = x;
            Gaussian::diagonal(mean, vec![sd; dim.max(1)])
        };
        Ok(match self {
            Self::TwoModes { dim, distance, share } => {
                let parts = vec![at(*dim, 0.0, 1.0)?, at(*dim, *distance, 1.0)?];
                Built::hidden(Mixture::new(&[1.0 - share, *share], parts)?, *distance)
            }
            Self::SymmetricModes { dim, distance, share } => {
                Built::hidden(Mixture::modes(*dim, *distance, *share)?, 0.5 * distance)
            }
            Self::Needle { dim, share } => {
                let parts = vec![at(*dim, 0.0, 1.0)?, at(*dim, 6.0, 0.01)?];
                Built::hidden(Mixture::new(&[1.0 - share, *share], parts)?, 6.0)
            }
            Self::NealFunnel { dim, scale } => {
                let first = Margin::Normals(vec![[1.0, 0.0, *scale]]);
                let margins = Margins::first(first, Margin::funnel(*scale), *dim);
                Built::exact(Funnel::new(*dim, *scale)?, margins)
            }
            Self::Student { dim, freedom } => {
                let target = Student::new(vec![0.0; *dim], vec![1.0; *dim], *freedom)?;
                Built::exact(target, Margins::repeated(vec![Margin::student(*freedom)], *dim))
            }
            Self::HeavyCoordinate { dim, freedom } => line(*dim, Line::Student { freedom: *freedom }),
            Self::Step { dim, height } => line(*dim, Line::Step { height: *height }),
            Self::Flat { dim } => line(*dim, Line::Flat),
            Self::LogTail { dim } => line(*dim, Line::LogTail),
            Self::Separated { dim } => unknown(Arc::new(Separated::drawn((*dim).max(2), &mut stream))),
            Self::WrongGradient { dim, fault } => {
                let target = WrongGradient { dim: (*dim).max(1), fault: *fault };
                normal(target.dim, Arc::new(target))
            }
            Self::NanCorner { dim, coordinates, from } => {
                let dim = (*dim).max(1);
                let target = NanCorner { dim, coordinates: (*coordinates).clamp(1, dim), from: *from };
                normal(dim, Arc::new(target))
            }
            Self::Bananas { pairs, bend } => Bananas::built(*pairs, *bend)?,
            Self::Wishart { dim } => {
                gaussian(Gaussian::random_wishart(*dim, 6.0 * *dim as f64, &mut stream)?)
            }
            Self::Factors { dim, factors } => gaussian(of_factors(*dim, *factors, &mut stream)?),
            Self::EqualCorrelation { dim, correlation } => gaussian(correlated_gaussian(*dim, *correlation)?),
            Self::Skewed => {
                let target = SkewNormal::msc();
                Built::exact(target, Margins::each(vec![Margin::skew_normal(0.5, 2.0, 5.0)]))
            }
            Self::Schools => {
                let target = EightSchools::non_centred();
                let log_z = Some(target.log_evidence(1e-10).0);
                Built { log_z, ..unknown(Arc::new(target)) }
            }
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
                let rows = response_standardised(catalogue.load(data)?);
                let model = LinearRegression::new(rows.x.as_ref(), &rows.y, NOISE, 1.0)?;
                let log_z = Some(model.log_evidence());
                let known = gaussian(model.posterior()?);
                Built { log_z, covariance: None, posterior: Arc::new(model), ..known }
            }
            Self::SyntheticRows { dim } => {
                let (x, y) = synthetic_rows((*dim).max(1), &mut stream);
                unknown(Arc::new(LogisticRegression::new(x.as_ref(), &y, 1.0)?))
            }
            Self::Posteriordb { data } => posteriors::of_posteriordb(catalogue, data)?,
            Self::RadonCounties => {
                let data = catalogue.radon()?;
                let model = Radon::new(data.counties.len(), data.county, data.floor, data.log_radon)?;
                Built { log_z: Some(model.log_evidence(1e-6).0), ..unknown(Arc::new(model)) }
            }
            Self::FortyGaussians => {
                let target = forty_gaussians(&mut stream)?;
                let margins = Margins::mixture(&target);
                Built::exact(target, margins)
            }
        })
    }
}
