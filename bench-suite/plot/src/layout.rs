//! Positions of all parts of a figure.

use super::canvas::Canvas;
use super::figure::Figure;
use super::frame::Frame;
use super::layer::Shape;
use super::legend::{self, Block};
use super::panel::Panel;
use super::plot::{Plot, Rect};
use super::scale::Scale;
use super::typesetter::Typesetter;

/// Margin of the page, and space between columns and between rows.
pub(super) const MARGIN: i32 = 200;
const BETWEEN_COLUMNS: i32 = 1200;
const BETWEEN_ROWS: i32 = 500;
/// Default height of a plot divided by the width of its cell.
const ASPECT: f64 = 0.56;

/// Layout of a figure: frame and rectangle of each plot, and legends below plots.
pub(super) struct Layout<'a> {
    pub(super) width: i32,
    pub(super) frames: Vec<Frame<'a>>,
    pub(super) plots: Vec<Plot>,
    /// Legends below their plots, with their upper left corners.
    pub(super) below: Vec<Option<(Block, (i32, i32))>>,
    /// Lower end of the rows.
    pub(super) bottom: i32,
}

impl<'a> Layout<'a> {
    /// Lays out a figure whose rows begin at `top`; `below` marks the panels with a legend below.
    ///
    /// Heights of plots are computed first, because they determine the vertical ticks and thereby the left margin; then the
    /// widths, which determine the horizontal ticks and the space below.
    pub(super) fn of(
        figure: &'a Figure,
        setter: &Typesetter,
        scales: &[(Scale, Scale)],
        below: &[bool],
        top: i32,
    ) -> Self {
        let width = (figure.width_mm * Canvas::UNITS_PER_MM).round() as i32;
        let columns = figure.columns.min(figure.panels.len());
        let heights = heights(figure, width / columns as i32, columns);
        let mut frames = frames(figure, setter, scales, &heights, width, columns);
        let (lefts, plot_width) = across(&mut frames, setter, width, columns);
        let mut layout = Self { width, frames, plots: Vec::new(), below: Vec::new(), bottom: top };
        for (row, height) in heights.into_iter().enumerate() {
            layout.add_row(figure, setter, below, row * columns, height, &lefts, plot_width);
        }
        layout
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "each is one measure of the row, and a struct would only rename them"
    )]
    fn add_row(
        &mut self,
        figure: &Figure,
        setter: &Typesetter,
        below: &[bool],
        first: usize,
        height: i32,
        lefts: &[i32],
        width: i32,
    ) {
        let last = (first + lefts.len()).min(figure.panels.len());
        let row = &self.frames[first..last];
        let top = self.bottom + row.iter().map(Frame::top).max().unwrap_or(0);
        let foot = top + height + row.iter().map(Frame::bottom).max().unwrap_or(0);
        let mut bottom = foot;
        for (index, left) in (first..last).zip(lefts) {
            let frame = &self.frames[index];
            let rect = Rect { left: *left, top, width, height };
            self.plots.push(Plot { rect, x: frame.x, y: frame.y });
            let entries = legend::entries(&figure.panels[index].layers);
            let block = below[index].then(|| Block::flowing(setter, &entries, width));
            self.below.push(block.map(|block| {
                let at = (left + (width - block.width) / 2, foot + 400);
                bottom = bottom.max(at.1 + block.height);
                (block, at)
            }));
        }
        self.bottom = bottom + if last < figure.panels.len() { BETWEEN_ROWS } else { 0 };
    }
}

/// Height of the plots in each row.
fn heights(figure: &Figure, cell: i32, columns: usize) -> Vec<i32> {
    let wish = |panel: &Panel| match (figure.aspect, panel.y.names()) {
        (Some(aspect), _) => (aspect * f64::from(cell)) as i32,
        (None, Some(names)) => {
            let is_interval = |shape: &Shape| matches!(shape, Shape::Intervals { .. } | Shape::Boxes { .. });
            let series = panel.layers.iter().filter(|layer| is_interval(&layer.shape)).count();
            let room = 1350.max(480 * i32::try_from(series).unwrap_or(1).min(40));
            room * i32::try_from(names.len()).unwrap_or(1).clamp(2, 1000)
        }
        (None, None) => (ASPECT * f64::from(cell)) as i32,
    };
    let row = |row: &[Panel]| row.iter().map(wish).max().unwrap_or(0).max(2000);
    figure.panels.chunks(columns).map(row).collect()
}

fn frames<'a>(
    figure: &'a Figure,
    setter: &Typesetter,
    scales: &[(Scale, Scale)],
    heights: &[i32],
    width: i32,
    columns: usize,
) -> Vec<Frame<'a>> {
    let most = width * 36 / 100 / columns as i32;
    let frame = |(index, panel): (usize, &'a Panel)| {
        let height = heights[index / columns];
        let is_lowest = index + columns >= figure.panels.len();
        let is_first = index.is_multiple_of(columns);
        let mut frame = Frame::new(panel, scales[index], setter, height, most);
        frame.shows_x = !figure.shares_x || is_lowest;
        frame.shows_y = !figure.shares_y || is_first;
        frame
    };
    figure.panels.iter().enumerate().map(frame).collect()
}

/// Left sides of the plots in each column, and the common width of all plots.
fn across(frames: &mut [Frame<'_>], setter: &Typesetter, width: i32, columns: usize) -> (Vec<i32>, i32) {
    let mut plot_width = width / columns as i32;
    let mut lefts = Vec::new();
    for _ in 0..3 {
        let most = |column: usize, side: &dyn Fn(&Frame<'_>) -> i32| {
            frames.iter().skip(column).step_by(columns).map(side).max().unwrap_or(0)
        };
        let left: Vec<i32> = (0..columns).map(|column| most(column, &|frame| frame.left())).collect();
        let right: Vec<i32> = (0..columns).map(|column| most(column, &|frame| frame.right())).collect();
        let gaps = 2 * MARGIN + BETWEEN_COLUMNS * (columns as i32 - 1);
        let taken = gaps + left.iter().sum::<i32>() + right.iter().sum::<i32>();
        plot_width = ((width - taken) / columns as i32).max(1500);
        lefts.clear();
        let mut x = MARGIN;
        for (left, right) in left.iter().zip(&right) {
            lefts.push(x + left);
            x += left + plot_width + right + BETWEEN_COLUMNS;
        }
        frames.iter_mut().for_each(|frame| frame.lay_across(setter, plot_width));
    }
    (lefts, plot_width)
}
