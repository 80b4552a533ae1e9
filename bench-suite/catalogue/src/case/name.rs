//! Names of cases, and their export to other programs.

use std::collections::BTreeMap;

use faer::Mat;
use mcsa_core::Error;
use mcsa_data::{Catalogue, Dataset};
use serde::Serialize;

use super::posteriors::{standardised, synthetic_rows};
use super::truth::{LEVELS, level};
use super::{Built, Case, FIXED, Fault, Truth, forty_gaussians};

impl Case {
    /// Name of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::TwoModes { .. } => "two-modes",
            Self::SymmetricModes { .. } => "symmetric-modes",
            Self::Needle { .. } => "needle",
            Self::NealFunnel { .. } => "neal-funnel",
            Self::Student { .. } => "student",
            Self::HeavyCoordinate { .. } => "heavy-coordinate",
            Self::Step { .. } => "step",
            Self::Flat { .. } => "flat",
            Self::Separated { .. } => "separated",
            Self::LogTail { .. } => "log-tail",
            Self::WrongGradient { .. } => "wrong-gradient",
            Self::NanCorner { .. } => "nan-corner",
            Self::Bananas { .. } => "bananas",
            Self::Wishart { .. } => "wishart",
            Self::Factors { .. } => "factors",
            Self::EqualCorrelation { .. } => "equal-correlation",
            Self::Skewed => "skewed",
            Self::Schools => "schools",
            Self::HierarchicalRows { .. } => "hierarchical-rows",
            Self::LogisticRows { .. } => "logistic-rows",
            Self::ProbitRows { .. } => "probit-rows",
            Self::LinearRows { .. } => "linear-rows",
            Self::SyntheticRows { .. } => "synthetic-rows",
            Self::RadonCounties => "radon-counties",
            Self::FortyGaussians => "forty-gaussians",
            Self::Posteriordb { .. } => "posteriordb",
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
            Self::Posteriordb { data } => data.clone(),
        }
    }

    /// True for planted failures, false for good targets.
    pub fn is_planted(&self) -> bool {
        match self {
            Self::Student { freedom, .. } => *freedom <= 2.0,
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
            | Self::RadonCounties
            | Self::Posteriordb { .. } => false,
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
            | Self::LinearRows { data }
            | Self::Posteriordb { data } => Some(data),
            Self::RadonCounties => Some("radon_mn"),
            _ => None,
        }
    }
}

/// Case for a program in another language.
///
/// The points test a second implementation of the density: they are scattered around the mean, at 1.5 standard deviations.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Exported {
    title: String,
    case: Case,
    dim: usize,
    data: BTreeMap<&'static str, Numbers>,
    points: Vec<Vec<f64>>,
    log_densities: Vec<f64>,
    gradients: Vec<Vec<f64>>,
    means: Vec<f64>,
    sds: Vec<f64>,
    levels: Vec<f64>,
    /// Quantiles at the levels, for each coordinate.
    quantiles: Vec<[f64; LEVELS]>,
    /// `log int p(z) dz`, if it is known.
    log_normaliser: Option<f64>,
}

/// Vector, or rows of a matrix.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
enum Numbers {
    Vector(Vec<f64>),
    Rows(Vec<Vec<f64>>),
}

/// Number of test points.
const POINTS: usize = 20;
impl Case {
    /// Writes the case for a program in another language.
    ///
    /// # Errors
    /// If the case cannot be built, has no moments or no quantiles, or there is no export of its kind.
    pub fn exported(&self, catalogue: &Catalogue) -> Result<impl Serialize + use<>, Error> {
        self.export(catalogue)
    }

    fn export(&self, catalogue: &Catalogue) -> Result<Exported, Error> {
        let built = self.build(catalogue)?;
        let Truth::Moments { means, sds } = &built.truth else {
            return Err(Error::invalid(format!("{}: no moments to compare with", self.title())));
        };
        let Some(margins) = &built.margins else {
            return Err(Error::invalid(format!("{}: no quantiles to compare with", self.title())));
        };
        let target = &*built.posterior;
        let (mut stream, mut work) = (FIXED.named("points").stream(0, 0), vec![0.0; target.work_len(1)]);
        let scatter = |_| means.iter().zip(sds).map(|(mean, sd)| mean + 1.5 * sd * stream.normal()).collect();
        let points: Vec<Vec<f64>> = (0..POINTS).map(scatter).collect();
        let mut gradients = vec![vec![0.0; target.dim()]; POINTS];
        let at = |(z, gradient): (&Vec<f64>, &mut Vec<f64>)| target.gradient_into(z, gradient, &mut work);
        let log_densities = points.iter().zip(&mut gradients).map(at).collect();
        Ok(Exported {
            title: self.title(),
            case: self.clone(),
            dim: target.dim(),
            data: self.numbers(&built, catalogue)?,
            log_densities,
            gradients,
            quantiles: margins.quantiles(),
            levels: (0..LEVELS).map(level).collect(),
            log_normaliser: built.log_z,
            points,
            means: means.clone(),
            sds: sds.clone(),
        })
    }

