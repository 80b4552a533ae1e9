//! Frame of a plot: axes, ticks, grid, labels, title.

use super::canvas::{Canvas, Pen, Type};
use super::label::Label;
use super::layer::Anchor;
use super::linear_ticks;
use super::log_ticks;
use super::panel::Panel;
use super::plot::{Plot, Rect};
use super::scale::Scale;
use super::style::Color;
use super::ticks::{Tick, Ticks, is_on_axis};
use super::typesetter::Typesetter;

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
/// Rotation in degrees of category names that do not fit side by side.
const TURN: i32 = -38;

/// Frame of one plot, measured before its position is known.
#[derive(Debug, Clone)]
pub(super) struct Frame<'a> {
    panel: &'a Panel,
    pub(super) x: Scale,
    pub(super) y: Scale,
    pub(super) shows_x: bool,
    pub(super) shows_y: bool,
    x_ticks: Ticks,
    y_ticks: Ticks,
    x_names: Vec<Vec<Label>>,
    y_names: Vec<Vec<Label>>,
    is_turned: bool,
    x_label: Vec<Label>,
    y_label: Vec<Label>,
    title: Vec<Label>,
    /// Widths of the widest line of y labels and of the widest x label, and overhang of x labels beyond the plot.
    y_width: i32,
    x_width: i32,
    overhang: (i32, i32),
}

impl<'a> Frame<'a> {
    /// Frame of a plot of height `height`, with category names no wider than `most`.
    pub(super) fn new(
        panel: &'a Panel,
        scales: (Scale, Scale),
        setter: &Typesetter,
        height: i32,
        most: i32,
    ) -> Self {
        let (x, y) = scales;
        let y_ticks = match panel.y.names() {
            Some(names) => Ticks::of_names(&y, names),
            None => fitting(&y, |ticks| is_apart(ticks, height, if y.is_log { 1500 } else { 2000 })),
        };
        let names = y_ticks.major.iter().map(|tick| Label::parse(&tick.label));
        let y_names: Vec<_> = names.map(|name| setter.wrap(&name, TICK_SIZE, f64::from(most))).collect();
        let y_width = widest(setter, y_names.iter().flatten(), TICK_SIZE);
        let y_label = with_common(&panel.y.label, &y_ticks.common);
        let y_label = setter.wrap(&y_label, LABEL_SIZE, f64::from(height.max(3000)) * 1.1);
        Self {
            panel,
            x,
            y,
            shows_x: true,
            shows_y: true,
            x_ticks: Ticks::default(),
            y_ticks,
            x_names: Vec::new(),
            y_names,
            is_turned: false,
            x_label: Vec::new(),
            y_label,
            title: Vec::new(),
            y_width,
            x_width: 0,
            overhang: (0, 0),
        }
    }

    /// Measures everything that depends on the width of the plot.
    pub(super) fn lay_across(&mut self, setter: &Typesetter, width: i32) {
        let parsed = |ticks: &Ticks| -> Vec<Label> {
            ticks.major.iter().map(|tick| Label::parse(&tick.label)).collect()
        };
        let fits = |ticks: &Ticks, least: i32| {
            let widths: Vec<f64> = parsed(ticks).iter().map(|label| setter.width(label, TICK_SIZE)).collect();
            let is_free = |(pair, widths): (&[Tick], &[f64])| {
                let step = (pair[1].fraction - pair[0].fraction) * f64::from(width);
                step >= (widths[0] + widths[1]) / 2.0 + 600.0 && step >= f64::from(least)
            };
            ticks.major.windows(2).zip(widths.windows(2)).all(is_free)
        };
        self.x_ticks = match self.panel.x.names() {
            Some(names) => Ticks::of_names(&self.x, names),
            None => fitting(&self.x, |ticks| fits(ticks, if self.x.is_log { 1500 } else { 2800 })),
        };
        self.is_turned = self.panel.x.names().is_some() && !fits(&self.x_ticks, 0);
        let most = if self.is_turned { 9000.0 } else { f64::INFINITY };
        self.x_names = parsed(&self.x_ticks).iter().map(|name| setter.wrap(name, TICK_SIZE, most)).collect();
        self.x_width = widest(setter, self.x_names.iter().flatten(), TICK_SIZE);
        self.overhang =
            self.x_ticks.major.iter().zip(&self.x_names).fold((0, 0), |(left, right), (tick, name)| {
                let own = f64::from(widest(setter, name, TICK_SIZE));
                let (before, after) =
                    if self.is_turned { (own * 0.79, 300.0) } else { (own / 2.0, own / 2.0) };
                let at = tick.fraction * f64::from(width);
                (left.max((before - at) as i32), right.max((at + after - f64::from(width)) as i32))
            });
        let x_label = with_common(&self.panel.x.label, &self.x_ticks.common);
        self.x_label = setter.wrap(&x_label, LABEL_SIZE, f64::from(width) * 1.1);
        self.title = setter.wrap(&Label::parse(&self.panel.title), TITLE_SIZE, f64::from(width));
    }

