//! Legends: entries, and blocks of entries.

use super::canvas::{Canvas, Pen, Type};
use super::clip::Point;
use super::label::Label;
use super::layer::{Anchor, Layer, Shape};
use super::mark::{BAND, BOX, draw_glyph, units};
use super::style::{Dash, Style};
use super::typesetter::Typesetter;

const SIZE: f64 = 680.0;
const LINE: i32 = 1020;
const SWATCH: i32 = 1400;
const GAP: i32 = 420;
const BETWEEN: i32 = 1300;

/// One name with its style.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    name: String,
    style: Style,
    has_line: bool,
    has_band: bool,
    has_box: bool,
    has_glyph: bool,
}

impl Entry {
    /// Returns true if two entries look the same.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.name == other.name && self.style == other.style
    }

    fn add(&mut self, layer: &Layer) {
        match layer.shape {
            Shape::Line { .. } | Shape::Rule { .. } => self.has_line = true,
            Shape::Band { .. } => self.has_band = true,
            Shape::Boxes { .. } | Shape::Bars { .. } => self.has_box = true,
            Shape::Points { .. } => self.has_glyph = true,
            Shape::Intervals { .. } => {
                self.has_glyph = true;
                self.has_line = true;
                self.style.dash = Dash::Solid;
            }
            Shape::Text { .. } => {}
        }
    }

    /// Draws the sample of the style. Strokes are a little thicker than in the plot, so that a short piece shows its colour.
    fn draw_swatch(&self, canvas: &mut Canvas, (x, middle): Point) {
        let style = self.style.tamed();
        let pen = Pen {
            color: style.color,
            opacity: style.opacity.max(0.6),
            width: units(style.width * 1.25),
            dash: style.dash,
            unit: swatch_unit(style.dash, style.width * 100.0),
        };
        let side = |half: i32| {
            [(x, middle - half), (x + SWATCH, middle - half), (x + SWATCH, middle + half), (x, middle + half)]
        };
        if self.has_band && !self.has_line {
            canvas.fill(&side(300), style.color, BAND * 1.5);
        }
        if self.has_box {
            let corners = side(270);
            canvas.fill(&corners, style.color, BOX);
            canvas.stroke(
                &[&corners[..], &corners[..1]].concat(),
                &Pen { width: 70, dash: Dash::Solid, ..pen },
            );
        } else if self.has_line {
            canvas.stroke(&[(x, middle), (x + SWATCH, middle)], &pen);
        }
        if self.has_glyph {
            let style = Style { opacity: style.opacity.max(0.6), size: style.size.max(3.2), ..style };
            draw_glyph(canvas, (x + SWATCH / 2, middle), &style);
        }
    }
}

/// Dash unit nearest to `unit` for which the sample begins and ends with a stroke.
fn swatch_unit(dash: Dash, unit: f64) -> f64 {
    let pattern = dash.pattern();
    let (period, gap) = (pattern.iter().sum::<f64>(), pattern.last().copied().unwrap_or(0.0));
    let swatch = f64::from(SWATCH);
    let periods = ((swatch / unit + gap) / period).round().max(1.0);
    swatch / (periods * period - gap)
}

/// Entries of some layers in order of appearance, one per name.
pub(super) fn entries<'a>(layers: impl IntoIterator<Item = &'a Layer>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for layer in layers {
        let Some(name) = layer.name.as_deref().filter(|name| !Label::parse(name).is_empty()) else {
            continue;
        };
        let at = entries.iter().position(|entry| entry.name == name).unwrap_or_else(|| {
            let [has_line, has_band, has_box, has_glyph] = [false; 4];
            entries.push(Entry {
                name: name.into(),
                style: layer.style,
                has_line,
                has_band,
                has_box,
                has_glyph,
            });
            entries.len() - 1
        });
        entries[at].add(layer);
    }
    entries
}

/// Entries laid out in columns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Block {
    items: Vec<(Point, Entry, Vec<Label>)>,
    pub(super) width: i32,
    pub(super) height: i32,
}

impl Block {
    /// Entries in one column, no wider than `most`.
    pub(super) fn upright(setter: &Typesetter, entries: &[Entry], most: i32) -> Self {
        Self::in_columns(setter, entries, 1, most)
    }

    /// Entries in as many columns as fit into `most`.
    pub(super) fn flowing(setter: &Typesetter, entries: &[Entry], most: i32) -> Self {
        let blocks =
            (1..=entries.len()).rev().map(|columns| Self::in_columns(setter, entries, columns, most));
        let mut last = Self { items: Vec::new(), width: 0, height: 0 };
        for block in blocks {
            if block.width <= most {
                return block;
            }
            last = block;
        }
        last
    }

    fn in_columns(setter: &Typesetter, entries: &[Entry], columns: usize, most: i32) -> Self {
        let beside = SWATCH + GAP;
        let lines: Vec<Vec<Label>> = entries
            .iter()
            .map(|entry| setter.wrap(&Label::parse(&entry.name), SIZE, f64::from((most - beside).max(1000))))
            .collect();
        let wide = |lines: &Vec<Label>| {
            lines.iter().map(|line| setter.width(line, SIZE).ceil() as i32).max().unwrap_or(0)
        };
        let widths: Vec<i32> = (0..columns)
            .map(|column| beside + lines.iter().skip(column).step_by(columns).map(wide).max().unwrap_or(0))
            .collect();
        let (mut items, mut y) = (Vec::new(), 0);
        for (row, names) in entries.chunks(columns).zip(lines.chunks(columns)) {
            let mut x = 0;
            for ((entry, lines), width) in row.iter().zip(names).zip(&widths) {
                items.push(((x, y), entry.clone(), lines.clone()));
                x += width + BETWEEN;
            }
            y += LINE * names.iter().map(Vec::len).max().unwrap_or(1) as i32;
        }
        let width = widths.iter().sum::<i32>() + BETWEEN * (columns as i32 - 1);
        Self { items, width, height: y }
    }

    /// Draws the block with its upper left corner at a point.
    pub(super) fn draw(&self, canvas: &mut Canvas, (left, top): Point) {
        if self.items.is_empty() {
            return;
        }
        canvas.open("legend");
        for ((x, y), entry, lines) in &self.items {
            let (x, middle) = (left + x, top + y + LINE / 2);
            entry.draw_swatch(canvas, (x, middle));
            for (at, line) in (0..).zip(lines) {
                let baseline = middle + (0.355 * SIZE) as i32 + at * LINE;
                canvas.text((x + SWATCH + GAP, baseline), line, &Type::new(SIZE, Anchor::Start));
            }
        }
        canvas.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_of_one_name_share_an_entry() {
        let layers = [
            Layer::band([], [], []).named("a"),
            Layer::line([], []).named("a"),
            Layer::points([], []).named("b"),
            Layer::line([], []),
        ];
        let entries = entries(&layers);
        assert_eq!(entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!(entries[0].has_line && entries[0].has_band && !entries[0].has_glyph);
    }

    #[test]
    fn a_flowing_block_fits_and_keeps_every_entry() {
        let setter = Typesetter::new();
        let layers: Vec<Layer> = (0..9).map(|at| Layer::line([], []).named(format!("series {at}"))).collect();
        let entries = entries(&layers);
        for most in [5_000, 12_000, 24_000, 48_000] {
            let block = Block::flowing(&setter, &entries, most);
            assert!(block.width <= most && block.items.len() == 9, "{most}: {block:?}");
        }
        let (narrow, wide) =
            (Block::upright(&setter, &entries, 9_000), Block::flowing(&setter, &entries, 90_000));
        assert!(narrow.height == 9 * LINE && wide.height == LINE);
    }
}
