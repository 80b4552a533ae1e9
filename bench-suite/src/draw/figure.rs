//! A figure: panels on a page.

use super::drawing::Drawing;
use super::error::DrawError;
use super::page;
use super::panel::Panel;

/// Panels in rows, their legend, and what a reader must know to read them.
///
/// ```
/// use mcsa_bench_suite::draw::{Axis, Figure, Layer, Panel};
/// let panel = Panel::new(Axis::log("Iteration"), Axis::log("KL(*q* ∥ *p*)"))
///     .with(Layer::line([1.0, 10.0, 100.0], [2.0, 0.5, 0.0]).named("pMCSA"));
/// let drawing = Figure::new(vec![panel]).captioned("Median of 100 replicates.").draw()?;
/// assert!(drawing.svg.starts_with("<svg"));
/// assert_eq!(drawing.notes[0].to_string(), "1 not positive on a log axis (pMCSA)");
/// # Ok::<(), mcsa_bench_suite::draw::DrawError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Above everything, marked up; may be empty.
    pub title: String,
    /// Row by row.
    pub panels: Vec<Panel>,
    /// How many panels a row has.
    pub columns: usize,
    /// The width of the page in millimetres; a column of a journal is about 85, its page about 170.
    pub width_mm: f64,
    /// The height of a plot, in widths of its cell; by default 0.62, and enough for each name of a vertical axis.
    pub aspect: Option<f64>,
    /// Whether all panels span the same x; labels then stand below the lowest panels alone.
    pub shares_x: bool,
    /// Whether all panels span the same y; labels then stand left of the first column alone.
    pub shares_y: bool,
    /// Whether one legend above the panels serves them all; it does so unasked where all would be alike.
    pub shares_legend: bool,
    /// Below everything, marked up: replicates, kind of interval, preset. What could not be drawn is added to it.
    pub caption: String,
}

impl Figure {
    /// Panels as wide as one column of a journal; several panels stand in two columns on the whole page.
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

    /// The same as small multiples: both axes and the legend shared, so many panels to a row.
    pub fn as_multiples(mut self, columns: usize) -> Self {
        self.columns = columns;
        (self.shares_x, self.shares_y, self.shares_legend) = (true, true, true);
        self
    }

    /// The same with a title.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// The same with a line below.
    pub fn captioned(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// The same at another width.
    pub fn wide(mut self, width_mm: f64) -> Self {
        self.width_mm = width_mm;
        self
    }

    /// The same with plots of another shape: height over cell width.
    pub fn shaped(mut self, aspect: f64) -> Self {
        self.aspect = Some(aspect);
        self
    }

    /// Draws it. A pure function: the same figure gives the same bytes.
    ///
    /// # Errors
    /// On columns of unequal length, an impossible range or an impossible page; never on values.
    pub fn draw(&self) -> Result<Drawing, DrawError> {
        self.check()?;
        Ok(page::draw(self))
    }

    fn check(&self) -> Result<(), DrawError> {
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
