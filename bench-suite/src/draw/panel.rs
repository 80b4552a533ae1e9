//! One plot of a figure.

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

/// Where the names of the layers stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Legend {
    /// In the plot where it covers least, or below it if it covers much everywhere.
    Auto,
    /// In the plot at a given place.
    At(Place),
    /// Below the plot.
    Below,
    /// Nowhere.
    Hidden,
}

/// One plot: two axes and what is drawn between them.
///
/// ```
/// use mcsa_bench_suite::draw::{Axis, Layer, Panel};
/// let panel = Panel::new(Axis::log("Iteration"), Axis::log("KL(*q* ∥ *p*)"))
///     .titled("*N* = 10")
///     .with(Layer::line([1.0, 10.0], [2.0, 0.5]).named("pMCSA"));
/// assert_eq!(panel.layers.len(), 1);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Above the plot, marked up; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Later ones lie on earlier ones.
    pub layers: Vec<Layer>,
    /// Where the names stand.
    pub legend: Legend,
}

impl Panel {
    /// An empty panel.
    pub fn new(x: Axis, y: Axis) -> Self {
        Self { title: String::new(), x, y, layers: Vec::new(), legend: Legend::Auto }
    }

    /// The same with a title.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// The same with one layer more.
    pub fn with(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }

    /// The same with the legend elsewhere.
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
