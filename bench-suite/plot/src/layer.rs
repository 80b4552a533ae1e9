//! Layers of a panel: data with shape, style and name.

use super::figure::DrawError;
use super::style::{Dash, Style};

/// Direction of an axis, and of the values of a layer: vertical values are along y, their positions along x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Horizontal,
    Vertical,
}

impl Direction {
    /// Of a horizontal and a vertical part, the one along this direction.
    pub(super) fn of<T>(self, x: T, y: T) -> T {
        if self == Self::Horizontal { x } else { y }
    }

    /// A point from its position on the other axis and its value.
    pub(super) fn laid(self, at: f64, value: f64) -> (f64, f64) {
        self.of((value, at), (at, value))
    }
}

/// Shape with its data. Values that cannot be drawn are left out and counted; see [`super::Missing`].
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    /// A line through points in the given order, with a gap at values that cannot be drawn.
    Line { x: Vec<f64>, y: Vec<f64> },
    /// The area between two curves.
    Band { x: Vec<f64>, low: Vec<f64>, high: Vec<f64> },
    /// A marker at each point.
    Points { x: Vec<f64>, y: Vec<f64> },
    /// A marker at each value with a bar over its interval, at positions on the other axis: error bars, forest plots.
    Intervals { direction: Direction, at: Vec<f64>, value: Vec<f64>, low: Vec<f64>, high: Vec<f64> },
    /// Box plots along y, half a unit of x wide.
    Boxes { x: Vec<f64>, summaries: Vec<Summary> },
    /// Adjacent bars from zero (or the low end of a log axis) between edges, one more than bars: histograms.
    Bars { edges: Vec<f64>, heights: Vec<f64> },
    /// A straight line across the panel at one value: a horizontal line is at a value of y.
    Rule { direction: Direction, at: f64 },
}

/// One layer of a panel: data with shape, style and name; later layers are drawn over earlier ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    pub(super) shape: Shape,
    pub(super) style: Style,
    /// Name in the legend, with markup; layers with one name share an entry.
    pub(super) name: Option<String>,
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

    /// Box plots along y.
    pub fn boxes(x: impl Into<Vec<f64>>, summaries: impl Into<Vec<Summary>>) -> Self {
        Self::of(Shape::Boxes { x: x.into(), summaries: summaries.into() })
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

    /// A layer in the style of the first series and without a name.
    fn of(shape: Shape) -> Self {
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

    /// Intervals laid along x; other shapes are unchanged.
    pub fn horizontal(mut self) -> Self {
        if let Shape::Intervals { direction, .. } = &mut self.shape {
            *direction = Direction::Horizontal;
        }
        self
    }

    /// Shifts intervals so that several series at the same positions are side by side: the slot of series `index` of
    /// `series`. Other shapes are unchanged.
    pub fn dodged(mut self, index: usize, series: usize) -> Self {
        const ROOM: f64 = 0.74; // of a unit; the rest keeps neighbouring places apart
        let shift = (index as f64 + 0.5) * ROOM / series.max(1) as f64 - ROOM / 2.0;
        if let Shape::Intervals { at, .. } = &mut self.shape {
            at.iter_mut().for_each(|at| *at += shift);
        }
        self
    }

    pub(super) fn kind(&self) -> &'static str {
        match &self.shape {
            Shape::Line { .. } => "line",
            Shape::Band { .. } => "band",
            Shape::Points { .. } => "points",
            Shape::Intervals { .. } => "intervals",
            Shape::Boxes { .. } => "boxes",
            Shape::Bars { .. } => "bars",
            Shape::Rule { .. } => "rule",
        }
    }

    pub(super) fn title(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.kind().into())
    }

    pub(super) fn check(&self) -> Result<(), DrawError> {
        let (expected, columns) = match &self.shape {
            Shape::Line { x, y } | Shape::Points { x, y } => (x.len(), vec![("y", y.len())]),
            Shape::Band { x, low, high } => (x.len(), vec![("low", low.len()), ("high", high.len())]),
            Shape::Intervals { at, value, low, high, .. } => {
                (at.len(), vec![("value", value.len()), ("low", low.len()), ("high", high.len())])
            }
            Shape::Boxes { x, summaries } => (x.len(), vec![("summaries", summaries.len())]),
            // No edges and no heights is an empty histogram.
            Shape::Bars { edges, heights } => {
                (edges.len().saturating_sub(1), vec![("heights", heights.len())])
            }
            Shape::Rule { .. } => (0, Vec::new()),
        };
        match columns.into_iter().find(|(_, found)| *found != expected) {
            None => Ok(()),
            Some((column, found)) => Err(DrawError(format!(
                "layer `{}`: {expected} values in its first column, but {found} in `{column}`",
                self.title()
            ))),
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

/// Data of a box plot after Tukey: the box from the first to the third quartile, the whiskers to the outermost values within
/// 1.5 box lengths of it, and every value beyond as an outlier.
///
/// Quartiles interpolate linearly between order statistics (type 7 of Hyndman and Fan). Values that are not finite are
/// counted in `not_finite` and otherwise ignored.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    quartiles: [f64; 3],
    /// Smallest and largest value that is not an outlier.
    whiskers: [f64; 2],
    /// Values beyond the whiskers, in order.
    pub(super) outliers: Vec<f64>,
    /// Number of NaN and infinite values.
    pub(super) not_finite: usize,
}

impl Summary {
    /// Summarises a sample; if it is empty, every number is NaN and nothing is drawn.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let not_finite = values.len() - sorted.len();
        let quartiles = [0.25, 0.5, 0.75].map(|level| quantile(&sorted, level));
        let [first, _, third] = quartiles;
        let reach = 1.5 * (third - first);
        let (least, most) = (first - reach, third + reach);
        let is_near = |value: &f64| *value >= least && *value <= most;
        let low = sorted.iter().copied().find(is_near).unwrap_or(f64::NAN).min(first);
        let high = sorted.iter().copied().rev().find(is_near).unwrap_or(f64::NAN).max(third);
        let outliers = sorted.iter().copied().filter(|value| !is_near(value)).collect();
        Self { quartiles, whiskers: [low, high], outliers, not_finite }
    }

    /// Whiskers and quartiles in order.
    pub(super) fn numbers(&self) -> [f64; 5] {
        let ([first, median, third], [low, high]) = (self.quartiles, self.whiskers);
        [low, first, median, third, high]
    }
}

