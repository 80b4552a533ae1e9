//! Drawing of a layer in units of the page; values that cannot be drawn are counted.

use super::canvas::{Canvas, Pen};
use super::clip::{self, Fractions, Point};
use super::drawing::Missing;
use super::frame::Plot;
use super::layer::{Direction, Layer, Shape, Summary};
use super::style::{Color, Marker, Style};

/// Opacity of bands, and of boxes and bars.
pub(super) const BAND: f64 = 0.2;
pub(super) const BOX: f64 = 0.3;

/// Converts points of the page to units.
pub(super) fn units(points: f64) -> i32 {
    (points * 100.0).round() as i32
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

/// Drawing of one layer of a plot.
pub(super) struct Pencil<'a> {
    layer: &'a Layer,
    plot: &'a Plot,
    canvas: &'a mut Canvas,
    /// Values that could not be drawn.
    pub(super) missing: Missing,
    /// True if no mark was drawn.
    pub(super) is_blank: bool,
}

impl<'a> Pencil<'a> {
    pub(super) fn draw(layer: &'a Layer, plot: &'a Plot, canvas: &'a mut Canvas) -> Self {
        let mut pencil = Self { layer, plot, canvas, missing: Missing::default(), is_blank: true };
        match &layer.shape {
            Shape::Line(points) => pencil.line(points),
            Shape::Band(rows) => pencil.band(rows),
            Shape::Points(points) => pencil.points(points),
            Shape::Intervals { direction, rows } => {
                rows.iter().for_each(|row| pencil.interval(*direction, *row));
            }
            Shape::Boxes(boxes) => boxes.iter().for_each(|(x, summary)| pencil.summary(*x, summary)),
            Shape::Bar { edges, height } => pencil.bar(*edges, *height),
            Shape::Rule { direction, at } => pencil.rule(*direction, *at),
        }
        pencil
    }

    /// Position of a point; `None` if it has none, which is counted.
    fn place(&mut self, (x, y): (f64, f64)) -> Option<Fractions> {
        let Plot { x: across, y: up, .. } = self.plot;
        if !(x.is_finite() && y.is_finite()) {
            self.missing.not_finite += 1;
        } else if (across.is_log && x <= 0.0) || (up.is_log && y <= 0.0) {
            self.missing.not_positive += 1;
        } else {
            return Some(self.plot.fractions(x, y));
        }
        None
    }

    /// As `place`; a point outside the frame is counted too.
    fn place_inside(&mut self, point: (f64, f64)) -> Option<Fractions> {
        let place = self.place(point)?;
        let is_inside = clip::is_inside(place);
        self.missing.outside += usize::from(!is_inside);
        is_inside.then_some(place)
    }

    /// As `place`, but a value at or below zero on a log axis is placed at the low end of the axis, and counted.
    fn place_or_foot(&mut self, direction: Direction, at: f64, value: f64) -> Option<Fractions> {
        let along = direction.of(&self.plot.x, &self.plot.y);
        if !(along.is_log && value.is_finite() && value <= 0.0) {
            return self.place(direction.laid(at, value));
        }
        self.missing.cut_at_axis += 1;
        let (across, up) = self.place(direction.laid(at, 1.0))?;
        Some(direction.of((0.0, up), (across, 0.0)))
    }

    fn glyph(&mut self, at: Fractions, style: Style) {
        draw_glyph(self.canvas, self.plot.units(at), &style);
        self.is_blank = false;
    }

    /// Draws the visible parts of a line; a part that is a single point becomes a dot as thick as the line.
    fn stroke(&mut self, points: &[Fractions], width: f64) {
        let Style { color, opacity, .. } = self.layer.style;
        let pen =
            Pen { color, opacity, width: units(width), dash: self.layer.stroke_dash(), unit: width * 100.0 };
        for part in clip::polyline(points) {
            let points: Vec<Point> = part.into_iter().map(|point| self.plot.units(point)).collect();
            let points = clip::thinned(&points, |(x, y)| (f64::from(x), f64::from(y)));
            if let [at] = points[..] {
                let style = Style { marker: Marker::Circle, size: 1.6 * width, ..self.layer.style };
                draw_glyph(self.canvas, at, &style);
            } else {
                self.canvas.stroke(&points, &pen);
            }
            self.is_blank = false;
        }
    }

