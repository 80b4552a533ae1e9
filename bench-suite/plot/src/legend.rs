//! Legends: entries, and blocks of entries.

use super::canvas::{Anchor, Canvas, Pen, Type};
use super::clip::Point;
use super::label::{Label, Typesetter};
use super::layer::{Layer, Shape};
use super::pencil::{BAND, BOX, draw_glyph, units};
use super::style::{Dash, Style};

const SIZE: f64 = 680.0;
const LINE: i32 = 1020;
const SWATCH: i32 = 1400;
const GAP: i32 = 420;
const BETWEEN: i32 = 1300;

/// One name with its style.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) style: Style,
    has_line: bool,
    has_band: bool,
    has_box: bool,
    has_glyph: bool,
}

impl Entry {
    /// Draws the sample of the style. Strokes are a little thicker than in the plot, so that a short piece shows its colour.
    fn draw_swatch(&self, canvas: &mut Canvas, (x, middle): Point) {
        let style = self.style;
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
            let pen = Pen { width: 70, dash: Dash::Solid, ..pen };
            canvas.stroke(&[&corners[..], &corners[..1]].concat(), &pen);
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
            let (name, style) = (name.into(), layer.style);
            entries.push(Entry { name, style, has_line, has_band, has_box, has_glyph });
            entries.len() - 1
        });
        let entry = &mut entries[at];
        match layer.shape {
            Shape::Line(_) | Shape::Rule { .. } => entry.has_line = true,
            Shape::Band(_) => entry.has_band = true,
            Shape::Boxes(_) | Shape::Bar { .. } => entry.has_box = true,
            Shape::Points(_) => entry.has_glyph = true,
            Shape::Intervals { .. } => {
                (entry.has_glyph, entry.has_line, entry.style.dash) = (true, true, Dash::Solid);
            }
        }
    }
    entries
}

/// Entries laid out in columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Block {
    items: Vec<(Point, Entry, Vec<Label>)>,
    pub(super) width: i32,
    pub(super) height: i32,
}

impl Block {
    /// Entries in as many columns as fit into `most`.
    pub(super) fn of(setter: &Typesetter, entries: &[Entry], most: i32) -> Self {
        let blocks =
            (1..=entries.len()).rev().map(|columns| Self::in_columns(setter, entries, columns, most));
        let mut last = Self::default();
        for block in blocks {
            last = block;
            if last.width <= most {
                break;
            }
        }
        last
    }

    fn in_columns(setter: &Typesetter, entries: &[Entry], columns: usize, most: i32) -> Self {
        let beside = SWATCH + GAP;
        let room = f64::from((most - beside).max(1000));
        let lines: Vec<Vec<Label>> =
            entries.iter().map(|entry| setter.wrap(&Label::parse(&entry.name), SIZE, room)).collect();
        let wide = |lines: &Vec<Label>| setter.widest(lines, SIZE);
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

    /// Draws the block in the middle of the space from `left` that is `room` wide.
    pub(super) fn draw(&self, canvas: &mut Canvas, (left, top): Point, room: i32) {
        if self.items.is_empty() {
            return;
        }
        let left = left + (room - self.width) / 2;
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
            Layer::band([]).named("a"),
            Layer::line([]).named("a"),
            Layer::points([]).named("b"),
            Layer::line([]),
        ];
        let entries = entries(&layers);
        assert_eq!(entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!(entries[0].has_line && entries[0].has_band && !entries[0].has_glyph);
    }

    #[test]
    fn a_block_fits_and_keeps_every_entry() {
        let setter = Typesetter::new();
        let layers: Vec<Layer> = (0..9).map(|at| Layer::line([]).named(format!("series {at}"))).collect();
        let entries = entries(&layers);
        for (most, height) in [(5_000, 9), (12_000, 5), (24_000, 3), (90_000, 1)] {
            let block = Block::of(&setter, &entries, most);
            assert!(block.width <= most && block.items.len() == 9, "{most}: {block:?}");
            assert_eq!(block.height, height * LINE, "{most}");
        }
    }
}