fn quantile(sorted: &[f64], level: f64) -> f64 {
    let place = level * sorted.len().saturating_sub(1) as f64;
    let (below, share) = (place.floor() as usize, place.fract());
    match (sorted.get(below), sorted.get(below + 1)) {
        (Some(low), Some(high)) if share > 0.0 => low * (1.0 - share) + high * share,
        (Some(low), _) => *low,
        _ => f64::NAN,
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
            assert!(layer.check().is_err(), "{layer:?}");
        }
        assert!(Layer::bars([], []).check().is_ok());
        let message = Layer::line([1.0], []).named("JSA").check().map_err(|error| error.to_string());
        assert_eq!(message, Err("layer `JSA`: 1 values in its first column, but 0 in `y`".into()));
    }

    #[test]
    fn dodged_series_share_a_place_evenly() {
        let place = |index| match Layer::intervals([2.0], [], [], []).dodged(index, 3).shape {
            Shape::Intervals { at, .. } => at[0],
            _ => f64::NAN,
        };
        assert!((place(1) - 2.0).abs() < 1e-12);
        assert!((place(0) + place(2) - 4.0).abs() < 1e-12 && place(0) < place(1));
    }

    #[test]
    fn quartiles_interpolate() {
        let summary = Summary::of(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!(summary.numbers(), [1.0, 1.75, 2.5, 3.25, 4.0]);
        assert!(summary.outliers.is_empty());
        let summary = Summary::of(&[1.0, 2.0, 3.0, 4.0, 99.0, f64::NAN]);
        assert_eq!((summary.numbers(), summary.outliers), ([1.0, 2.0, 3.0, 4.0, 4.0], vec![99.0]));
    }

    #[test]
    fn degenerate_samples_are_summarised() {
        assert!(Summary::of(&[]).numbers().iter().all(|number| number.is_nan()));
        assert_eq!(Summary::of(&[7.0]).numbers(), [7.0; 5]);
        assert_eq!(Summary::of(&[f64::INFINITY]).not_finite, 1);
        let constant = Summary::of(&[1.0, 1.0, 1.0, 1.0, 5.0]);
        assert_eq!((constant.numbers(), constant.outliers), ([1.0; 5], vec![5.0]));
    }
}
