//! Names of cases, and their export to other programs.

use faer::Mat;
use mcsa_core::Error;
use mcsa_data::{Catalogue, Dataset};
use serde_json::{Value, json};

use super::posteriors::{response_standardised, standardised, synthetic_rows};
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

/// Number of test points.
const POINTS: usize = 20;

impl Case {
    /// The case for a program in another language: its settings and the numbers that define its density, test points, moments, and
    /// quantiles of each coordinate.
    ///
    /// The points test a second implementation of the density: they are scattered around the mean, at 1.5 standard deviations.
    ///
    /// # Errors
    /// If the case cannot be built, has no moments or no quantiles, or there is no export of its kind.
    pub fn exported(&self, catalogue: &Catalogue) -> Result<Value, Error> {
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
            "quantiles": margins.quantiles(),
            "log_normaliser": built.log_z,
        }))
    }

    /// Numbers that define the density beside the settings.
    fn numbers(&self, built: &Built, catalogue: &Catalogue) -> Result<Value, Error> {
        let pairs = |x: &Mat<f64>, y: &[f64]| json!({ "x": rows(x), "y": y });
        let of = |data: Dataset| pairs(&data.x, &data.y);
        Ok(match self {
            Self::Schools => {
                let schools = catalogue.schools()?;
                json!({ "effects": schools.effects, "errors": schools.standard_errors })
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