    fn fill(&mut self, points: Vec<Fractions>, share: f64) {
        let points: Vec<Point> =
            clip::polygon(points).into_iter().map(|point| self.plot.units(point)).collect();
        if points.len() > 2 {
            let Style { color, opacity, .. } = self.layer.style;
            self.canvas.fill(&points, color, share * opacity);
            self.is_blank = false;
        }
    }

    fn line(&mut self, points: &[(f64, f64)]) {
        let placed: Vec<_> = points.iter().map(|point| self.place(*point)).collect();
        for run in placed.split(Option::is_none) {
            let points: Vec<Fractions> = run.iter().flatten().copied().collect();
            self.missing.outside += points.iter().filter(|point| !clip::is_inside(**point)).count();
            self.stroke(&points, self.layer.style.width);
        }
    }

    fn band(&mut self, rows: &[[f64; 3]]) {
        let edges = rows.iter().map(|[x, low, high]| {
            Some((self.place((*x, *high))?, self.place_or_foot(Direction::Vertical, *x, *low)?))
        });
        let edges: Vec<_> = edges.collect();
        for run in edges.split(Option::is_none) {
            let (upper, lower): (Vec<Fractions>, Vec<Fractions>) = run.iter().flatten().copied().unzip();
            let across = f64::from(self.plot.rect.width);
            let [upper, lower] = [upper, lower].map(|edge| clip::thinned(&edge, |(x, y)| (x * across, y)));
            self.fill(upper.into_iter().chain(lower.into_iter().rev()).collect(), BAND);
        }
    }

    fn points(&mut self, points: &[(f64, f64)]) {
        // Markers at the same position, to a tenth of a point, are drawn once.
        let mut seen = std::collections::HashSet::new();
        for point in points {
            let Some(place) = self.place_inside(*point) else { continue };
            let at = self.plot.units(place);
            if self.layer.style.opacity < 1.0 || seen.insert((at.0 / 10, at.1 / 10)) {
                self.glyph(place, self.layer.style);
            }
        }
    }

    fn interval(&mut self, direction: Direction, [at, value, low, high]: [f64; 4]) {
        let ends = [low, high].map(|end| self.place_or_foot(direction, at, end));
        if let [Some(from), Some(to)] = ends {
            self.stroke(&[from, to], self.layer.style.width);
        }
        if let Some(place) = self.place_inside(direction.laid(at, value)) {
            self.glyph(place, self.layer.style);
        }
    }

    /// Draws a box half a unit wide.
    fn summary(&mut self, x: f64, summary: &Summary) {
        const OUTLINE: f64 = 0.7;
        self.missing.not_finite += summary.not_finite;
        for value in &summary.outliers {
            if let Some(place) = self.place_inside((x, *value)) {
                self.glyph(place, Style { marker: Marker::Ring, size: 2.4, ..self.layer.style });
            }
        }
        let numbers = summary.numbers();
        if numbers.iter().all(|number| number.is_nan()) {
            return; // of no values at all; those that were not finite are counted already
        }
        let [low, first, median, third, high] =
            numbers.map(|number| self.place_or_foot(Direction::Vertical, x, number));
        let half = self.plot.x.fraction(x + 0.25) - self.plot.x.fraction(x);
        let aside = |(x, y): Fractions, side: f64| (x + side * half, y);
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

    fn bar(&mut self, [from, to]: [f64; 2], height: f64) {
        let foot = if self.plot.y.is_log { 0.0 } else { self.plot.y.fraction(0.0) };
        let sides = self.place((from, 1.0)).and_then(|left| Some((left.0, self.place((to, 1.0))?.0)));
        let top = sides.and_then(|_| match height {
            0.0 => Some(foot), // a bar of no height is no loss, even on a log axis
            _ => self.place_or_foot(Direction::Vertical, from, height).map(|(_, top)| top),
        });
        if let (Some((left, right)), Some(top)) = (sides, top) {
            let outline = [(left, foot), (left, top), (right, top), (right, foot)];
            self.fill(outline.into(), BOX);
            self.stroke(&outline, 0.8);
        }
    }

    fn rule(&mut self, direction: Direction, at: f64) {
        let Some((x, y)) = self.place(direction.laid(at, 1.0)) else { return };
        // A vertical rule is at a value of x.
        let ends = [0.0, 1.0].map(|end| direction.laid(direction.of(y, x), end));
        match clip::is_inside(ends[0]) {
            true => self.stroke(&ends, self.layer.style.width),
            false => self.missing.outside += 1,
        }
    }
}
