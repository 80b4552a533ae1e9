//! Writer of SVG elements.

use std::fmt::Write as _;

use plotters::coord::Shift;
use plotters::prelude::{
    Circle, Color as _, DrawingArea, IntoDrawingArea, PathElement, Polygon, RGBColor, SVGBackend, ShapeStyle,
};

use super::clip::Point;
use super::drawing::FAMILY;
use super::label::{Label, Level, xml};
use super::style::{Color, Dash};

/// Style of a line, lengths in units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pen {
    pub(super) color: Color,
    pub(super) opacity: f64,
    pub(super) width: i32,
    pub(super) dash: Dash,
    /// Unit of the dash lengths.
    pub(super) unit: f64,
}

impl Pen {
    pub(super) fn thin(color: Color, width: i32) -> Self {
        Self { color, opacity: 1.0, width, dash: Dash::Solid, unit: f64::from(width) }
    }
}

/// Alignment of a text relative to its position; its name is that of SVG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Style of a line of text, lengths in units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Type {
    pub(super) size: f64,
    pub(super) anchor: Anchor,
    pub(super) color: Color,
    /// True if the text reads upwards.
    pub(super) reads_upwards: bool,
}

impl Type {
    pub(super) fn new(size: f64, anchor: Anchor) -> Self {
        Self { size, anchor, color: Color::BLACK, reads_upwards: false }
    }
}

/// SVG document under construction. A unit is a hundredth of a point, so that whole numbers are precise enough for every
/// stroke.
#[derive(Debug)]
pub(super) struct Canvas {
    body: String,
    width: i32,
}

impl Canvas {
    /// Units per millimetre.
    pub(super) const UNITS_PER_MM: f64 = 7200.0 / 25.4;

    pub(super) fn new(width: i32) -> Self {
        Self { body: String::new(), width }
    }

    pub(super) fn open(&mut self, class: &str) {
        let _ = writeln!(self.body, "<g class=\"{class}\">");
    }

    pub(super) fn close(&mut self) {
        self.body.push_str("</g>\n");
    }

    pub(super) fn stroke(&mut self, points: &[Point], pen: &Pen) {
        let pattern = pen.dash.pattern();
        if !pattern.is_empty() {
            let lengths: Vec<String> =
                pattern.iter().map(|length| format!("{:.0}", length * pen.unit)).collect();
            let _ = writeln!(self.body, "<g stroke-dasharray=\"{}\">", lengths.join(" "));
        }
        let style = ink(pen.color, pen.opacity).stroke_width(pen.width.unsigned_abs());
        self.shape(|area| area.draw(&PathElement::new(points, style)).is_ok());
        if !pattern.is_empty() {
            self.close();
        }
    }

    pub(super) fn fill(&mut self, points: &[Point], color: Color, opacity: f64) {
        let style = ink(color, opacity).filled();
        self.shape(|area| area.draw(&Polygon::new(points, style)).is_ok());
    }

    pub(super) fn disc(&mut self, at: Point, radius: i32, color: Color, opacity: f64) {
        let style = ink(color, opacity).filled();
        self.shape(|area| area.draw(&Circle::new(at, radius, style)).is_ok());
    }

    /// Draws one element with plotters and extracts its line from the document that plotters writes.
    ///
    /// Writing to a string cannot fail; if it did, only this element would be missing.
    fn shape(&mut self, draw: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> bool) {
        /// Larger than any page: plotters moves points beyond the sheet to its border.
        const SHEET: (u32, u32) = (1 << 30, 1 << 30);
        let mut document = String::new();
        let area = SVGBackend::with_string(&mut document, SHEET).into_drawing_area();
        let is_drawn = draw(&area);
        drop(area);
        let inside = document.split_once('\n').and_then(|(_, rest)| rest.rsplit_once("</svg>"));
        if let Some((element, _)) = inside.filter(|_| is_drawn) {
            self.body.push_str(element);
        }
    }

    pub(super) fn text(&mut self, (x, y): Point, label: &Label, kind: &Type) {
        if label.is_empty() {
            return;
        }
        let size = kind.size;
        let (anchor, color) = (format!("{:?}", kind.anchor).to_lowercase(), kind.color.hex());
        let _ = write!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size:.0}\" text-anchor=\"{anchor}\" fill=\"{color}\""
        );
        if kind.reads_upwards {
            let _ = write!(self.body, " transform=\"rotate(-90 {x} {y})\"");
        }
        self.body.push_str(" xml:space=\"preserve\">");
        let mut level = Level::Base;
        for run in label.runs() {
            let drop = drop_of(run[0].level, size) - drop_of(level, size);
            level = run[0].level;
            self.body.push_str("<tspan");
            if drop != 0 {
                let _ = write!(self.body, " dy=\"{drop}\"");
            }
            if level != Level::Base {
                let _ = write!(self.body, " font-size=\"{:.0}\"", size * level.scale());
            }
            if run[0].italic {
                self.body.push_str(" font-style=\"italic\"");
            }
            let _ = write!(self.body, ">{}</tspan>", xml(run));
        }
        self.body.push_str("</text>\n");
    }

    /// Writes lines of text below each other, the first on a baseline at a point.
    pub(super) fn lines(&mut self, (x, y): Point, line: i32, lines: &[Label], kind: &Type) {
        (0..).zip(lines).for_each(|(at, label)| self.text((x, y + at * line), label, kind));
    }

    /// The complete document, `height` units high.
    pub(super) fn finish(self, height: i32) -> String {
        let Self { body, width } = self;
        let [wide, high] = [width, height].map(|units| f64::from(units) / Self::UNITS_PER_MM);
        let paper = Color::WHITE.hex();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide:.3}mm\" height=\"{high:.3}mm\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FAMILY}\" stroke-linejoin=\"round\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>\n{body}</svg>\n"
        )
    }
}

/// Distance of a sub- or superscript below the baseline, in units.
fn drop_of(level: Level, size: f64) -> i32 {
    let ems = match level {
        Level::Base => 0.0,
        Level::Super => -0.38,
        Level::Sub => 0.16,
    };
    (ems * size).round() as i32
}

fn ink(color: Color, opacity: f64) -> ShapeStyle {
    let Color(red, green, blue) = color;
    RGBColor(red, green, blue).mix((opacity * 1000.0).round() / 1000.0).into()
}
