//! Conversion of layers to graphical marks in units of the page, with notes on values that cannot be drawn.

use super::canvas::{Canvas, Pen, Type};
use super::clip::{self, Fractions, Point};
use super::label::Label;
use super::layer::{Anchor, Direction, Layer, Shape};
use super::note::{Note, Reason, Tally};
use super::plot::Plot;
use super::style::{Color, Marker, Style};
use super::summary::Summary;

/// Font size of texts in a plot.
const WORDS: f64 = 660.0;
/// Opacity of bands, and of boxes and bars.
pub(super) const BAND: f64 = 0.2;
pub(super) const BOX: f64 = 0.3;

/// One graphical mark.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Mark {
    Stroke { points: Vec<Point>, pen: Pen },
    Fill { points: Vec<Point>, color: Color, opacity: f64 },
    Glyph { at: Point, style: Style },
    Words { at: Point, label: Label, anchor: Anchor, color: Color },
}

impl Mark {
    pub(super) fn draw(&self, canvas: &mut Canvas) {
        match self {
            Self::Stroke { points, pen } => canvas.stroke(points, pen),
            Self::Fill { points, color, opacity } => canvas.fill(points, *color, *opacity),
            Self::Glyph { at, style } => draw_glyph(canvas, *at, style),
            Self::Words { at, label, anchor, color } => {
                let kind = Type { color: *color, has_halo: true, ..Type::new(WORDS, *anchor) };
                canvas.text(*at, label, &kind);
            }
        }
    }
}

/// Draws a marker; all shapes have about equal area.
pub(super) fn draw_glyph(canvas: &mut Canvas, (x, y): Point, style: &Style) {
    let radius = units(style.size / 2.0);
    let Style { color, opacity, .. } = *style;
    let part = |share: f64| (f64::from(radius) * share).round() as i32;
    let mut polygon = |corners: &[(f64, f64)]| {
        let points: Vec<Point> =
            corners.iter().map(|(right, down)| (x + part(*right), y + part(*down))).collect();
        canvas.fill(&points, color, opacity);
    };
    match style.marker {
        Marker::Circle => canvas.disc((x, y), radius, color, opacity),
        Marker::Ring => {
            canvas.disc((x, y), radius, color, opacity);
            canvas.disc((x, y), part(0.62), Color::WHITE, 1.0);
        }
        Marker::Square => polygon(&[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)]),
        Marker::Diamond => polygon(&[(0.0, -1.28), (1.1, 0.0), (0.0, 1.28), (-1.1, 0.0)]),
        Marker::Triangle => polygon(&[(0.0, -1.3), (1.15, 0.75), (-1.15, 0.75)]),
        Marker::Wedge => polygon(&[(0.0, 1.3), (1.15, -0.75), (-1.15, -0.75)]),
        Marker::Plus => {
            let (long, thin) = (1.2, 0.4);
            polygon(&[(-long, -thin), (long, -thin), (long, thin), (-long, thin)]);
            polygon(&[(-thin, -long), (thin, -long), (thin, long), (-thin, long)]);
        }
    }
}

/// Converts points of the page to units.
pub(super) fn units(points: f64) -> i32 {
    (points * 100.0).round() as i32
}

/// Marks of a layer on a plot, and notes on missing values.
pub(super) fn of_layer(layer: &Layer, plot: &Plot, panel: usize) -> (Vec<Mark>, Vec<Note>) {
    let mut pencil =
        Pencil { layer, style: layer.style.tamed(), plot, tally: Tally::default(), marks: Vec::new() };
    pencil.layer();
    let notes = pencil.tally.notes(panel, &layer.title());
    (pencil.marks, notes)
}

/// Conversion of one layer.
struct Pencil<'a> {
    layer: &'a Layer,
    style: Style,
    plot: &'a Plot,
    tally: Tally,
    marks: Vec<Mark>,
}

