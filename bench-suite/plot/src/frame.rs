//! Frame of a plot: axes, ticks, grid, labels, title.

use super::canvas::{Anchor, Canvas, Pen, Type};
use super::clip::{Fractions, Point};
use super::figure::{Axis, Panel};
use super::label::{Label, Typesetter};
use super::scale::Scale;
use super::style::Color;
use super::ticks::{Ticks, is_on_axis};

const TICK_SIZE: f64 = 680.0;
const TICK_LINE: i32 = 850;
const LABEL_SIZE: f64 = 760.0;
const LABEL_LINE: i32 = 1000;
const TITLE_SIZE: f64 = 760.0;
const TITLE_LINE: i32 = 1050;
/// Lengths of ticks, and space between a tick, its label and the label of the axis.
const MAJOR: i32 = 310;
const MINOR: i32 = 180;
const AIR: i32 = 210;
const AXIS_WIDTH: i32 = 65;
/// Space between names side by side.
const BETWEEN: f64 = 600.0;

/// A rectangle in units; y increases downwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rect {
    pub(super) left: i32,
    pub(super) top: i32,
    pub(super) width: i32,
    pub(super) height: i32,
}

impl Rect {
    pub(super) fn right(&self) -> i32 {
        self.left + self.width
    }

    pub(super) fn bottom(&self) -> i32 {
        self.top + self.height
    }

    pub(super) fn middle(&self) -> Point {
        (self.left + self.width / 2, self.top + self.height / 2)
    }
}

/// Map from values to positions on the sheet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plot {
    pub(super) rect: Rect,
    pub(super) x: Scale,
    pub(super) y: Scale,
}

impl Plot {
    /// Position of a point as fractions of the axes.
    pub(super) fn fractions(&self, x: f64, y: f64) -> Fractions {
        (self.x.fraction(x), self.y.fraction(y))
    }

    /// Position of a point in or near the frame, rounded to units.
    pub(super) fn units(&self, (x, y): Fractions) -> Point {
        (self.across(x), self.down(y))
    }

    fn across(&self, fraction: f64) -> i32 {
        self.rect.left + (fraction * f64::from(self.rect.width)).round() as i32
    }

    fn down(&self, fraction: f64) -> i32 {
        self.rect.bottom() - (fraction * f64::from(self.rect.height)).round() as i32
    }
}

/// Ticks of an axis with their names, and its label, broken into lines.
#[derive(Debug, Clone, Default)]
struct Marks {
    ticks: Ticks,
    names: Vec<Vec<Label>>,
    label: Vec<Label>,
    /// Width of the widest name.
    width: i32,
}

impl Marks {
    /// Marks of an axis whose names are at most `name` wide and whose label is at most `label` wide. Numbers have as many ticks
    /// as the gaps allow: at least `least` units of an axis of length `length`, and for names side by side their widths.
    fn new(
        (axis, scale): (&Axis, &Scale),
        setter: &Typesetter,
        (length, least): (i32, f64),
        (name, label): (f64, f64),
        is_across: bool,
    ) -> Self {
        let widths = |ticks: &Ticks| -> Vec<f64> {
            let width = |label: &String| setter.width(&Label::parse(label), TICK_SIZE);
            ticks
                .major
                .iter()
                .map(|(_, label)| if is_across { width(label) + BETWEEN } else { 0.0 })
                .collect()
        };
        let fits = |ticks: &Ticks| {
            let (gaps, widths) = (ticks.major.windows(2), widths(ticks));
            gaps.zip(widths.windows(2)).all(|(pair, widths)| {
                let step = (pair[1].0 - pair[0].0) * f64::from(length);
                step >= least && step >= f64::midpoint(widths[0], widths[1])
            })
        };
        let ticks = match axis.names() {
            Some(names) => Ticks::of_names(scale, names),
            None => Ticks::fitting(scale, fits),
        };
        let names = ticks.major.iter().map(|(_, text)| setter.wrap(&Label::parse(text), TICK_SIZE, name));
        let names: Vec<_> = names.collect();
        let text = match (axis.label.trim().is_empty(), ticks.common.as_str()) {
            (_, "") => axis.label.clone(),
            (true, common) => common.to_owned(),
            (false, common) => format!("{} ({common})", axis.label),
        };
        let label = setter.wrap(&Label::parse(&text), LABEL_SIZE, label);
        Self { width: setter.widest(names.iter().flatten(), TICK_SIZE), ticks, names, label }
    }

