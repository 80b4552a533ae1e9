//! Layers of a panel: data with shape, style and name.

use super::error::DrawError;
use super::style::{Dash, Style};
use super::summary::Summary;

/// Direction of the values of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Values along x, positions along y.
    Horizontal,
    /// Values along y, positions along x.
    Vertical,
}

/// Alignment of a text relative to its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Text to the right.
    Start,
    /// Text centred.
    Middle,
    /// Text to the left.
    End,
}

/// Shape with its data. Values that cannot be drawn are left out and noted; see [`super::Reason`].
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
        /// Direction of the values.
        direction: Direction,
        /// Positions on the other axis.
        at: Vec<f64>,
        /// Marked values.
        value: Vec<f64>,
        /// Lower ends of the bars.
        low: Vec<f64>,
        /// Upper ends of the bars.
        high: Vec<f64>,
    },
    /// Box plots.
    Boxes {
        /// Direction of the values.
        direction: Direction,
        /// Positions on the other axis.
        at: Vec<f64>,
        /// Width in units of that axis.
        width: f64,
        /// One summary per box.
        summaries: Vec<Summary>,
    },
    /// Adjacent bars from zero (or the low end of a log axis): histograms.
    Bars {
        /// Edges, one more than bars.
        edges: Vec<f64>,
        /// The heights.
        heights: Vec<f64>,
    },
    /// A straight line across the panel at one value: a horizontal line is at a value of y.
    Rule {
        /// Direction of the line.
        direction: Direction,
        /// Position at which it crosses the other axis.
        at: f64,
    },
    /// Text at a point.
    Text {
        /// Abscissa.
        x: f64,
        /// Ordinate.
        y: f64,
        /// Text with markup.
        text: String,
        /// Alignment relative to the point.
        anchor: Anchor,
    },
}

/// One layer of a panel; later layers are drawn over earlier ones.
///
/// ```
/// use mcsa_plot::{Layer, Shape, Style};
/// let layer = Layer::line([1.0, 2.0], [0.3, 0.1]).styled(Style::series(0)).named("pMCSA");
/// assert_eq!(layer.name.as_deref(), Some("pMCSA"));
/// assert!(matches!(layer.shape, Shape::Line { .. }));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Shape with its data.
    pub shape: Shape,
    /// Style.
    pub style: Style,
    /// Name in the legend, with markup; layers with one name share an entry.
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

    /// Text at a point.
    pub fn text(x: f64, y: f64, text: impl Into<String>, anchor: Anchor) -> Self {
        Self::of(Shape::Text { x, y, text: text.into(), anchor }).styled(Style::reference())
    }

    /// A layer in the style of the first series and without a name.
    pub fn of(shape: Shape) -> Self {
        Self { shape, style: Style::series(0).solid(), name: None }
    }

    /// Sets the style.
    pub fn styled(self, style: Style) -> Self {
        Self { style, ..self }
    }

    /// Sets the name in the legend.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Intervals or boxes laid along x; other shapes are unchanged.
    pub fn horizontal(mut self) -> Self {
        if let Shape::Intervals { direction, .. } | Shape::Boxes { direction, .. } = &mut self.shape {
            *direction = Direction::Horizontal;
        }
        self
    }

    /// Shifts intervals or boxes so that several series at the same positions are side by side: the slot of series `index` of
    /// `series`. Other shapes are unchanged.
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

    /// Name of the shape.
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

    /// Name in notes and errors.
    pub(super) fn title(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.kind().into())
    }

    /// Refuses columns of unequal length.
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

    /// Dash of outlines. Points and boxes are drawn solid, because marker and position already distinguish series.
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