impl Pencil<'_> {
    fn layer(&mut self) {
        match &self.layer.shape {
            Shape::Line { x, y } => self.line(x, y),
            Shape::Band { x, low, high } => self.band(x, low, high),
            Shape::Points { x, y } => self.points(x, y),
            Shape::Intervals { direction, at, value, low, high } => {
                for (((at, value), low), high) in at.iter().zip(value).zip(low).zip(high) {
                    self.interval(*direction, *at, *value, *low, *high);
                }
            }
            Shape::Boxes { direction, at, width, summaries } => {
                let width = if width.is_finite() { width.abs() } else { 0.5 };
                at.iter()
                    .zip(summaries)
                    .for_each(|(at, summary)| self.summary(*direction, *at, width, summary));
            }
            Shape::Bars { edges, heights } => self.bars(edges, heights),
            Shape::Rule { direction, at } => self.rule(*direction, *at),
            Shape::Text { x, y, text, anchor } => self.words(*x, *y, text, *anchor),
        }
    }

    /// Position of a point, or `None` with a note of the reason.
    fn place(&mut self, x: f64, y: f64) -> Option<Fractions> {
        match self.lack(x, y) {
            Some(reason) => {
                self.tally.add(reason);
                None
            }
            None => Some(self.plot.fractions(x, y)),
        }
    }

    /// Reason why a point cannot be drawn, if there is one.
    fn lack(&self, x: f64, y: f64) -> Option<Reason> {
        let Plot { x: across, y: up, .. } = self.plot;
        if !(x.is_finite() && y.is_finite()) {
            Some(Reason::NotFinite)
        } else if (across.is_log && x <= 0.0) || (up.is_log && y <= 0.0) {
            Some(Reason::NotPositive)
        } else {
            None
        }
    }

    fn pen(&self, width: f64) -> Pen {
        let Style { color, opacity, .. } = self.style;
        Pen { color, opacity, width: units(width), dash: self.layer.stroke_dash(), unit: width * 100.0 }
    }

    /// Draws the visible parts of a line; a part that is a single point becomes a dot as thick as the line.
    fn stroke(&mut self, points: &[Fractions], width: f64) {
        for part in clip::polyline(points) {
            let points: Vec<Point> = part.into_iter().map(|point| self.plot.units(point)).collect();
            let points = clip::thinned(&points, |(x, y)| (f64::from(x), f64::from(y)));
            if let [at] = points[..] {
                let style = Style { marker: Marker::Circle, size: 1.6 * width, ..self.style };
                self.marks.push(Mark::Glyph { at, style });
            } else {
                self.marks.push(Mark::Stroke { points, pen: self.pen(width) });
            }
        }
    }

    fn fill(&mut self, points: Vec<Fractions>, share: f64) {
        let points: Vec<Point> =
            clip::polygon(points).into_iter().map(|point| self.plot.units(point)).collect();
        if points.len() > 2 {
            let Style { color, opacity, .. } = self.style;
            self.marks.push(Mark::Fill { points, color, opacity: share * opacity });
        }
    }

    fn line(&mut self, x: &[f64], y: &[f64]) {
        let placed: Vec<_> = x.iter().zip(y).map(|(x, y)| self.place(*x, *y)).collect();
        for run in placed.split(Option::is_none) {
            let points: Vec<Fractions> = run.iter().flatten().copied().collect();
            self.count_outside(&points);
            self.stroke(&points, self.style.width);
        }
    }

    fn count_outside(&mut self, points: &[Fractions]) {
        points.iter().filter(|point| !clip::is_inside(**point)).for_each(|_| self.tally.add(Reason::Outside));
    }

    fn band(&mut self, x: &[f64], low: &[f64], high: &[f64]) {
        let edges: Vec<_> = x
            .iter()
            .zip(low.iter().zip(high))
            .map(|(x, (low, high))| {
                Some((self.place(*x, *high)?, self.place_or_foot(Direction::Vertical, *x, *low)?))
            })
            .collect();
        for run in edges.split(Option::is_none) {
            let (upper, lower): (Vec<Fractions>, Vec<Fractions>) = run.iter().flatten().copied().unzip();
            let across = f64::from(self.plot.rect.width);
            let [upper, lower] = [upper, lower].map(|edge| clip::thinned(&edge, |(x, y)| (x * across, y)));
            self.fill(upper.into_iter().chain(lower.into_iter().rev()).collect(), BAND);
        }
    }

    /// As `place`, but a value at or below zero on a log axis is placed at the low end of the axis, with a note.
    fn place_or_foot(&mut self, direction: Direction, at: f64, value: f64) -> Option<Fractions> {
        let is_log = match direction {
            Direction::Vertical => self.plot.y.is_log,
            Direction::Horizontal => self.plot.x.is_log,
        };
        if !(is_log && value.is_finite() && value <= 0.0) {
            let (x, y) = laid(direction, at, value);
            return self.place(x, y);
        }
        self.tally.add(Reason::CutAtAxis);
        let (x, y) = laid(direction, at, 1.0);
        let (across, up) = self.place(x, y)?;
        Some(if direction == Direction::Vertical { (across, 0.0) } else { (0.0, up) })
    }

    fn points(&mut self, x: &[f64], y: &[f64]) {
        // Markers at the same position, to a tenth of a point, are drawn once.
        let mut seen = std::collections::HashSet::new();
        for (x, y) in x.iter().zip(y) {
            let Some(place) = self.place(*x, *y) else { continue };
            if !clip::is_inside(place) {
                self.tally.add(Reason::Outside);
                continue;
            }
            let at = self.plot.units(place);
            if self.style.opacity < 1.0 || seen.insert((at.0 / 10, at.1 / 10)) {
                self.marks.push(Mark::Glyph { at, style: self.style });
            }
        }
    }

    fn interval(&mut self, direction: Direction, at: f64, value: f64, low: f64, high: f64) {
        let ends = [low, high].map(|end| self.place_or_foot(direction, at, end));
        if let [Some(from), Some(to)] = ends {
            self.stroke(&[from, to], self.style.width);
        }
        let (x, y) = laid(direction, at, value);
        match self.place(x, y) {
            Some(place) if clip::is_inside(place) => {
                let at = self.plot.units(place);
                self.marks.push(Mark::Glyph { at, style: self.style });
            }
            Some(_) => self.tally.add(Reason::Outside),
            None => {}
        }
    }

    fn summary(&mut self, direction: Direction, at: f64, width: f64, summary: &Summary) {
        const OUTLINE: f64 = 0.7;
        (0..summary.not_finite).for_each(|_| self.tally.add(Reason::NotFinite));
        for value in &summary.outliers {
            let (x, y) = laid(direction, at, *value);
            let Some(place) = self.place(x, y) else { continue };
            if clip::is_inside(place) {
                let style = Style { marker: Marker::Ring, size: 2.4, ..self.style };
                self.marks.push(Mark::Glyph { at: self.plot.units(place), style });
            } else {
                self.tally.add(Reason::Outside);
            }
        }
        let numbers = summary.numbers();
        if numbers.iter().all(|number| number.is_nan()) {
            return; // of no values at all; those that were not finite are counted already
        }
        let [low, first, median, third, high] =
            numbers.map(|number| self.place_or_foot(direction, at, number));
        let half = {
            let (x, y) = laid(direction, at + width / 2.0, 1.0);
            let (from, to) = (laid(direction, at, 1.0), self.plot.fractions(x, y));
            let from = self.plot.fractions(from.0, from.1);
            (to.0 - from.0, to.1 - from.1)
        };
        let aside = |(x, y): Fractions, side: f64| (x + side * half.0, y + side * half.1);
        if let (Some(first), Some(third)) = (first, third) {
            let corners = [aside(first, -1.0), aside(first, 1.0), aside(third, 1.0), aside(third, -1.0)];
            self.fill(corners.into(), BOX);
            self.stroke(&[&corners[..], &corners[..1]].concat(), OUTLINE);
        }
        for ends in [(low, first), (third, high)] {
            if let (Some(from), Some(to)) = ends {
                self.stroke(&[from, to], OUTLINE);
            }
        }
        if let Some(median) = median {
            self.stroke(&[aside(median, -1.0), aside(median, 1.0)], 1.5);
        }
    }

    fn bars(&mut self, edges: &[f64], heights: &[f64]) {
        let foot = if self.plot.y.is_log { 0.0 } else { self.plot.y.fraction(0.0) };
        let mut outline: Vec<Fractions> = Vec::new();
        for (pair, height) in edges.windows(2).zip(heights) {
            let (left, right) = (pair[0], pair[1]);
            let is_empty = *height == 0.0; // a bar of no height is no loss, even on a log axis
            let top = match [left, right].map(|edge| self.lack(edge, 1.0)) {
                [Some(reason), _] | [_, Some(reason)] => {
                    self.tally.add(reason);
                    None
                }
                _ if is_empty => Some(foot),
                _ => self.place_or_foot(Direction::Vertical, left, *height).map(|(_, top)| top),
            };
            let Some(top) = top else {
                self.outline(&mut outline);
                continue;
            };
            let [left, right] = [left, right].map(|edge| (self.plot.x.fraction(edge), top));
            if outline.is_empty() {
                outline.push((left.0, foot));
            }
            outline.extend([left, right]);
        }
        self.outline(&mut outline);
    }

    /// Draws the bars collected so far as one area without seams, and its outline.
    fn outline(&mut self, outline: &mut Vec<Fractions>) {
        if let (Some(first), Some(last)) = (outline.first().copied(), outline.last().copied()) {
            outline.push((last.0, first.1));
            self.fill(outline.clone(), BOX);
            self.stroke(outline, 0.8);
        }
        outline.clear();
    }

    fn rule(&mut self, direction: Direction, at: f64) {
        let along = if direction == Direction::Vertical { self.plot.x } else { self.plot.y };
        if !at.is_finite() {
            return self.tally.add(Reason::NotFinite);
        }
        if along.is_log && at <= 0.0 {
            return self.tally.add(Reason::NotPositive);
        }
        let fraction = along.fraction(at);
        let ends = match direction {
            Direction::Vertical => [(fraction, 0.0), (fraction, 1.0)],
            Direction::Horizontal => [(0.0, fraction), (1.0, fraction)],
        };
        if clip::is_inside(ends[0]) {
            self.stroke(&ends, self.style.width);
        } else {
            self.tally.add(Reason::Outside);
        }
    }

    fn words(&mut self, x: f64, y: f64, text: &str, anchor: Anchor) {
        let Some(place) = self.place(x, y) else { return };
        if !clip::is_inside(place) {
            return self.tally.add(Reason::Outside);
        }
        let (x, y) = self.plot.units(place);
        let aside = match anchor {
            Anchor::Start => 250,
            Anchor::Middle => 0,
            Anchor::End => -250,
        };
        let at = (x + aside, y + (0.36 * WORDS) as i32);
        self.marks.push(Mark::Words { at, label: Label::parse(text), anchor, color: self.style.color });
    }
}

/// A point from position and value.
fn laid(direction: Direction, at: f64, value: f64) -> (f64, f64) {
    match direction {
        Direction::Vertical => (at, value),
        Direction::Horizontal => (value, at),
    }
}
