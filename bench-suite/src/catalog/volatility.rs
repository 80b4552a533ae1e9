//! The volatility of a currency.

use mcsa::Error;
use mcsa_models::{FirstState, FxVolatility, Theta};
use serde::{Deserialize, Serialize};

use super::Target;
use crate::data::Catalogue;

/// Where the first state of a volatility is centred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum First {
    /// At the level around which states move, as in the published code.
    Level,
    /// At 0, as printed.
    Zero,
}

impl Target {
    /// The volatility of a currency, at parameters that are all 0.
    ///
    /// # Errors
    /// If it is another target, or data cannot be loaded.
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
