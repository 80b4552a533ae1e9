//! Axes of a panel: label, scale and range.

use super::error::DrawError;

/// Scale of an axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Spacing {
    /// Linear.
    Linear,
    /// Logarithmic; ticks at powers of ten.
    Log10,
    /// Categories at 0, 1, 2, ..; on a vertical axis the first is on top.
    Categories(Vec<String>),
}

/// One axis of a panel. Labels use the markup described in [`super`].
///
/// ```
/// use mcsa_plot::Axis;
/// let axis = Axis::log("KL(*q* ∥ *p*)").spanning(1e-2, 1e1);
/// assert_eq!(axis.range, Some((1e-2, 1e1)));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Label.
    pub label: String,
    /// Scale.
    pub spacing: Spacing,
    /// Range; by default that of the data.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), spacing: Spacing::Linear, range: None }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), spacing: Spacing::Log10, range: None }
    }

    /// An axis of categories.
    pub fn categories<S: Into<String>>(label: impl Into<String>, names: impl IntoIterator<Item = S>) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        Self { label: label.into(), spacing: Spacing::Categories(names), range: None }
    }

    /// Sets the range; values beyond it are left out and noted.
    pub fn spanning(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    pub(super) fn is_log(&self) -> bool {
        self.spacing == Spacing::Log10
    }

    /// The categories, if the axis has categories.
    pub(super) fn names(&self) -> Option<&[String]> {
        match &self.spacing {
            Spacing::Categories(names) => Some(names),
            _ => None,
        }
    }

    pub(super) fn check(&self) -> Result<(), DrawError> {
        match self.range {
            Some((low, high)) => {
                let positive = low > 0.0 || !self.is_log();
                if low < high && low.is_finite() && high.is_finite() && positive {
                    return Ok(());
                }
                Err(DrawError::Range { axis: self.label.clone(), low, high })
            }
            None => Ok(()),
        }
    }
}
