//! What is drawn on a panel: data in a shape, in a style, under a name.

use super::error::DrawError;
use super::style::{Dash, Style};
use super::summary::Summary;

/// Along which axis a layer runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Values along x, places along y.
    Horizontal,
    /// Values along y, places along x.
    Vertical,
}

/// On which side of its place a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// To the right.
    Start,
    /// In the middle.
    Middle,
    /// To the left.
    End,
}

/// Data in a shape. Values that cannot be drawn are left out and noted; see [`super::Reason`].
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A line through points in the given order, with a gap at values that cannot be drawn.
    Line {
        /// Abscissae.
        x: Vec<f64>,
        /// Ordinates.
        y: Vec<f64>,
    },
    /// The area between two curves.
    Band {
        /// Abscissae.
        x: Vec<f64>,
        /// The lower curve.
        low: Vec<f64>,
        /// The upper curve.
        high: Vec<f64>,
    },
    /// A marker at each point.
    Points {
        /// Abscissae.
        x: Vec<f64>,
        /// Ordinates.
        y: Vec<f64>,
    },
    /// A marker at each value with a bar over its interval: error bars, forest plots.
    Intervals {
        /// Along which axis the values run.
        direction: Direction,
        /// Where on the other axis.
        at: Vec<f64>,
        /// The marked value.
        value: Vec<f64>,
        /// Where the bar begins.
        low: Vec<f64>,
        /// Where the bar ends.
        high: Vec<f64>,
    },
    /// Box plots.
    Boxes {
        /// Along which axis the values run.
        direction: Direction,
        /// Where on the other axis.
        at: Vec<f64>,
        /// How wide, in units of that axis.
        width: f64,
        /// One box each.
        summaries: Vec<Summary>,
    },
    /// Bars side by side from zero (or the low end of a log axis): histograms.
    Bars {
        /// The sides, one more than bars.
        edges: Vec<f64>,
        /// The heights.
        heights: Vec<f64>,
    },
    /// A line across the panel at one value: a horizontal line is at a value of y.
    Rule {
        /// How the line runs.
        direction: Direction,
        /// Where it crosses the other axis.
        at: f64,
    },
    /// Words at a point.
    Text {
        /// Abscissa.
        x: f64,
        /// Ordinate.
        y: f64,
        /// The words, marked up.
        text: String,
        /// On which side of the point.
        anchor: Anchor,
    },
}

/// One layer of a panel; later layers lie on earlier ones.
///
/// ```
/// use mcsa_bench_suite::draw::{Layer, Shape, Style};
/// let layer = Layer::line([1.0, 2.0], [0.3, 0.1]).styled(Style::series(0)).named("pMCSA");
/// assert_eq!(layer.name.as_deref(), Some("pMCSA"));
/// assert!(matches!(layer.shape, Shape::Line { .. }));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// What is drawn.
    pub shape: Shape,
    /// How it looks.
    pub style: Style,
    /// What the legend calls it, marked up; layers of one name share an entry.
    pub name: Option<String>,
}

impl Layer {
    /// A line through points.
    pub fn line(x: impl Into<Vec<f64>>, y: impl Into<Vec<f64>>) -> Self {
        Self::of(Shape::Line { x: x.into(), y: y.into() })
    }

    /// The area between two curves.
    pub fn band(x: impl Into<Vec<f64>>, low: impl Into<Vec<f64>>, high: impl Into<Vec<f64>>) -> Self {
        Self::of(Shape::Band { x: x.into(), low: low.into(), high: high.into() })
    }

    /// A marker at each point.
    pub fn points(x: impl Into<Vec<f64>>, y: impl Into<Vec<f64>>) -> Self {
        Self::of(Shape::Points { x: x.into(), y: y.into() })
    }

    /// Markers with bars along y; [`Layer::horizontal`] lays them along x.
    pub fn intervals(
        at: impl Into<Vec<f64>>,
        value: impl Into<Vec<f64>>,
        low: impl Into<Vec<f64>>,
        high: impl Into<Vec<f64>>,
    ) -> Self {
        let (at, value, low, high) = (at.into(), value.into(), low.into(), high.into());
        Self::of(Shape::Intervals { direction: Direction::Vertical, at, value, low, high })
    }

    /// Box plots along y, half a unit wide; [`Layer::horizontal`] lays them along x.
    pub fn boxes(at: impl Into<Vec<f64>>, summaries: impl Into<Vec<Summary>>) -> Self {
        let (at, summaries) = (at.into(), summaries.into());
        Self::of(Shape::Boxes { direction: Direction::Vertical, at, width: 0.5, summaries })
    }

    /// Bars between given edges.
    pub fn bars(edges: impl Into<Vec<f64>>, heights: impl Into<Vec<f64>>) -> Self {
        Self::of(Shape::Bars { edges: edges.into(), heights: heights.into() })
    }

    /// A line across the panel at a value of x.
    pub fn vertical_rule(at: f64) -> Self {
        Self::of(Shape::Rule { direction: Direction::Vertical, at }).styled(Style::reference())
    }

