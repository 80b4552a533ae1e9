//! Page of a figure: title, legend, rows of panels, caption.

use std::collections::BTreeMap;

use super::canvas::{Anchor, Canvas, Type};
use super::drawing::{Drawing, Missing};
use super::figure::{DrawError, Figure, Panel};
use super::frame::{Frame, Plot, Rect};
use super::label::{Label, Typesetter};
use super::layer::Shape;
use super::legend::{Block, Entry, entries};
use super::pencil::Pencil;
use super::scale;
use super::style::Color;

const TITLE_SIZE: f64 = 860.0;
const TITLE_LINE: i32 = 1200;
const CAPTION_SIZE: f64 = 580.0;
const CAPTION_LINE: i32 = 800;
/// Margin of the page, and space between columns and between rows.
const MARGIN: i32 = 200;
const BETWEEN_COLUMNS: i32 = 1200;
const BETWEEN_ROWS: i32 = 500;
/// Default height of a plot divided by the width of its cell.
const ASPECT: f64 = 0.56;

impl Figure {
    /// Draws the figure. A pure function: equal figures give equal bytes.
    ///
    /// # Errors
    /// If a range or a size of the page is invalid; never because of values.
    pub fn draw(&self) -> Result<Drawing, DrawError> {
        self.check()?;
        let width = (self.width_mm * Canvas::UNITS_PER_MM).round() as i32;
        let (canvas, setter) = (Canvas::new(width), Typesetter::new());
        let mut page = Page { figure: self, setter, canvas, width, y: MARGIN, missing: BTreeMap::new() };
        let legends = page.head();
        page.rows(&legends);
        let missing =
            page.missing.values().fold(Missing::default(), |all, some| all.joined(*some, |a, b| a + b));
        page.foot(missing);
        let Page { canvas, y, .. } = page;
        Ok(Drawing { svg: canvas.finish(y + MARGIN), missing })
    }
}

/// A page that is drawn from top to bottom.
struct Page<'a> {
    figure: &'a Figure,
    setter: Typesetter,
    canvas: Canvas,
    width: i32,
    /// Lower end of what is drawn.
    y: i32,
    /// Missing values of each series, by panel and name.
    missing: BTreeMap<(usize, String), Missing>,
}

impl<'a> Page<'a> {
    /// Draws text below what is drawn, its first baseline `down` below, if it is not empty.
    fn text(&mut self, class: &str, text: &str, (down, line): (i32, i32), x: i32, kind: &Type) {
        let label = Label::parse(text);
        if label.is_empty() {
            return;
        }
        let lines = self.setter.wrap(&label, kind.size, f64::from(self.width - 2 * MARGIN));
        self.canvas.open(class);
        self.canvas.lines((x, self.y + down), line, &lines, kind);
        self.canvas.close();
        self.y += line * lines.len() as i32;
    }

    /// Draws the title, and the legend if it is common to all panels; returns the legends of single panels otherwise.
    fn head(&mut self) -> Vec<Vec<Entry>> {
        let Figure { title, panels, shares_legend, .. } = self.figure;
        let down = (0.85 * TITLE_SIZE) as i32;
        let kind = Type::new(TITLE_SIZE, Anchor::Middle);
        self.text("title", title, (down, TITLE_LINE), self.width / 2, &kind);
        let legends: Vec<Vec<Entry>> = panels.iter().map(|panel| entries(&panel.layers)).collect();
        let look = |legend: &[Entry]| -> Vec<_> {
            legend.iter().map(|entry| (entry.name.clone(), entry.style)).collect()
        };
        let is_common = legends.windows(2).all(|pair| look(&pair[0]) == look(&pair[1]));
        if !(*shares_legend || is_common) {
            return legends;
        }
        let room = self.width - 2 * MARGIN;
        let all = entries(panels.iter().flat_map(|panel| &panel.layers));
        let block = Block::of(&self.setter, &all, room);
        block.draw(&mut self.canvas, (MARGIN, self.y), room);
        if !all.is_empty() {
            self.y += block.height + 300;
        }
        vec![Vec::new(); legends.len()]
    }

