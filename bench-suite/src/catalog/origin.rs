//! Data set of a target, and its origin.

use mcsa_data::{Catalogue, DataError};

use super::{LocalConfig, SparseConfig, Target};

impl Target {
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

    /// SHA-256 of the data set; `None` if there is none, or if a synthetic stand-in is used.
    ///
    /// # Errors
    /// If the data set is absent and has no stand-in here, or is unknown or unusable.
    pub fn digest(&self, catalogue: &Catalogue) -> Result<Option<String>, DataError> {
        match self.data().map(|name| catalogue.digest(name)).transpose() {
            Err(DataError::Absent(absent)) if absent.stand_in && self.stands_in() => Ok(None),
            Err(DataError::Absent(absent)) => match catalogue.archived_digest(&absent.name) {
                Some(digest) => Ok(Some(digest)),
                None => Err(DataError::Absent(absent)),
            },
            found => found,
        }
    }
}