    /// A line across the panel at a value of y.
    pub fn horizontal_rule(at: f64) -> Self {
        Self::of(Shape::Rule { direction: Direction::Horizontal, at }).styled(Style::reference())
    }

    /// Words at a point.
    pub fn text(x: f64, y: f64, text: impl Into<String>, anchor: Anchor) -> Self {
        Self::of(Shape::Text { x, y, text: text.into(), anchor }).styled(Style::reference())
    }

    /// A layer in the style of the first series and without a name.
    pub fn of(shape: Shape) -> Self {
        Self { shape, style: Style::series(0).solid(), name: None }
    }

    /// The same in another style.
    pub fn styled(self, style: Style) -> Self {
        Self { style, ..self }
    }

    /// The same with an entry in the legend.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Intervals or boxes laid along x; other shapes as they are.
    pub fn horizontal(mut self) -> Self {
        if let Shape::Intervals { direction, .. } | Shape::Boxes { direction, .. } = &mut self.shape {
            *direction = Direction::Horizontal;
        }
        self
    }

    /// Intervals or boxes moved beside those of other series at the same places: the share of series `index`
    /// of `series`. Other shapes stay.
    pub fn dodged(mut self, index: usize, series: usize) -> Self {
        const ROOM: f64 = 0.74; // of a unit; the rest keeps neighbouring places apart
        let share = ROOM / series.max(1) as f64;
        let shift = (index as f64 + 0.5) * share - ROOM / 2.0;
        if let Shape::Intervals { at, .. } | Shape::Boxes { at, .. } = &mut self.shape {
            at.iter_mut().for_each(|at| *at += shift);
        }
        if let Shape::Boxes { width, .. } = &mut self.shape {
            *width = 0.8 * share;
        }
        self
    }

    /// One word for the shape.
    pub(super) fn kind(&self) -> &'static str {
        match &self.shape {
            Shape::Line { .. } => "line",
            Shape::Band { .. } => "band",
            Shape::Points { .. } => "points",
            Shape::Intervals { .. } => "intervals",
            Shape::Boxes { .. } => "boxes",
            Shape::Bars { .. } => "bars",
            Shape::Rule { .. } => "rule",
            Shape::Text { .. } => "text",
        }
    }

    /// What notes and errors call it.
    pub(super) fn title(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.kind().into())
    }

    /// Whether the columns have the lengths the shape needs.
    pub(super) fn check(&self) -> Result<(), DrawError> {
        let (expected, columns) = match &self.shape {
            Shape::Line { x, y } | Shape::Points { x, y } => (x.len(), vec![("y", y.len())]),
            Shape::Band { x, low, high } => (x.len(), vec![("low", low.len()), ("high", high.len())]),
            Shape::Intervals { at, value, low, high, .. } => {
                (at.len(), vec![("value", value.len()), ("low", low.len()), ("high", high.len())])
            }
            Shape::Boxes { at, summaries, .. } => (at.len(), vec![("summaries", summaries.len())]),
            // No edges and no heights is an empty histogram.
            Shape::Bars { edges, heights } => {
                (edges.len().saturating_sub(1), vec![("heights", heights.len())])
            }
            Shape::Rule { .. } | Shape::Text { .. } => (0, Vec::new()),
        };
        match columns.into_iter().find(|(_, found)| *found != expected) {
            Some((column, found)) => Err(DrawError::Lengths { layer: self.title(), expected, column, found }),
            None => Ok(()),
        }
    }

    /// Points and boxes are told apart by marker and place; a broken outline would only be noise.
    pub(super) fn stroke_dash(&self) -> Dash {
        match self.shape {
            Shape::Line { .. } | Shape::Rule { .. } => self.style.dash,
            _ => Dash::Solid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_unequal_length_are_refused() {
        let layers = [
            Layer::line([1.0], []),
            Layer::band([1.0], [1.0], []),
            Layer::intervals([1.0], [1.0], [], [1.0]),
            Layer::bars([1.0, 2.0], [1.0, 2.0]),
            Layer::boxes([], [Summary::of(&[1.0])]),
        ];
        for layer in layers {
            assert!(matches!(layer.check(), Err(DrawError::Lengths { .. })), "{layer:?}");
        }
        assert!(Layer::bars([], []).check().is_ok());
        let message = Layer::line([1.0], []).named("JSA").check().map_err(|error| error.to_string());
        assert_eq!(message, Err("layer `JSA`: 1 values in its first column, but 0 in `y`".into()));
    }

    #[test]
    fn dodged_series_share_a_place_evenly() {
        let place = |index| match Layer::boxes([2.0], [Summary::of(&[])]).dodged(index, 3).shape {
            Shape::Boxes { at, width, .. } => (at[0], width),
            _ => (f64::NAN, f64::NAN),
        };
        assert!((place(1).0 - 2.0).abs() < 1e-12);
        assert!((place(0).0 + place(2).0 - 4.0).abs() < 1e-12);
        assert!(place(0).0 + place(0).1 < place(1).0);
    }
}