    /// Space needed on the left.
    pub(super) fn left(&self) -> i32 {
        let names = if self.shows_y { self.y_width + AIR } else { 0 };
        let label = if self.shows_y { block(&self.y_label, LABEL_LINE, 500) } else { 0 };
        (MAJOR + names + label).max(self.overhang.0)
    }

    /// Space needed on the right.
    pub(super) fn right(&self) -> i32 {
        if self.shows_x { self.overhang.1.max(0) } else { 0 }
    }

    /// Space needed above.
    pub(super) fn top(&self) -> i32 {
        block(&self.title, TITLE_LINE, 250).max(350)
    }

    /// Space needed below.
    pub(super) fn bottom(&self) -> i32 {
        if !self.shows_x {
            return MAJOR;
        }
        self.names_height() + block(&self.x_label, LABEL_LINE, 330)
    }

    /// Distance from the axis to the lower end of its labels.
    fn names_height(&self) -> i32 {
        let lines = self.x_names.iter().map(Vec::len).max().unwrap_or(0) as i32;
        if self.is_turned {
            let down = (f64::from(self.x_width) * 0.62) as i32;
            return MAJOR + AIR + down + 500 + TICK_LINE * 8 / 10 * (lines - 1);
        }
        MAJOR + AIR + TICK_LINE * lines
    }

    /// Draws the grid, under the data.
    pub(super) fn draw_grid(&self, canvas: &mut Canvas, plot: &Plot) {
        let pen = Pen::thin(Color::GRID, 50);
        let Rect { left, top, .. } = plot.rect;
        let (right, bottom) = (plot.rect.right(), plot.rect.bottom());
        canvas.open("grid");
        if self.panel.x.names().is_none() {
            for tick in &self.x_ticks.major {
                let x = plot.across(tick.fraction);
                canvas.stroke(&[(x, bottom), (x, top)], &pen);
            }
        }
        // Categories are separated by lines between them, because several series share one category.
        let step = if self.panel.y.names().is_some() { 1.0 / self.y.span() } else { 0.0 };
        let lines = self.y_ticks.major.iter().map(|tick| tick.fraction - step / 2.0);
        for fraction in lines.filter(|fraction| is_on_axis(*fraction) && (step == 0.0 || *fraction > 1e-9)) {
            let y = plot.down(fraction);
            canvas.stroke(&[(left, y), (right, y)], &pen);
        }
        canvas.close();
    }

    /// Draws everything except the grid, over the data.
    pub(super) fn draw(&self, canvas: &mut Canvas, plot: &Plot) {
        canvas.open("axes");
        self.draw_lines(canvas, plot);
        if self.shows_x {
            self.write_x(canvas, plot);
        }
        if self.shows_y {
            self.write_y(canvas, plot);
        }
        let (middle, _) = plot.rect.middle();
        for (at, line) in (1..).zip(self.title.iter().rev()) {
            let baseline = plot.rect.top - 330 - (at - 1) * TITLE_LINE;
            canvas.text((middle, baseline), line, &Type::new(TITLE_SIZE, Anchor::Middle));
        }
        canvas.close();
    }

    fn draw_lines(&self, canvas: &mut Canvas, plot: &Plot) {
        let Rect { left, top, .. } = plot.rect;
        let (right, bottom) = (plot.rect.right(), plot.rect.bottom());
        let pen = |width| Pen::thin(Color::BLACK, width);
        canvas.stroke(&[(left, top), (left, bottom), (right, bottom)], &pen(AXIS_WIDTH));
        let majors =
            |ticks: &Ticks| ticks.major.iter().map(|tick| (tick.fraction, MAJOR)).collect::<Vec<_>>();
        let minors =
            |ticks: &Ticks| ticks.minor.iter().map(|fraction| (*fraction, MINOR)).collect::<Vec<_>>();
        for (fraction, length) in [majors(&self.x_ticks), minors(&self.x_ticks)].concat() {
            let x = plot.across(fraction);
            canvas.stroke(
                &[(x, bottom), (x, bottom + length)],
                &pen(if length == MAJOR { AXIS_WIDTH } else { 45 }),
            );
        }
        for (fraction, length) in [majors(&self.y_ticks), minors(&self.y_ticks)].concat() {
            let y = plot.down(fraction);
            canvas.stroke(
                &[(left, y), (left - length, y)],
                &pen(if length == MAJOR { AXIS_WIDTH } else { 45 }),
            );
        }
    }

