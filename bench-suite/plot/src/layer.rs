//! Layers of a panel: data with shape, style and name.

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
    Line(Vec<(f64, f64)>),
    /// The area between two curves: abscissae with the lower and the upper ordinate.
    Band(Vec<[f64; 3]>),
    /// A marker at each point.
    Points(Vec<(f64, f64)>),
    /// A marker at each value with a bar over its interval, at a position on the other axis: error bars, forest plots. Rows of position,
    /// value, lower and upper end.
    Intervals { direction: Direction, rows: Vec<[f64; 4]> },
    /// Box plots along y, half a unit of x wide.
    Boxes(Vec<(f64, Summary)>),
    /// A bar between two edges from zero, or the low end of a log axis.
    Bar { edges: [f64; 2], height: f64 },
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
    /// True if it has no value to draw; a rule is none.
    pub(super) fn is_empty(&self) -> bool {
        let is_finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        match &self.shape {
            Shape::Line(points) | Shape::Points(points) => !points.iter().any(|(x, y)| is_finite(&[*x, *y])),
            Shape::Band(rows) => !rows.iter().any(|row| is_finite(row)),
            Shape::Intervals { rows, .. } => !rows.iter().any(|row| is_finite(&row[..2])),
            Shape::Boxes(boxes) => boxes.is_empty(),
            Shape::Bar { height, .. } => !height.is_finite(),
            Shape::Rule { .. } => true,
        }
    }

    /// A line through points.
    pub fn line(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::of(Shape::Line(points.into_iter().collect()))
    }

    /// The area between two curves: abscissa, lower and upper ordinate.
    pub fn band(rows: impl IntoIterator<Item = [f64; 3]>) -> Self {
        Self::of(Shape::Band(rows.into_iter().collect()))
    }

    /// A marker at each point.
    pub fn points(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::of(Shape::Points(points.into_iter().collect()))
    }

    /// Markers with bars along y: position, value, lower and upper end. [`Layer::horizontal`] lays them along x.
    pub fn intervals(rows: impl IntoIterator<Item = [f64; 4]>) -> Self {
        Self::of(Shape::Intervals { direction: Direction::Vertical, rows: rows.into_iter().collect() })
    }

    /// Box plots along y, at values of x.
    pub fn boxes(boxes: impl IntoIterator<Item = (f64, Summary)>) -> Self {
        Self::of(Shape::Boxes(boxes.into_iter().collect()))
    }

    /// A bar between two edges.
    pub fn bar(edges: [f64; 2], height: f64) -> Self {
        Self::of(Shape::Bar { edges, height })
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
        if let Shape::Intervals { rows, .. } = &mut self.shape {
            rows.iter_mut().for_each(|[at, ..]| *at += shift);
        }
        self
    }

    pub(super) fn kind(&self) -> &'static str {
        match &self.shape {
            Shape::Line(_) => "line",
            Shape::Band(_) => "band",
            Shape::Points(_) => "points",
            Shape::Intervals { .. } => "intervals",
            Shape::Boxes(_) => "boxes",
            Shape::Bar { .. } => "bars",
            Shape::Rule { .. } => "rule",
        }
    }

    pub(super) fn title(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.kind().into())
    }

    /// Dash of outlines. Points and boxes are drawn solid, because marker and position already distinguish series.
    pub(super) fn stroke_dash(&self) -> Dash {
        match self.shape {
            Shape::Line(_) | Shape::Rule { .. } => self.style.dash,
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
    fn dodged_series_share_a_place_evenly() {
        let place = |index| match Layer::intervals([[2.0; 4]]).dodged(index, 3).shape {
            Shape::Intervals { rows, .. } => rows[0][0],
            _ => f64::NAN,
        };
        assert!((place(1) - 2.0).abs() < 1e-12);
        assert!((place(0) + place(2) - 4.0).abs() < 1e-12 && place(0) < place(1));
    }

    #[test]
    fn quartiles_interpolate() {
        for (sample, numbers, outliers) in [
            (&[4.0, 1.0, 3.0, 2.0][..], [1.0, 1.75, 2.5, 3.25, 4.0], &[][..]),
            (&[1.0, 2.0, 3.0, 4.0, 99.0, f64::NAN], [1.0, 2.0, 3.0, 4.0, 4.0], &[99.0]),
            (&[7.0], [7.0; 5], &[]),
            (&[1.0, 1.0, 1.0, 1.0, 5.0], [1.0; 5], &[5.0]),
        ] {
            let summary = Summary::of(sample);
            assert_eq!((summary.numbers(), &summary.outliers[..]), (numbers, outliers));
        }
        assert!(Summary::of(&[]).numbers().iter().all(|number| number.is_nan()));
        assert_eq!(Summary::of(&[f64::INFINITY]).not_finite, 1);
    }
}
