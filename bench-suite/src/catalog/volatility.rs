//! Stochastic volatility of a currency, and levels of a stock index.

use mcsa_core::{Error, Seed};
use mcsa_models::{FirstState, FxVolatility, Theta};
use serde::{Deserialize, Serialize};

use super::Target;
use mcsa_data::{Catalogue, DataError, Series};

/// Mean of the first state of a volatility model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum First {
    /// The level to which states revert, as in the published code.
    Level,
    /// Zero, as printed in the paper.
    Zero,
}

impl Target {
    /// Volatility model of the currency, with all parameters 0.
    ///
    /// # Errors
    /// If the target is not such a model, or data cannot be loaded.
    pub(crate) fn volatility(&self, catalogue: &Catalogue) -> Result<FxVolatility, Error> {
        let Self::FxVolatility { data, series, first } = self else {
            return Err(Error::invalid(format!("{} is no volatility of a currency", self.kind())));
        };
        let levels = catalogue.series(data)?;
        let place = levels.columns.iter().position(|name| name == series);
        let place = place.ok_or_else(|| {
            Error::invalid(format!("{data} has no {series:?}; it has {}", levels.columns.join(", ")))
        })?;
        let returns = levels.log_returns().col_as_slice(place).to_vec();
        let first = match first {
            First::Level => FirstState::Level,
            First::Zero => FirstState::Zero,
        };
        Ok(FxVolatility::new(returns, Theta::default())?.with_first(first))
    }
}

/// Seed of the stand-in of a stock index, chosen before any fit to it.
const STAND_IN: Seed = Seed::new(1);

/// Levels of a time series; if it is absent and has a synthetic stand-in, those of the stand-in.
pub(super) fn index_levels(catalogue: &Catalogue, data: &str) -> Result<Series, DataError> {
    match catalogue.series(data) {
        Err(DataError::Absent(absent)) if absent.stand_in => catalogue.series_stand_in(data, STAND_IN),
        found => found,
    }
}