    fn write_x(&self, canvas: &mut Canvas, plot: &Plot) {
        let bottom = plot.rect.bottom();
        for (tick, name) in self.x_ticks.major.iter().zip(&self.x_names) {
            let x = plot.across(tick.fraction);
            for (at, line) in (0..).zip(name) {
                let below = bottom + MAJOR + AIR;
                if self.is_turned {
                    let kind = Type { turn: TURN, ..Type::new(TICK_SIZE, Anchor::End) };
                    let place = (x + 250 + at * TICK_LINE * 6 / 10, below + 350 + at * TICK_LINE * 8 / 10);
                    canvas.text(place, line, &kind);
                } else {
                    let baseline = below + (0.86 * TICK_SIZE) as i32 + at * TICK_LINE;
                    canvas.text((x, baseline), line, &Type::new(TICK_SIZE, Anchor::Middle));
                }
            }
        }
        let (middle, _) = plot.rect.middle();
        for (at, line) in (0..).zip(&self.x_label) {
            let baseline = bottom + self.names_height() + 330 + (0.8 * LABEL_SIZE) as i32 + at * LABEL_LINE;
            canvas.text((middle, baseline), line, &Type::new(LABEL_SIZE, Anchor::Middle));
        }
    }

    fn write_y(&self, canvas: &mut Canvas, plot: &Plot) {
        let left = plot.rect.left;
        for (tick, name) in self.y_ticks.major.iter().zip(&self.y_names) {
            let middle = plot.down(tick.fraction) + (0.36 * TICK_SIZE) as i32;
            let first = middle - TICK_LINE * (name.len() as i32 - 1) / 2;
            for (at, line) in (0..).zip(name) {
                canvas.text(
                    (left - MAJOR - AIR, first + at * TICK_LINE),
                    line,
                    &Type::new(TICK_SIZE, Anchor::End),
                );
            }
        }
        let (_, middle) = plot.rect.middle();
        let kind = Type { turn: -90, ..Type::new(LABEL_SIZE, Anchor::Middle) };
        for (at, line) in (0..).zip(self.y_label.iter().rev()) {
            let baseline =
                left - MAJOR - AIR - self.y_width - 500 - at * LABEL_LINE - (0.1 * LABEL_SIZE) as i32;
            canvas.text((baseline, middle), line, &kind);
        }
    }
}

/// Ticks of a numerical scale with as many labels as fit without overlap; `fits` returns true if they do.
fn fitting(scale: &Scale, fits: impl Fn(&Ticks) -> bool) -> Ticks {
    let of = if scale.is_log { log_ticks::of } else { linear_ticks::of };
    let mut last = Ticks::default();
    for most in (2..=9).rev() {
        last = of(scale, most);
        if fits(&last) {
            break;
        }
    }
    last
}

/// Returns true if adjacent labels of a vertical axis do not overlap.
fn is_apart(ticks: &Ticks, length: i32, least: i32) -> bool {
    let step = |pair: &[Tick]| (pair[1].fraction - pair[0].fraction) * f64::from(length);
    ticks.major.windows(2).all(|pair| step(pair) >= f64::from(least))
}

fn widest<'a>(setter: &Typesetter, lines: impl IntoIterator<Item = &'a Label>, size: f64) -> i32 {
    lines.into_iter().map(|line| setter.width(line, size).ceil() as i32).max().unwrap_or(0)
}

/// Height of a block of lines with the space before it; 0 if all lines are empty.
fn block(lines: &[Label], line: i32, air: i32) -> i32 {
    if lines.iter().all(Label::is_empty) { 0 } else { air + line * lines.len() as i32 }
}

fn with_common(label: &str, common: &str) -> Label {
    Label::parse(&match (label.trim().is_empty(), common.is_empty()) {
        (_, true) => label.to_string(),
        (true, false) => common.to_string(),
        (false, false) => format!("{label} ({common})"),
    })
}