    /// Numbers that define the density beside the settings.
    fn numbers(
        &self,
        built: &Built,
        catalogue: &Catalogue,
    ) -> Result<BTreeMap<&'static str, Numbers>, Error> {
        let of = |rows: Dataset| pairs(&rows.x, rows.y);
        Ok(match self {
            Self::Schools => {
                let schools = catalogue.schools()?;
                BTreeMap::from([
                    ("effects", Numbers::Vector(schools.effects)),
                    ("errors", Numbers::Vector(schools.standard_errors)),
                ])
            }
            Self::HierarchicalRows { data } => of(catalogue.load(data)?),
            Self::LogisticRows { data } | Self::ProbitRows { data } => {
                of(standardised(catalogue.load(data)?))
            }
            Self::LinearRows { data } => of(response_standardised(standardised(catalogue.load(data)?))),
            Self::SyntheticRows { dim } => {
                let mut stream = FIXED.named(self.kind()).stream(0, 0);
                let (x, y) = synthetic_rows(*dim, &mut stream);
                pairs(&x, y)
            }
            Self::Wishart { .. } => {
                let (Truth::Moments { means, .. }, Some(covariance)) = (&built.truth, &built.covariance)
                else {
                    return Err(Error::invalid("a Gaussian has moments"));
                };
                BTreeMap::from([
                    ("mean", Numbers::Vector(means.clone())),
                    ("covariance", Numbers::Rows(rows(covariance))),
                ])
            }
            Self::FortyGaussians => {
                let target = forty_gaussians(&mut FIXED.named(self.kind()).stream(0, 0))?;
                let means = target.components().iter().map(|component| component.mean().to_vec()).collect();
                BTreeMap::from([
                    ("means", Numbers::Rows(means)),
                    (
                        "variances",
                        Numbers::Vector(target.components().iter().map(|c| c.variance(0)).collect()),
                    ),
                ])
            }
            Self::Student { .. } | Self::NealFunnel { .. } | Self::Bananas { .. } => BTreeMap::new(),
            _ => return Err(Error::invalid(format!("{}: there is no export of this kind", self.title()))),
        })
    }
}

fn response_standardised(rows: Dataset) -> Dataset {
    let (count, mean) = (rows.y.len() as f64, rows.y.iter().sum::<f64>() / rows.y.len() as f64);
    let scale = (rows.y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / count).sqrt();
    let y = rows.y.iter().map(|y| (y - mean) / scale).collect();
    Dataset { y, ..rows }
}

fn rows(matrix: &Mat<f64>) -> Vec<Vec<f64>> {
    (0..matrix.nrows()).map(|i| matrix.row(i).iter().copied().collect()).collect()
}

fn pairs(x: &Mat<f64>, y: Vec<f64>) -> BTreeMap<&'static str, Numbers> {
    BTreeMap::from([("x", Numbers::Rows(rows(x))), ("y", Numbers::Vector(y))])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The density, its points and its quantiles belong to one target: those of a t with five degrees of freedom are known.
    #[test]
    fn a_case_is_written_with_its_quantiles() {
        let catalogue = Catalogue::new(None);
        let written = Case::Student { dim: 2, freedom: 5.0 }.export(&catalogue).unwrap();
        assert_eq!(
            (written.points.len(), written.gradients.len(), written.log_normaliser),
            (20, 20, Some(0.0))
        );
        // The 95 % point of a t with five degrees of freedom.
        assert!((written.quantiles[0][18] - 2.015).abs() < 0.001, "{:?}", written.quantiles[0]);
        let refused = Case::Flat { dim: 2 }.export(&catalogue).unwrap_err().to_string();
        assert!(refused.contains("no moments"), "{refused}");
    }
}
