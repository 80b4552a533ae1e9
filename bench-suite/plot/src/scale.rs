//! Scales: maps from values to positions on an axis, and the ranges of the axes of a figure.

use super::figure::{Axis, Figure, Panel, Spacing};
use super::layer::{Direction, Layer, Shape};

/// A map from values to fractions of an axis, 0 at its low end and 1 at its high end.
///
/// ```text
/// linear  (v - low) / (high - low)         logarithmic  (log v - log low) / (log high - log low)
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    /// Ends, as logarithms to base ten if `is_log`.
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) is_log: bool,
    /// True if the first value is at the high end.
    pub(super) is_reversed: bool,
}

impl Scale {
    /// Positions are clamped to this many axis lengths, because conversion of `f64` to pixels would overflow.
    const FAR: f64 = 1e6;

    /// A linear scale; an empty or extremely small range is widened.
    pub(super) fn linear(low: f64, high: f64) -> Self {
        let magnitude = low.abs().max(high.abs());
        let least = (magnitude * 1e-12).max(1e-290);
        let (mut low, mut high) = (low, high);
        if high - low < least {
            let middle = low / 2.0 + high / 2.0;
            let half = if magnitude < 1e-290 { 1.0 } else { magnitude * 0.1 };
            (low, high) = (middle - half, middle + half);
        }
        let (low, high) = (low.max(-f64::MAX), high.min(f64::MAX));
        Self { low, high, is_log: false, is_reversed: false }
    }

    /// A logarithmic scale between positive ends; an empty range becomes one decade.
    pub(super) fn log(low: f64, high: f64) -> Self {
        let (mut low, mut high) = (low.log10(), high.log10());
        if high - low < 1e-9 {
            (low, high) = (low - 0.5, high + 0.5);
        }
        Self { low, high, is_log: true, is_reversed: false }
    }

    /// Position of a value as fraction of the axis. Finite for every value that the scale accepts.
    pub(super) fn fraction(&self, value: f64) -> f64 {
        let place = if self.is_log { value.log10() } else { value };
        let fraction = (place / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        let fraction = if self.is_reversed { 1.0 - fraction } else { fraction };
        fraction.clamp(-Self::FAR, Self::FAR)
    }

    /// Length of the range, in decades if logarithmic.
    pub(super) fn span(&self) -> f64 {
        self.high - self.low
    }
}

/// Padding beside points, in axis lengths.
const PAD: f64 = 0.045;

fn along(side: Direction, panel: &Panel) -> &Axis {
    side.of(&panel.x, &panel.y)
}

/// Horizontal and vertical scale of every panel.
pub(super) fn scales(figure: &Figure) -> Vec<(Scale, Scale)> {
    let of = |panel: &Panel, side: Direction, is_shared: bool| {
        let kind = |panel: &Panel| std::mem::discriminant(&along(side, panel).spacing);
        // Only axes with the same kind of scale can share a range.
        let shares =
            |other: &&Panel| std::ptr::eq(*other, panel) || (is_shared && kind(other) == kind(panel));
        scale(along(side, panel), &figure.panels.iter().filter(shares).collect::<Vec<_>>(), side)
    };
    let both = |panel: &Panel| {
        (of(panel, Direction::Horizontal, figure.shares_x), of(panel, Direction::Vertical, figure.shares_y))
    };
    figure.panels.iter().map(both).collect()
}

fn scale(axis: &Axis, panels: &[&Panel], side: Direction) -> Scale {
    if let Spacing::Categories(_) = axis.spacing {
        let most = panels.iter().filter_map(|panel| along(side, panel).names()).map(<[String]>::len).max();
        let last = most.unwrap_or(0).max(1) as f64 - 0.5;
        let (low, high) = axis.range.unwrap_or((-0.5, last));
        return Scale { is_reversed: side == Direction::Vertical, ..Scale::linear(low, high) };
    }
    if let Some((low, high)) = axis.range {
        return if axis.is_log() { Scale::log(low, high) } else { Scale::linear(low, high) };
    }
    let is_tight =
        side == Direction::Horizontal && panels.iter().all(|panel| panel.layers.iter().all(is_flush));
    let Some((low, high)) = panels.iter().filter_map(|panel| span(panel, side)).reduce(united) else {
        return if axis.is_log() { Scale::log(1.0, 10.0) } else { Scale::linear(0.0, 1.0) };
    };
    let pad = if is_tight { 0.0 } else { PAD };
    if axis.is_log() {
        log_scale(low, high, pad)
    } else {
        let is_bars = |layer: &Layer| matches!(layer.shape, Shape::Bar { .. });
        let has_bars =
            side == Direction::Vertical && panels.iter().any(|panel| panel.layers.iter().any(is_bars));
        linear_scale(low, high, pad, has_bars)
    }
}

fn united(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0.min(b.0), a.1.max(b.1))
}

