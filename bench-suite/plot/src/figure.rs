//! Figures: panels on a page.

use super::error::DrawError;
use super::panel::Panel;

/// Panels in rows with legend, title and caption.
///
/// ```
/// use mcsa_plot::{Axis, Figure, Layer, Panel};
/// let panel = Panel::new(Axis::log("Iteration"), Axis::log("KL(*q* ∥ *p*)"))
///     .with(Layer::line([1.0, 10.0, 100.0], [2.0, 0.5, 0.0]).named("pMCSA"));
/// let drawing = Figure::new(vec![panel]).captioned("Median of 100 replicates.").draw()?;
/// assert!(drawing.svg.starts_with("<svg"));
/// assert_eq!(drawing.notes[0].to_string(), "1 not positive on a log axis (pMCSA)");
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
    /// Height of a plot divided by the width of its cell; by default 0.62, and enough for each category of a vertical axis.
    pub aspect: Option<f64>,
    /// True if all panels have one x range; labels are then below the lowest panels only.
    pub shares_x: bool,
    /// True if all panels have one y range; labels are then left of the first column only.
    pub shares_y: bool,
    /// True if all panels share one legend above them; this is also done if their legends would be equal.
    pub shares_legend: bool,
    /// Caption below the panels, with markup: replicates, kind of interval, preset. Notes on missing values are appended.
    pub caption: String,
}

impl Figure {
    /// A figure as wide as one column of a journal for a single panel; several panels are in two columns on the whole page.
    pub fn new(panels: Vec<Panel>) -> Self {
        let is_single = panels.len() < 2;
        Self {
            title: String::new(),
            panels,
            columns: if is_single { 1 } else { 2 },
            width_mm: if is_single { 85.0 } else { 170.0 },
            aspect: None,
            shares_x: false,
            shares_y: false,
            shares_legend: false,
            caption: String::new(),
        }
    }

    /// Small multiples: shared axes and legend, with `columns` panels per row.
    pub fn as_multiples(mut self, columns: usize) -> Self {
        self.columns = columns;
        (self.shares_x, self.shares_y, self.shares_legend) = (true, true, true);
        self
    }

    /// Sets the title.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the caption.
    pub fn captioned(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Sets the width.
    pub fn wide(mut self, width_mm: f64) -> Self {
        self.width_mm = width_mm;
        self
    }

    /// Sets the aspect ratio of plots: height over cell width.
    pub fn shaped(mut self, aspect: f64) -> Self {
        self.aspect = Some(aspect);
        self
    }

    /// Refuses a figure without panels, and numbers outside their ranges.
    pub(super) fn check(&self) -> Result<(), DrawError> {
        if self.panels.is_empty() {
            return Err(DrawError::NoPanels);
        }
        if self.columns == 0 || self.columns > 12 {
            return Err(DrawError::Measure { what: "the number of columns", value: self.columns as f64 });
        }
        if !(20.0..=2000.0).contains(&self.width_mm) {
            return Err(DrawError::Measure { what: "the width in millimetres", value: self.width_mm });
        }
        if let Some(aspect) = self.aspect.filter(|aspect| !(0.05..=20.0).contains(aspect)) {
            return Err(DrawError::Measure { what: "the aspect of a plot", value: aspect });
        }
        self.panels.iter().try_for_each(Panel::check)
    }
}
