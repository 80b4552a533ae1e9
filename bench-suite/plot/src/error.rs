//! Errors of figures that cannot be drawn.

use std::fmt;

/// Reason for refusing a figure. Bad *values* are never a reason: they are left out and noted.
#[derive(Debug, Clone, PartialEq)]
pub enum DrawError {
    /// The figure has no panels.
    NoPanels,
    /// Two columns of one layer have different lengths.
    Lengths {
        /// Name of the layer, or its kind.
        layer: String,
        /// Length of the first column.
        expected: usize,
        /// Name of the other column.
        column: &'static str,
        /// Length of the other column.
        found: usize,
    },
    /// The given range of an axis is empty, not finite, or not positive on a logarithmic axis.
    Range {
        /// The axis label.
        axis: String,
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
    /// A size on the page is out of range.
    Measure {
        /// Name of the size.
        what: &'static str,
        /// Value of the size.
        value: f64,
    },
    /// The rasteriser failed.
    Raster(String),
}

impl fmt::Display for DrawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPanels => write!(f, "a figure needs at least one panel"),
            Self::Lengths { layer, expected, column, found } => {
                write!(f, "layer `{layer}`: {expected} values in its first column, but {found} in `{column}`")
            }
            Self::Range { axis, low, high } => write!(
                f,
                "axis `{axis}`: the range {low:e} to {high:e} is empty, not finite, or not positive on a log axis"
            ),
            Self::Measure { what, value } => write!(f, "{what} is {value}, out of what a page can have"),
            Self::Raster(message) => write!(f, "the picture could not be rasterised: {message}"),
        }
    }
}

impl std::error::Error for DrawError {}