    /// Positions and lengths of all ticks, with the widths of their lines.
    fn lines(&self) -> impl Iterator<Item = (f64, i32, i32)> {
        let major = self.ticks.major.iter().map(|(fraction, _)| (*fraction, MAJOR, AXIS_WIDTH));
        major.chain(self.ticks.minor.iter().map(|fraction| (*fraction, MINOR, 45)))
    }
}

/// Frame of one plot, measured before its position is known.
#[derive(Debug, Clone)]
pub(super) struct Frame<'a> {
    panel: &'a Panel,
    pub(super) x: Scale,
    pub(super) y: Scale,
    pub(super) shows_x: bool,
    pub(super) shows_y: bool,
    across: Marks,
    up: Marks,
    title: Vec<Label>,
    /// Overhang of x names beyond the plot on either side.
    overhang: (i32, i32),
}

impl<'a> Frame<'a> {
    /// Frame of a plot of height `height`, with category names no wider than `most`.
    pub(super) fn new(
        panel: &'a Panel,
        (x, y): (Scale, Scale),
        setter: &Typesetter,
        height: i32,
        most: i32,
    ) -> Self {
        let least = if y.is_log { 1500.0 } else { 2000.0 };
        let widths = (f64::from(most), f64::from(height.max(3000)) * 1.1);
        let up = Marks::new((&panel.y, &y), setter, (height, least), widths, false);
        let (across, title) = (Marks::default(), Vec::new());
        Self { panel, x, y, shows_x: true, shows_y: true, across, up, title, overhang: (0, 0) }
    }

    /// Measures everything that depends on the width of the plot; names of categories have the space between two ticks.
    pub(super) fn lay_across(&mut self, setter: &Typesetter, width: i32) {
        let wide = f64::from(width);
        let least = if self.x.is_log { 1500.0 } else { 2800.0 };
        let slot = (wide / self.x.span() - BETWEEN).max(BETWEEN);
        let name = if self.panel.x.names().is_some() { slot } else { f64::INFINITY };
        self.across = Marks::new((&self.panel.x, &self.x), setter, (width, least), (name, wide * 1.1), true);
        let named = self.across.ticks.major.iter().zip(&self.across.names);
        self.overhang = named.fold((0, 0), |(left, right), ((fraction, _), name)| {
            let (half, at) = (f64::from(setter.widest(name, TICK_SIZE)) / 2.0, fraction * wide);
            (left.max((half - at) as i32), right.max((at + half - wide) as i32))
        });
        self.title = setter.wrap(&Label::parse(&self.panel.title), TITLE_SIZE, wide);
    }

    /// Space needed on each side.
    pub(super) fn left(&self) -> i32 {
        let names =
            if self.shows_y { self.up.width + AIR + block(&self.up.label, LABEL_LINE, 500) } else { 0 };
        (MAJOR + names).max(self.overhang.0)
    }

    pub(super) fn right(&self) -> i32 {
        if self.shows_x { self.overhang.1 } else { 0 }
    }

    pub(super) fn top(&self) -> i32 {
        block(&self.title, TITLE_LINE, 250).max(350)
    }

    pub(super) fn bottom(&self) -> i32 {
        if self.shows_x { self.names_height() + block(&self.across.label, LABEL_LINE, 330) } else { MAJOR }
    }

    /// Distance from the axis to the lower end of its names.
    fn names_height(&self) -> i32 {
        MAJOR + AIR + TICK_LINE * self.across.names.iter().map(Vec::len).max().unwrap_or(0) as i32
    }

