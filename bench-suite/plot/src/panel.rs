//! Panels of a figure.

use super::axis::Axis;
use super::error::DrawError;
use super::layer::Layer;

/// A corner of a plot, or the middle of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Upper right.
    TopRight,
    /// Upper left.
    TopLeft,
    /// Lower left.
    BottomLeft,
    /// Lower right.
    BottomRight,
    /// Upper middle.
    Top,
    /// Middle right.
    Right,
    /// Middle left.
    Left,
    /// Lower middle.
    Bottom,
}

/// Position of the legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Legend {
    /// In the plot where it covers least, or below it if it would cover much everywhere.
    Auto,
    /// In the plot at a given position.
    At(Place),
    /// Below the plot.
    Below,
    /// No legend.
    Hidden,
}

/// One plot: two axes and the layers between them.
///
/// ```
/// use mcsa_plot::{Axis, Layer, Panel};
/// let panel = Panel::new(Axis::log("Iteration"), Axis::log("KL(*q* ∥ *p*)"))
///     .titled("*N* = 10")
///     .with(Layer::line([1.0, 10.0], [2.0, 0.5]).named("pMCSA"));
/// assert_eq!(panel.layers.len(), 1);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Title above the plot, with markup; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Layers; later ones are drawn over earlier ones.
    pub layers: Vec<Layer>,
    /// Position of the legend.
    pub legend: Legend,
}

impl Panel {
    /// An empty panel.
    pub fn new(x: Axis, y: Axis) -> Self {
        Self { title: String::new(), x, y, layers: Vec::new(), legend: Legend::Auto }
    }

    /// Sets the title.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Adds a layer.
    pub fn with(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }

    /// Sets the position of the legend.
    pub fn legend(mut self, legend: Legend) -> Self {
        self.legend = legend;
        self
    }

    pub(super) fn check(&self) -> Result<(), DrawError> {
        self.x.check()?;
        self.y.check()?;
        self.layers.iter().try_for_each(Layer::check)
    }
}
