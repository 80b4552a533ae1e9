//! Names and classes of cases.

use super::{Case, Fault};

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
            Self::TwoModes { dim, .. }
            | Self::SymmetricModes { dim, .. }
            | Self::Needle { dim, .. }
            | Self::NealFunnel { dim, .. }
            | Self::Student { dim, .. }
            | Self::HeavyCoordinate { dim, .. }
            | Self::Step { dim, .. }
            | Self::Flat { dim }
            | Self::Separated { dim }
            | Self::LogTail { dim }
            | Self::WrongGradient { dim, .. }
            | Self::NanCorner { dim, .. }
            | Self::Wishart { dim }
            | Self::Factors { dim, .. }
            | Self::EqualCorrelation { dim, .. }
            | Self::SyntheticRows { dim } => Some(*dim),
            Self::Bananas { pairs, .. } => Some(2 * pairs),
            Self::FortyGaussians => Some(2),
            Self::Skewed
            | Self::Schools
            | Self::HierarchicalRows { .. }
            | Self::LogisticRows { .. }
            | Self::ProbitRows { .. }
            | Self::LinearRows { .. }
            | Self::RadonCounties
            | Self::Posteriordb { .. } => None,
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