    /// Draws the grid, under the data.
    pub(super) fn draw_grid(&self, canvas: &mut Canvas, plot: &Plot) {
        let pen = Pen::thin(Color::GRID, 50);
        let Rect { left, top, .. } = plot.rect;
        let (right, bottom) = (plot.rect.right(), plot.rect.bottom());
        canvas.open("grid");
        if self.panel.x.names().is_none() {
            for (fraction, _) in &self.across.ticks.major {
                let x = plot.across(*fraction);
                canvas.stroke(&[(x, bottom), (x, top)], &pen);
            }
        }
        // Categories are separated by lines between them, because several series share one category.
        let step = if self.panel.y.names().is_some() { 1.0 / self.y.span() } else { 0.0 };
        let lines = self.up.ticks.major.iter().map(|(fraction, _)| fraction - step / 2.0);
        for fraction in lines.filter(|fraction| is_on_axis(*fraction) && (step == 0.0 || *fraction > 1e-9)) {
            let y = plot.down(fraction);
            canvas.stroke(&[(left, y), (right, y)], &pen);
        }
        canvas.close();
    }

    /// Draws everything except the grid, over the data.
    pub(super) fn draw(&self, canvas: &mut Canvas, plot: &Plot) {
        let Rect { left, top, .. } = plot.rect;
        let ((middle, centre), right, bottom) = (plot.rect.middle(), plot.rect.right(), plot.rect.bottom());
        let pen = |width| Pen::thin(Color::BLACK, width);
        canvas.open("axes");
        canvas.stroke(&[(left, top), (left, bottom), (right, bottom)], &pen(AXIS_WIDTH));
        for (fraction, length, width) in self.across.lines() {
            let x = plot.across(fraction);
            canvas.stroke(&[(x, bottom), (x, bottom + length)], &pen(width));
        }
        for (fraction, length, width) in self.up.lines() {
            let y = plot.down(fraction);
            canvas.stroke(&[(left, y), (left - length, y)], &pen(width));
        }
        if self.shows_x {
            let kind = Type::new(TICK_SIZE, Anchor::Middle);
            for ((fraction, _), name) in self.across.ticks.major.iter().zip(&self.across.names) {
                let baseline = bottom + MAJOR + AIR + (0.86 * TICK_SIZE) as i32;
                canvas.lines((plot.across(*fraction), baseline), TICK_LINE, name, &kind);
            }
            let baseline = bottom + self.names_height() + 330 + (0.8 * LABEL_SIZE) as i32;
            let kind = Type::new(LABEL_SIZE, Anchor::Middle);
            canvas.lines((middle, baseline), LABEL_LINE, &self.across.label, &kind);
        }
        if self.shows_y {
            let kind = Type::new(TICK_SIZE, Anchor::End);
            for ((fraction, _), name) in self.up.ticks.major.iter().zip(&self.up.names) {
                let middle = plot.down(*fraction) + (0.36 * TICK_SIZE) as i32;
                let first = middle - TICK_LINE * (name.len() as i32 - 1) / 2;
                canvas.lines((left - MAJOR - AIR, first), TICK_LINE, name, &kind);
            }
            let kind = Type { reads_upwards: true, ..Type::new(LABEL_SIZE, Anchor::Middle) };
            for (at, line) in (0..).zip(self.up.label.iter().rev()) {
                let aside = MAJOR + AIR + self.up.width + 500 + at * LABEL_LINE + (0.1 * LABEL_SIZE) as i32;
                canvas.text((left - aside, centre), line, &kind);
            }
        }
        let above = 330 + (self.title.len() as i32 - 1) * TITLE_LINE;
        let kind = Type::new(TITLE_SIZE, Anchor::Middle);
        canvas.lines((middle, top - above), TITLE_LINE, &self.title, &kind);
        canvas.close();
    }
}

/// Height of a block of lines with the space before it; 0 if all lines are empty.
fn block(lines: &[Label], line: i32, air: i32) -> i32 {
    if lines.iter().all(Label::is_empty) { 0 } else { air + line * lines.len() as i32 }
}
