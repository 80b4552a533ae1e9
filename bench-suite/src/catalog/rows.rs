//! Rows of the targets that are regressions of labels.

use mcsa_core::{Error, Seed};
use mcsa_data::{Catalogue, DataError, Dataset, Share, Split, Standardised};
use mcsa_models::LogisticRegression;

use super::Target;

/// Logistic regression with its rows, an intercept among the columns.
pub(crate) struct LogisticRows {
    pub(crate) model: LogisticRegression,
    pub(crate) train: Dataset,
    pub(crate) test: Dataset,
    pub(crate) prior_scale: f64,
}

impl Target {
    /// Returns true if the target is a logistic regression with a normal prior.
    pub(crate) fn is_logistic(&self) -> bool {
        matches!(self, Self::Logistic { .. } | Self::SyntheticLogistic { .. } | Self::SubsetLogistic { .. })
    }

    /// Logistic regression with a normal prior, and its rows.
    ///
    /// # Errors
    /// If the target is no such regression, a setting is invalid, or data cannot be loaded.
    pub(crate) fn logistic_rows(&self, catalogue: &Catalogue, seed: Seed) -> Result<LogisticRows, Error> {
        let (train, test, prior_scale) = match self {
            Self::Logistic { data, standardised, prior_scale } => {
                let (train, test) = halves(catalogue, data, *standardised, seed)?;
                (train.with_ones_last(), test.with_ones_last(), *prior_scale)
            }
            Self::SyntheticLogistic { prior_scale, .. } => {
                let (train, test) = self.synthetic_rows()?;
                (train, test, *prior_scale)
            }
            Self::SubsetLogistic { prior_scale, .. } => {
                let (train, test) = self.subset_rows(catalogue, seed)?;
                (train.with_ones_last(), test.with_ones_last(), *prior_scale)
            }
            _ => {
                return Err(Error::invalid(format!(
                    "{} is no logistic regression with a normal prior",
                    self.kind()
                )));
            }
        };
        let model = LogisticRegression::new(train.x.as_ref(), &train.y, prior_scale)?;
        Ok(LogisticRows { model, train, test, prior_scale })
    }

    /// Training rows and held-out rows of a probit regression; `None` in place of the latter if it is complete.
    ///
    /// # Errors
    /// If the target is not a probit regression, or data cannot be loaded.
    pub(crate) fn probit_rows(
        &self,
        catalogue: &Catalogue,
        seed: Seed,
    ) -> Result<(Dataset, Option<Dataset>), Error> {
        match self {
            Self::Probit { data, complete: true } => Ok((catalogue.load(data)?.with_ones_first(), None)),
            Self::Probit { data, .. } => {
                let split = Split::new(&catalogue.load(data)?, Share::Nearest(0.9), seed)?;
                Ok((split.train.with_ones_first(), Some(split.test.with_ones_first())))
            }
            _ => Err(Error::invalid(format!("{} is no probit regression", self.kind()))),
        }
    }
}

/// Training rows and held-out rows, standardised by the former.
pub(super) fn scaled(catalogue: &Catalogue, name: &str, seed: Seed) -> Result<Standardised, DataError> {
    Standardised::new(&Split::new(&catalogue.load(name)?, Share::Down(0.9), seed)?)
}

/// Training rows and held-out rows, standardised if `scale`.
pub(super) fn halves(
    catalogue: &Catalogue,
    name: &str,
    scale: bool,
    seed: Seed,
) -> Result<(Dataset, Dataset), DataError> {
    if scale {
        let Standardised { train, test, .. } = scaled(catalogue, name, seed)?;
        return Ok((train, test));
    }
    let split = Split::new(&catalogue.load(name)?, Share::Down(0.9), seed)?;
    Ok((split.train, split.test))
}