/// Returns true if a layer may touch the frame: lines may, markers may not.
fn is_flush(layer: &Layer) -> bool {
    !matches!(layer.shape, Shape::Points(_) | Shape::Intervals { .. } | Shape::Boxes(_))
}

/// Padded linear scale; bars stand on the axis without padding.
fn linear_scale(low: f64, high: f64, pad: f64, is_standing: bool) -> Scale {
    let bare = Scale::linear(low, high);
    let room = pad * (bare.high / 2.0 - bare.low / 2.0) * 2.0;
    let free = |at: f64, room: f64| if is_standing && at == 0.0 { at } else { at + room };
    let (low, high) = (free(bare.low, -room), free(bare.high, room));
    Scale::linear(low.max(-f64::MAX), high.min(f64::MAX))
}

/// Logarithmic scale, padded in logarithms; an end close to a power of ten is moved to it.
fn log_scale(low: f64, high: f64, pad: f64) -> Scale {
    const SHORT: f64 = 0.12;
    let scale = Scale::log(low, high);
    let (least, greatest) = (scale.low, scale.high);
    if pad == 0.0 {
        return scale;
    }
    let room = pad * scale.span();
    let (low, high) = (scale.low - room, scale.high + room);
    // Also if this moves the end towards the data, as long as all data stay inside.
    let is_near = |end: f64| scale.span() > 0.8 && (end - end.round()).abs() < SHORT;
    let low = if is_near(low) && low.round() <= least { low.round() } else { low };
    let high = if is_near(high) && high.round() >= greatest { high.round() } else { high };
    Scale { low, high, ..scale }
}

/// Smallest and largest value that can be drawn.
fn span(panel: &Panel, side: Direction) -> Option<(f64, f64)> {
    let accepts = |axis: &Axis, value: f64| value.is_finite() && (value > 0.0 || !axis.is_log());
    let within = |axis: &Axis, value: f64| {
        accepts(axis, value) && axis.range.is_none_or(|(low, high)| (low..=high).contains(&value))
    };
    let mut span = None;
    let mut visit = |x: Option<f64>, y: Option<f64>| {
        let (own, other) = side.of((x, y), (y, x));
        let (axis, across) = side.of((&panel.x, &panel.y), (&panel.y, &panel.x));
        let is_seen = other.is_none_or(|value| within(across, value));
        if let Some(value) = own.filter(|value| accepts(axis, *value) && is_seen) {
            span = Some(span.map_or((value, value), |known| united(known, (value, value))));
        }
    };
    panel.layers.iter().for_each(|layer| visit_points(layer, &mut visit));
    span
}