    /// Draws the panels. Heights of plots are computed first, because they determine the vertical ticks and thereby the left
    /// margin; then the widths, which determine the horizontal ticks and the space below.
    fn rows(&mut self, legends: &[Vec<Entry>]) {
        let (figure, width) = (self.figure, self.width);
        let columns = figure.columns.min(figure.panels.len());
        let cell = width / columns as i32;
        let height =
            |row: &[Panel]| row.iter().map(|panel| self.wish(panel, cell)).max().unwrap_or(0).max(2000);
        let heights: Vec<i32> = figure.panels.chunks(columns).map(height).collect();
        let frame = |((index, panel), scales): ((usize, &'a Panel), _)| {
            let (height, most) = (heights[index / columns], width * 36 / 100 / columns as i32);
            let mut frame = Frame::new(panel, scales, &self.setter, height, most);
            frame.shows_x = !figure.shares_x || index + columns >= figure.panels.len();
            // Names of categories stand for one panel's rows alone, unless the panel to the left has the same.
            frame.shows_y = !figure.shares_y
                || index.is_multiple_of(columns)
                || figure.panels[index - 1].y.names() != panel.y.names();
            frame
        };
        let mut frames: Vec<Frame<'_>> =
            figure.panels.iter().enumerate().zip(scale::scales(figure)).map(frame).collect();
        let (lefts, plot_width) = self.across(&mut frames, columns);
        for (row, frames) in frames.chunks(columns).enumerate() {
            let most = |side: &dyn Fn(&Frame<'_>) -> i32| frames.iter().map(side).max().unwrap_or(0);
            let (top, height) = (self.y + most(&|frame| frame.top()), heights[row]);
            let foot = top + height + most(&|frame| frame.bottom());
            self.y = foot;
            for ((column, frame), left) in frames.iter().enumerate().zip(&lefts) {
                let index = row * columns + column;
                let rect = Rect { left: *left, top, width: plot_width, height };
                self.panel(index, frame, &Plot { rect, x: frame.x, y: frame.y });
                let block = Block::of(&self.setter, &legends[index], plot_width);
                block.draw(&mut self.canvas, (*left, foot + 400), plot_width);
                self.canvas.close();
                if !legends[index].is_empty() {
                    self.y = self.y.max(foot + 400 + block.height);
                }
            }
            self.y += if (row + 1) * columns < figure.panels.len() { BETWEEN_ROWS } else { 0 };
        }
    }

    /// Height of a plot for a panel by itself.
    fn wish(&self, panel: &Panel, cell: i32) -> i32 {
        match (self.figure.aspect, panel.y.names()) {
            (None, Some(names)) => {
                let is_interval =
                    |shape: &Shape| matches!(shape, Shape::Intervals { .. } | Shape::Boxes { .. });
                let series = panel.layers.iter().filter(|layer| is_interval(&layer.shape)).count();
                1350.max(480 * series.min(40) as i32) * names.len().clamp(2, 1000) as i32
            }
            (aspect, _) => (aspect.unwrap_or(ASPECT) * f64::from(cell)) as i32,
        }
    }

    /// Left sides of the plots in each column, and the common width of all plots.
    fn across(&self, frames: &mut [Frame<'_>], columns: usize) -> (Vec<i32>, i32) {
        let mut plot_width = self.width / columns as i32;
        let mut lefts = Vec::new();
        // Margins determine the width, and the width the ticks, on which margins depend.
        for _ in 0..3 {
            let most = |column: usize, side: &dyn Fn(&Frame<'_>) -> i32| {
                frames.iter().skip(column).step_by(columns).map(side).max().unwrap_or(0)
            };
            let margins: Vec<(i32, i32)> = (0..columns)
                .map(|column| (most(column, &|frame| frame.left()), most(column, &|frame| frame.right())))
                .collect();
            let gaps = 2 * MARGIN + BETWEEN_COLUMNS * (columns as i32 - 1);
            let taken = gaps + margins.iter().map(|(left, right)| left + right).sum::<i32>();
            plot_width = ((self.width - taken) / columns as i32).max(1500);
            lefts.clear();
            let mut x = MARGIN;
            for (left, right) in margins {
                lefts.push(x + left);
                x += left + plot_width + right + BETWEEN_COLUMNS;
            }
            frames.iter_mut().for_each(|frame| frame.lay_across(&self.setter, plot_width));
        }
        (lefts, plot_width)
    }

    /// Opens the group of a panel and draws its frame and layers.
    fn panel(&mut self, index: usize, frame: &Frame<'_>, plot: &Plot) {
        let canvas = &mut self.canvas;
        canvas.open("panel");
        frame.draw_grid(canvas, plot);
        let mut is_blank = true;
        for layer in &self.figure.panels[index].layers {
            canvas.open(layer.kind());
            let Pencil { missing, is_blank: is_without, .. } = Pencil::draw(layer, plot, canvas);
            is_blank &= is_without;
            let known = self.missing.entry((index, layer.title())).or_default();
            *known = known.joined(missing, usize::max);
            canvas.close();
        }
        if is_blank {
            let kind = Type { color: Color::GREY, ..Type::new(CAPTION_SIZE, Anchor::Middle) };
            canvas.text(plot.rect.middle(), &Label::parse("*nothing to draw*"), &kind);
        }
        frame.draw(canvas, plot);
    }

    /// Draws the caption with the counts of missing values.
    fn foot(&mut self, missing: Missing) {
        let missing = match missing == Missing::default() {
            true => String::new(),
            false => format!("Not drawn: {missing}."),
        };
        let text = format!("{} {missing}", self.figure.caption.trim());
        let kind = Type { color: Color::GREY, ..Type::new(CAPTION_SIZE, Anchor::Start) };
        self.y += if text.trim().is_empty() { 0 } else { 500 };
        self.text("caption", text.trim(), ((0.8 * CAPTION_SIZE) as i32, CAPTION_LINE), MARGIN, &kind);
    }
}
