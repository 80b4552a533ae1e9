//! Figures, their panels and axes.

use std::fmt;

use super::layer::Layer;

/// Panels in rows with legend, title and caption.
///
/// ```
/// use mcsa_plot::{Axis, Figure, Layer, Panel};
/// let panel = Panel::new(Axis::log("Iteration"), Axis::log("KL(*q* ∥ *p*)"))
///     .with(Layer::line([(1.0, 2.0), (10.0, 0.5), (100.0, 0.0)]).named("pMCSA"));
/// let drawing = Figure::new(vec![panel]).captioned("Median of 100 replicates.").draw()?;
/// assert!(drawing.svg.starts_with("<svg"));
/// assert_eq!(drawing.missing.to_string(), "1 not positive on a log axis");
/// # Ok::<(), mcsa_plot::DrawError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Title above the panels, with markup; may be empty.
    pub title: String,
    /// Panels, row by row.
    pub panels: Vec<Panel>,
    /// Number of panels per row.
    pub columns: usize,
    /// Width of the page in millimetres; a column of a journal is about 85, its page about 170.
    pub width_mm: f64,
    /// Height of a plot divided by the width of its cell; by default 0.56, and enough for each category of a vertical axis.
    pub aspect: Option<f64>,
    /// True if all panels have one x range; labels are then below the lowest panels only.
    pub shares_x: bool,
    /// True if all panels have one y range; labels are then left of the first column, and of panels with other
    /// categories than the one to their left.
    pub shares_y: bool,
    /// True if all panels share one legend above them; this is also done if their legends are equal.
    pub shares_legend: bool,
    /// Caption below the panels, with markup: replicates, kind of interval, preset. Counts of missing values are appended.
    pub caption: String,
}

/// One plot: two axes and the layers between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Title above the plot, with markup; may be empty.
    pub(super) title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Layers; later ones are drawn over earlier ones.
    pub layers: Vec<Layer>,
}

/// One axis of a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Label, with markup.
    pub(super) label: String,
    pub(super) spacing: Spacing,
    /// Range; by default that of the data.
    pub range: Option<(f64, f64)>,
}

/// Scale of an axis: linear, logarithmic with ticks at powers of ten, or categories at 0, 1, 2, ..; on a vertical axis the
/// first category is on top.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Spacing {
    Linear,
    Log10,
    Categories(Vec<String>),
}

/// Reason why a figure cannot be drawn: a size or range out of bounds. Values are no reason.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawError(pub(super) String);

impl fmt::Display for DrawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DrawError {}

impl DrawError {
    /// An error if a size on the page is out of range.
    pub(super) fn unless(is_possible: bool, what: &str, value: f64) -> Result<(), Self> {
        match is_possible {
            true => Ok(()),
            false => Err(Self(format!("{what} is {value}, out of what a page can have"))),
        }
    }
}

impl Figure {
    /// A figure as wide as one column of a journal for a single panel; several panels are in two columns on the whole page.
    pub fn new(panels: Vec<Panel>) -> Self {
        let (columns, width_mm) = if panels.len() < 2 { (1, 85.0) } else { (2, 170.0) };
        let (title, caption) = (String::new(), String::new());
        let [shares_x, shares_y, shares_legend] = [false; 3];
        Self { title, panels, columns, width_mm, aspect: None, shares_x, shares_y, shares_legend, caption }
    }

    /// True if no panel has a value to draw.
    pub fn is_empty(&self) -> bool {
        self.panels.iter().all(|panel| panel.layers.iter().all(Layer::is_empty))
    }

    /// Small multiples: shared axes and legend, with `columns` panels per row.
    pub fn as_multiples(self, columns: usize) -> Self {
        Self { columns, shares_x: true, shares_y: true, shares_legend: true, ..self }
    }

    /// Sets the title.
    pub fn titled(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// Sets the caption.
    pub fn captioned(self, caption: impl Into<String>) -> Self {
        Self { caption: caption.into(), ..self }
    }

    /// Sets the width.
    pub fn wide(self, width_mm: f64) -> Self {
        Self { width_mm, ..self }
    }

    /// Sets the aspect ratio of plots: height over cell width.
    pub fn shaped(self, aspect: f64) -> Self {
        Self { aspect: Some(aspect), ..self }
    }

    pub(super) fn check(&self) -> Result<(), DrawError> {
        if self.panels.is_empty() {
            return Err(DrawError("a figure needs at least one panel".into()));
        }
        let columns = self.columns as f64;
        DrawError::unless((1..=12).contains(&self.columns), "the number of columns", columns)?;
        let (width, aspect) = (self.width_mm, self.aspect.unwrap_or(1.0));
        DrawError::unless((20.0..=2000.0).contains(&width), "the width in millimetres", width)?;
        DrawError::unless((0.05..=20.0).contains(&aspect), "the aspect of a plot", aspect)?;
        for panel in &self.panels {
            panel.x.check()?;
            panel.y.check()?;
        }
        Ok(())
    }
}

impl Panel {
    /// An empty panel.
    pub fn new(x: Axis, y: Axis) -> Self {
        Self { title: String::new(), x, y, layers: Vec::new() }
    }

    /// Sets the title.
    pub fn titled(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// Adds a layer.
    pub fn with(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }
}

impl Axis {
    fn new(label: impl Into<String>, spacing: Spacing) -> Self {
        Self { label: label.into(), spacing, range: None }
    }

    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self::new(label, Spacing::Linear)
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Self {
        Self::new(label, Spacing::Log10)
    }

    /// An axis of categories.
    pub fn categories<S: Into<String>>(label: impl Into<String>, names: impl IntoIterator<Item = S>) -> Self {
        Self::new(label, Spacing::Categories(names.into_iter().map(Into::into).collect()))
    }

    /// Sets the range; values beyond it are left out and counted.
    pub fn spanning(self, low: f64, high: f64) -> Self {
        Self { range: Some((low, high)), ..self }
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

    fn check(&self) -> Result<(), DrawError> {
        let is_possible = |(low, high): (f64, f64)| {
            low < high && low.is_finite() && high.is_finite() && (low > 0.0 || !self.is_log())
        };
        match self.range.filter(|range| !is_possible(*range)) {
            None => Ok(()),
            Some((low, high)) => Err(DrawError(format!(
                "axis `{}`: the range {low:e} to {high:e} is empty, not finite, or not positive on a log axis",
                self.label
            ))),
        }
    }
}
