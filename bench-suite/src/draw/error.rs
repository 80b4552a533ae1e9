//! What a figure cannot be drawn from.

use std::fmt;

/// Why a figure was refused. Bad *values* are never a reason: they are left out and noted.
#[derive(Debug, Clone, PartialEq)]
pub enum DrawError {
    /// A figure without panels.
    NoPanels,
    /// Two columns of one layer that should have equal length.
    Lengths {
        /// The layer's name, or its kind.
        layer: String,
        /// Of the first column.
        expected: usize,
        /// The other column.
        column: &'static str,
        /// Of the other column.
        found: usize,
    },
    /// A given range that is empty, not finite, or not positive on a logarithmic axis.
    Range {
        /// The axis label.
        axis: String,
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
    /// A measure of the page that paper does not have.
    Measure {
        /// Which one.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// The rasteriser refused.
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
