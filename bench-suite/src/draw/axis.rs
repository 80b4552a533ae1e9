//! An axis: what it says, how it spaces values, what it spans.

use super::error::DrawError;

/// How an axis spaces its values.
#[derive(Debug, Clone, PartialEq)]
pub enum Spacing {
    /// Equal differences.
    Linear,
    /// Equal ratios; ticks at powers of ten.
    Log10,
    /// Names at 0, 1, 2, ..; on a vertical axis the first is on top.
    Categories(Vec<String>),
}

/// One axis of a panel. Labels are marked up as [`super`] says.
///
/// ```
/// use mcsa_bench_suite::draw::Axis;
/// let axis = Axis::log("KL(*q* ∥ *p*)").spanning(1e-2, 1e1);
/// assert_eq!(axis.range, Some((1e-2, 1e1)));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// How it spaces values.
    pub spacing: Spacing,
    /// What it spans; by default what the data span.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// An axis of equal differences.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), spacing: Spacing::Linear, range: None }
    }

    /// An axis of equal ratios.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), spacing: Spacing::Log10, range: None }
    }

    /// An axis of names.
    pub fn categories<S: Into<String>>(label: impl Into<String>, names: impl IntoIterator<Item = S>) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        Self { label: label.into(), spacing: Spacing::Categories(names), range: None }
    }

    /// The same over a given range; values beyond it are left out and noted.
    pub fn spanning(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    pub(super) fn is_log(&self) -> bool {
        self.spacing == Spacing::Log10
    }

    /// How many names it has, if it has names.
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
