//! Cases: targets whose moments, margins or normalisers are known, and planted failures.

mod planted;
mod posteriors;
mod simulated;
mod truth;

use std::sync::Arc;

use faer::Mat;
use mcsa_core::{Error, Seed, Stream};
use mcsa_data::{Catalogue, Dataset};
use mcsa_models::{
    EightSchools, Funnel, Gaussian, HierarchicalLogistic, LinearRegression, LogisticRegression, Mixture,
    ProbitRegression, Radon, ScalePrior, SkewNormal, Student,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use strum::IntoStaticStr;

pub use planted::Shape;
pub use posteriors::{Built, Fault, Hidden};
use posteriors::{response_standardised, standardised, synthetic_rows};
pub use simulated::Simulated;
pub use truth::{HEAD, LEVELS, LongRun, Margins, Truth};
use truth::{Line, level};

use super::regression::{correlated_gaussian, of_factors};

/// Case of a verdict: a target with what is known of its moments.
#[expect(missing_docs, reason = "the name of such a setting describes it")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Case {
    /// Two standard normals, the first at the origin, the second `distance` away on the first axis.
    TwoModes { dim: usize, distance: f64, share: f64 },
    /// Two standard normals on both sides of the origin.
    SymmetricModes { dim: usize, distance: f64, share: f64 },
    /// Standard normal, and a mode of standard deviation 0.01 at distance 6.
    Needle {
        dim: usize,
        /// Mass of the narrow mode.
        share: f64,
    },
    /// Neal's funnel, centred.
    NealFunnel { dim: usize, scale: f64 },
    /// Student t in all coordinates together.
    Student { dim: usize, freedom: f64 },
    /// Student t in one coordinate, normal in the others.
    HeavyCoordinate { dim: usize, freedom: f64 },
    /// Standard normal that is `exp(height)` times as high where the first coordinate exceeds 1.
    Step { dim: usize, height: f64 },
    /// Flat in one coordinate: improper.
    Flat { dim: usize },
    /// Logistic regression with separated classes and a flat prior: improper.
    Separated { dim: usize },
    /// Density that falls like `1/z` in one coordinate: improper.
    LogTail { dim: usize },
    /// Standard normal with a gradient that is not its own.
    WrongGradient { dim: usize, fault: Fault },
    /// Standard normal that is NaN in a corner, which a right answer would have to include.
    NanCorner {
        dim: usize,
        /// Number of coordinates that bound the corner.
        coordinates: usize,
        /// Its edge in each of them.
        from: f64,
    },
    /// Pairs of coordinates, each with a banana-shaped density.
    Bananas {
        pairs: usize,
        /// Curvature of the ridges, whose standard deviation is 2.
        bend: f64,
    },
    /// Gaussian with a random Wishart covariance.
    Wishart { dim: usize },
    /// Gaussian with the covariance `I + B B'` of random factors.
    Factors {
        dim: usize,
        /// Number of columns of B, whose entries are standard normal.
        factors: usize,
    },
    /// Gaussian with equal correlations and variances from 1/4 to 4.
    EqualCorrelation { dim: usize, correlation: f64 },
    /// The skew normal of MSC.
    Skewed,
    /// Eight schools, with standardised effects as coordinates.
    Schools,
    /// Logistic regression with hierarchical scales on all rows, unscaled.
    HierarchicalRows { data: String },
    /// Logistic regression on all rows, standardised, with a standard normal prior.
    LogisticRows { data: String },
    /// Probit regression on all rows, standardised, with a standard normal prior.
    ProbitRows { data: String },
    /// Linear regression on all rows, standardised, with noise of scale 0.5 and a standard normal prior.
    LinearRows { data: String },
    /// Logistic regression on `10 d` SYNTHETIC rows with correlated inputs and a standard normal prior.
    SyntheticRows { dim: usize },
    /// Radon levels in homes, by county.
    RadonCounties,
    /// Forty Gaussians in the plane (Midgley et al. 2023), with means of our own seed.
    FortyGaussians,
    /// Failure whose parameters are drawn, or its healthy twin.
    Planted { shape: Shape, healthy: bool },
    /// Data sets whose parameters are drawn from a prior, each with its own posterior; the case itself is the first of them.
    Simulated {
        model: Simulated,
        /// Scales of the prior from which parameters are drawn, relative to those of the prior of the model. A number other than
        /// 1 makes the posteriors wrong.
        prior: f64,
    },
}