/// Visits every point of a layer.
fn visit_points(layer: &Layer, visit: &mut impl FnMut(Option<f64>, Option<f64>)) {
    let mut point = |x: f64, y: f64| visit(Some(x), Some(y));
    match &layer.shape {
        Shape::Line(points) | Shape::Points(points) => points.iter().for_each(|(x, y)| point(*x, *y)),
        Shape::Band(rows) => {
            for [x, low, high] in rows {
                point(*x, *low);
                point(*x, *high);
            }
        }
        Shape::Intervals { direction, rows } => {
            for [at, ends @ ..] in rows {
                for (x, y) in ends.map(|end| direction.laid(*at, end)) {
                    point(x, y);
                }
            }
        }
        Shape::Boxes(boxes) => {
            for (x, summary) in boxes {
                for value in summary.numbers().iter().chain(&summary.outliers) {
                    point(x - 0.25, *value);
                    point(x + 0.25, *value);
                }
            }
        }
        Shape::Bar { edges, height } => {
            for edge in edges {
                point(*edge, 0.0);
                point(*edge, *height);
            }
        }
        Shape::Rule { direction: Direction::Vertical, at } => visit(Some(*at), None),
        Shape::Rule { direction: Direction::Horizontal, at } => visit(None, Some(*at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_finite_at_the_ends_of_f64() {
        for scale in [
            Scale::linear(-1e308, 1e308),
            Scale::linear(-f64::MAX, f64::MAX),
            Scale::linear(0.0, 0.0),
            Scale::linear(1e-320, 2e-320),
            Scale::linear(1.0, 1.0 + f64::EPSILON),
            Scale::log(1e-320, 1e300),
            Scale::log(5.0, 5.0),
        ] {
            for value in [5e-324, 1e-300, 1.0, 1e300, f64::MAX] {
                assert!(scale.fraction(value).is_finite(), "{scale:?} {value}");
            }
            assert!(scale.span() > 0.0);
        }
    }

    #[test]
    fn a_reversed_scale_begins_on_top() {
        let scale = Scale { is_reversed: true, ..Scale::linear(0.0, 4.0) };
        assert_eq!((scale.fraction(0.0), scale.fraction(3.0)), (1.0, 0.25));
    }

    fn scales_of(panel: Panel) -> (Scale, Scale) {
        scales(&Figure::new(vec![panel]))[0]
    }

    #[test]
    fn lines_touch_the_frame_and_points_do_not() {
        let panel = || Panel::new(Axis::linear("x"), Axis::linear("y"));
        let (x, y) = scales_of(panel().with(Layer::line([(0.0, 1.0), (10.0, 2.0)])));
        assert_eq!((x.low, x.high), (0.0, 10.0));
        assert!(y.low < 1.0 && y.high > 2.0);
        let (x, _) = scales_of(panel().with(Layer::points([(0.0, 1.0), (10.0, 2.0)])));
        assert!(x.low < 0.0 && x.high > 10.0);
        let (_, y) = scales_of(panel().with(Layer::bar([0.0, 1.0], 5.0)));
        assert!(y.low == 0.0 && y.high > 5.0);
    }

    #[test]
    fn what_cannot_be_drawn_spans_nothing() {
        let panel = Panel::new(Axis::log("x"), Axis::log("y"));
        let data = [(1.0, -1.0), (10.0, 1.0), (f64::NAN, 7e9), (100.0, f64::INFINITY)];
        let (x, _) = scales_of(panel.with(Layer::line(data)).with(Layer::vertical_rule(100.0)));
        assert_eq!((x.low, x.high), (1.0, 2.0));
    }

    #[test]
    fn a_given_range_hides_the_rest_from_the_other_axis() {
        let panel = Panel::new(Axis::linear("x").spanning(0.0, 1.0), Axis::linear("y"));
        let (_, y) = scales_of(panel.with(Layer::line([(0.0, 0.0), (1.0, 1.0), (2.0, 1e9)])));
        assert!(y.high < 1.1);
    }

    #[test]
    fn shared_axes_span_all_panels() {
        let panel =
            |top| Panel::new(Axis::linear(""), Axis::linear("")).with(Layer::line([(0.0, 0.0), (1.0, top)]));
        let scales = scales(&Figure::new(vec![panel(1.0), panel(9.0)]).as_multiples(2));
        assert_eq!(scales[0], scales[1]);
    }
}