/// Seed of targets that are drawn once.
const FIXED: Seed = Seed::new(1703);
const NOISE: f64 = 0.5;

fn forty_gaussians(stream: &mut Stream) -> Result<Mixture, Error> {
    Mixture::scattered(40, 40.0, 1.0_f64.exp().ln_1p(), stream)
}

impl Case {
    /// Builds the case. Moments without a closed form come from stored long runs.
    pub fn build(&self, catalogue: &Catalogue) -> Result<Built, Error> {
        let built = self.posterior(catalogue)?;
        if built.truth != Truth::None || self.is_planted() {
            return Ok(built);
        }
        let (truth, margins) = LongRun::of(&self.title())?;
        Ok(Built { truth, margins: Some(margins), ..built })
    }

    /// The case with parameters drawn by a seed, if they are drawn. A failure and its twin have the same parameters under one seed.
    pub fn redrawn(&self, seed: Seed) -> Result<Option<Built>, Error> {
        match *self {
            Self::Planted { shape, healthy } => {
                planted::drawn(shape, healthy, &mut seed.named(self.kind()).stream(0, 0)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Builds the case with those moments alone that have a closed form.
    pub fn posterior(&self, catalogue: &Catalogue) -> Result<Built, Error> {
        let mut stream = FIXED.named(self.kind()).stream(0, 0);
        // A mode at `x` on the first axis.
        let at = |dim: usize, x: f64, sd: f64| {
            let mut mean = vec![0.0; dim.max(1)];
            mean[0] = x;
            Gaussian::diagonal(mean, vec![sd; dim.max(1)])
        };
        let two = |dim: usize, share: f64, x: f64, sd: f64| -> Result<Built, Error> {
            Ok(Built::hidden(
                Mixture::new(&[1.0 - share, share], vec![at(dim, 0.0, 1.0)?, at(dim, x, sd)?])?,
                x,
            ))
        };
        Ok(match *self {
            Self::TwoModes { dim, distance, share } => two(dim, share, distance, 1.0)?,
            Self::SymmetricModes { dim, distance, share } => {
                Built::hidden(Mixture::modes(dim, distance, share)?, 0.5 * distance)
            }
            Self::Needle { dim, share } => two(dim, share, 6.0, 0.01)?,
            Self::NealFunnel { dim, scale } => {
                let margins = vec![vec![[1.0, 0.0, scale]], truth::funnel(scale)];
                Built::exact(Funnel::new(dim, scale)?, truth::margins(margins, dim))
            }
            Self::Student { dim, freedom } => {
                let target = Student::new(vec![0.0; dim], vec![1.0; dim], freedom)?;
                Built::exact(target, truth::margins(vec![truth::student(freedom)], dim))
            }
            Self::HeavyCoordinate { dim, freedom } => posteriors::of_line(dim, Line::Student { freedom }),
            Self::Step { dim, height } => posteriors::of_line(dim, Line::Step { height }),
            Self::Flat { dim } => posteriors::of_line(dim, Line::Flat),
            Self::LogTail { dim } => posteriors::of_line(dim, Line::LogTail),
            Self::Separated { dim } => Built::unknown(posteriors::separated(dim.max(2), &mut stream)),
            Self::WrongGradient { dim, fault } => posteriors::wrong_gradient(dim.max(1), fault),
            Self::NanCorner { dim, coordinates, from } => {
                posteriors::nan_corner(dim.max(1), coordinates.clamp(1, dim.max(1)), from)
            }
            Self::Bananas { pairs, bend } => posteriors::bananas(pairs, bend)?,
            Self::Wishart { dim } => {
                Built::gaussian(Gaussian::random_wishart(dim, 6.0 * dim as f64, &mut stream)?)
            }
            Self::Factors { dim, factors } => Built::gaussian(of_factors(dim, factors, &mut stream)?),
            Self::EqualCorrelation { dim, correlation } => {
                Built::gaussian(correlated_gaussian(dim, correlation)?)
            }
            Self::Skewed => {
                Built::exact(SkewNormal::msc(), truth::margins(vec![truth::skew_normal(0.5, 2.0, 5.0)], 1))
            }
            Self::Schools => {
                let target = EightSchools::non_centred();
                Built { log_z: Some(target.log_evidence(1e-10).0), ..Built::unknown(target) }
            }
            Self::HierarchicalRows { ref data } => {
                let rows = catalogue.load(data)?;
                Built::unknown(HierarchicalLogistic::new(rows.x.as_ref(), &rows.y, ScalePrior::HalfNormal)?)
            }
            Self::LogisticRows { ref data } => {
                let rows = standardised(catalogue.load(data)?);
                Built::unknown(LogisticRegression::new(rows.x.as_ref(), &rows.y, 1.0)?)
            }
            Self::ProbitRows { ref data } => {
                let rows = standardised(catalogue.load(data)?);
                Built::unknown(ProbitRegression::new(rows.x.as_ref(), &rows.y, 1.0)?)
            }
            Self::LinearRows { ref data } => {
                let rows = response_standardised(catalogue.load(data)?);
                let model = LinearRegression::new(rows.x.as_ref(), &rows.y, NOISE, 1.0)?;
                let (log_z, known) = (Some(model.log_evidence()), Built::gaussian(model.posterior()?));
                Built { log_z, covariance: None, posterior: Arc::new(model), ..known }
            }
            Self::SyntheticRows { dim } => {
                let (x, y) = synthetic_rows(dim.max(1), &mut stream);
                Built::unknown(LogisticRegression::new(x.as_ref(), &y, 1.0)?)
            }
            Self::RadonCounties => {
                let data = catalogue.radon()?;
                let model = Radon::new(data.counties.len(), data.county, data.floor, data.log_radon)?;
                Built { log_z: Some(model.log_evidence(1e-6).0), ..Built::unknown(model) }
            }
            Self::FortyGaussians => {
                let target = forty_gaussians(&mut stream)?;
                let margins = truth::of_mixture(&target);
                Built::exact(target, margins)
            }
            Self::Planted { shape, healthy } => planted::drawn(shape, healthy, &mut stream)?,
            Self::Simulated { model, prior } => {
                let (_, target) = model.draw(prior, &mut stream)?;
                Built::unknown(target)
            }
        })
    }

    /// Name of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Planted { shape, .. } => shape.into(),
            _ => self.into(),
        }
    }

    /// Kind and settings in words: `two modes: d 5, 6 apart, 5 %`.
    pub fn title(&self) -> String {
        match self {
            Self::TwoModes { dim, distance, share } => {
                format!("two modes: d {dim}, {distance} apart, {} %", 100.0 * share)
            }
            Self::SymmetricModes { dim, distance, share } => {
                format!("two modes around 0: d {dim}, {distance} apart, {} %", 100.0 * share)
            }
            Self::Needle { dim, share } => format!("needle: d {dim}, {} %", 100.0 * share),
            Self::NealFunnel { dim, scale } => format!("funnel: d {dim}, scale {scale}"),
            Self::Student { dim, freedom } => format!("Student t: d {dim}, freedom {freedom}"),
            Self::HeavyCoordinate { dim, freedom } => format!("one t coordinate: d {dim}, freedom {freedom}"),
            Self::Step { dim, height } => format!("step: d {dim}, height {height}"),
            Self::Flat { dim } => format!("flat: d {dim}"),
            Self::Separated { dim } => format!("separated classes: d {dim}"),
            Self::LogTail { dim } => format!("tail 1/z: d {dim}"),
            Self::WrongGradient { dim, fault } => {
                let fault = match fault {
                    Fault::Scaled => "halved",
                    Fault::Shifted => "shifted",
                    Fault::Sign => "sign",
                };
                format!("wrong gradient: d {dim}, {fault}")
            }
            Self::NanCorner { dim, coordinates, from } => {
                format!("NaN corner: d {dim}, {coordinates} beyond {from}")
            }
            Self::Bananas { pairs, bend } => format!("bananas: d {}, bend {bend}", 2 * pairs),
            Self::Wishart { dim } => format!("Gaussian: d {dim}"),
            Self::Factors { dim, factors } => format!("Gaussian of {factors} factors: d {dim}"),
            Self::EqualCorrelation { dim, correlation } => {
                format!("Gaussian, correlations {correlation}: d {dim}")
            }
            Self::Skewed => "skew normal".to_owned(),
            Self::Schools => "eight schools".to_owned(),
            Self::HierarchicalRows { data } => format!("hierarchical logistic: {data}"),
            Self::LogisticRows { data } => format!("logistic: {data}"),
            Self::ProbitRows { data } => format!("probit: {data}"),
            Self::LinearRows { data } => format!("linear: {data}"),
            Self::SyntheticRows { dim } => format!("logistic on SYNTHETIC rows: d {dim}"),
            Self::RadonCounties => "radon".to_owned(),
            Self::FortyGaussians => "40 Gaussians".to_owned(),
            Self::Planted { healthy, .. } => {
                format!("{}{}", self.kind().replace('-', " "), if *healthy { ", healthy" } else { "" })
            }
            Self::Simulated { model, prior } => {
                format!("simulated {}, prior times {prior}", format!("{model:?}").to_lowercase())
            }
        }
    }

    /// True for planted failures, and for simulated data sets, which have no moments; false for good targets.
    pub fn is_planted(&self) -> bool {
        match self {
            Self::Student { freedom, .. } => *freedom <= 2.0,
            Self::Planted { healthy, .. } => !healthy,
            Self::Wishart { .. }
            | Self::Factors { .. }
            | Self::EqualCorrelation { .. }
            | Self::Skewed
            | Self::Schools
            | Self::HierarchicalRows { .. }
            | Self::LogisticRows { .. }
            | Self::ProbitRows { .. }
            | Self::LinearRows { .. }
            | Self::SyntheticRows { .. }
            | Self::RadonCounties => false,
            _ => true,
        }
    }

    /// The dimension, if it is a setting.
    pub fn dim(&self) -> Option<usize> {
        match self {
            Self::Bananas { pairs, .. } => Some(2 * pairs),
            Self::FortyGaussians => Some(2),
            // Where it is a setting, it is called so.
            _ => Some(serde_json::to_value(self).ok()?.get("dim")?.as_u64()? as usize),
        }
    }

    /// The data set, if there is one.
    pub fn data(&self) -> Option<&str> {
        match self {
            Self::HierarchicalRows { data }
            | Self::LogisticRows { data }
            | Self::ProbitRows { data }
            | Self::LinearRows { data } => Some(data),
            Self::RadonCounties => Some("radon_mn"),
            _ => None,
        }
    }
}

const POINTS: usize = 20;

impl Case {
    /// The case for a program in another language: its settings and the numbers that define its density, test points, moments, and
    /// quantiles of each coordinate.
    ///
    /// The points test a second implementation of the density: they are scattered around the mean, at 1.5 standard deviations.
    pub fn exported(&self, catalogue: &Catalogue) -> Result<Value, Error> {
        let built = self.build(catalogue)?;
        let (Truth::Moments { means, sds }, Some(margins)) = (&built.truth, &built.margins) else {
            return Err(Error::invalid(format!("{}: no moments or quantiles to compare with", self.title())));
        };
        let target = &*built.posterior;
        let (mut stream, mut work) = (FIXED.named("points").stream(0, 0), vec![0.0; target.work_len(1)]);
        let scatter = |_| means.iter().zip(sds).map(|(mean, sd)| mean + 1.5 * sd * stream.normal()).collect();
        let points: Vec<Vec<f64>> = (0..POINTS).map(scatter).collect();
        let mut gradients = vec![vec![0.0; target.dim()]; POINTS];
        let at = |(z, gradient): (&Vec<f64>, &mut Vec<f64>)| target.gradient_into(z, gradient, &mut work);
        let log_densities: Vec<f64> = points.iter().zip(&mut gradients).map(at).collect();
        Ok(json!({
            "title": self.title(),
            "case": self,
            "dim": target.dim(),
            "data": self.numbers(&built, catalogue)?,
            "points": points,
            "log_densities": log_densities,
            "gradients": gradients,
            "means": means,
            "sds": sds,
            "levels": (0..LEVELS).map(level).collect::<Vec<_>>(),
            "quantiles": margins(),
            "log_normaliser": built.log_z,
        }))
    }

    /// Numbers that define the density beside the settings.
    fn numbers(&self, built: &Built, catalogue: &Catalogue) -> Result<Value, Error> {
        let pairs = |x: &Mat<f64>, y: &[f64]| json!({ "x": rows(x), "y": y });
        let of = |data: Dataset| pairs(&data.x, &data.y);
        Ok(match self {
            Self::Schools => {
                let schools = catalogue.load("eight_schools")?;
                json!({ "effects": schools.y, "errors": schools.x.col_as_slice(0) })
            }
            Self::HierarchicalRows { data } => of(catalogue.load(data)?),
            Self::LogisticRows { data } | Self::ProbitRows { data } => {
                of(standardised(catalogue.load(data)?))
            }
            Self::LinearRows { data } => of(response_standardised(catalogue.load(data)?)),
            Self::SyntheticRows { dim } => {
                let (x, y) = synthetic_rows(*dim, &mut FIXED.named(self.kind()).stream(0, 0));
                pairs(&x, &y)
            }
            Self::Wishart { .. } => {
                let (Truth::Moments { means, .. }, Some(covariance)) = (&built.truth, &built.covariance)
                else {
                    return Err(Error::invalid("a Gaussian has moments"));
                };
                json!({ "mean": means, "covariance": rows(covariance) })
            }
            Self::FortyGaussians => {
                let target = forty_gaussians(&mut FIXED.named(self.kind()).stream(0, 0))?;
                let (means, variances): (Vec<&[f64]>, Vec<f64>) =
                    target.components().iter().map(|part| (part.mean(), part.variance(0))).unzip();
                json!({ "means": means, "variances": variances })
            }
            Self::Student { .. } | Self::NealFunnel { .. } | Self::Bananas { .. } => json!({}),
            _ => return Err(Error::invalid(format!("{}: there is no export of this kind", self.title()))),
        })
    }
}

fn rows(matrix: &Mat<f64>) -> Vec<Vec<f64>> {
    (0..matrix.nrows()).map(|i| matrix.row(i).iter().copied().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The density, its points and its quantiles belong to one target: those of a t with five degrees of freedom are known.
    #[test]
    fn a_case_is_written_with_its_quantiles() {
        let catalogue = Catalogue::new(None);
        let written = Case::Student { dim: 2, freedom: 5.0 }.exported(&catalogue).unwrap();
        assert!(["points", "gradients"].iter().all(|key| written[key].as_array().unwrap().len() == 20));
        assert_eq!(written["log_normaliser"], 0.0);
        // The 95 % point of a t with five degrees of freedom.
        assert!((written["quantiles"][0][18].as_f64().unwrap() - 2.015).abs() < 0.001, "{written}");
        let refused = Case::Flat { dim: 2 }.exported(&catalogue).unwrap_err().to_string();
        assert!(refused.contains("no moments"), "{refused}");
    }
}
