//! Page of a figure: title, legend, rows of panels, caption.

use super::canvas::{Canvas, Type};
use super::drawing::Drawing;
use super::error::DrawError;
use super::extent;
use super::figure::Figure;
use super::label::Label;
use super::layer::Anchor;
use super::layout::{Layout, MARGIN};
use super::legend::{self, Block, Entry};
use super::mark::{self, Mark};
use super::note::Note;
use super::panel::{Legend, Panel, Place};
use super::placing;
use super::plot::Plot;
use super::style::Color;
use super::typesetter::Typesetter;

const TITLE_SIZE: f64 = 860.0;
const TITLE_LINE: i32 = 1200;
const CAPTION_SIZE: f64 = 580.0;
const CAPTION_LINE: i32 = 800;
/// Number of notes that the caption states in full.
const MOST_NOTES: usize = 2;

/// Marks of one panel, for each layer in order.
type Ink = Vec<Vec<Mark>>;

impl Figure {
    /// Draws the figure. A pure function: equal figures give equal bytes.
    ///
    /// # Errors
    /// If columns have unequal lengths, or a range or a size of the page is invalid; never because of values.
    pub fn draw(&self) -> Result<Drawing, DrawError> {
        self.check()?;
        Ok(draw(self))
    }
}

/// Draws a figure that has been checked.
fn draw(figure: &Figure) -> Drawing {
    let setter = Typesetter::new();
    let scales = extent::scales(figure);
    let width = (figure.width_mm * Canvas::UNITS_PER_MM).round() as i32;
    let mut canvas = Canvas::new(width);
    let top = draw_head(figure, &setter, &mut canvas, width);

    let mut below: Vec<bool> = figure.panels.iter().map(|panel| panel.legend == Legend::Below).collect();
    let (mut layout, mut ink, mut notes, mut places);
    loop {
        layout = Layout::of(figure, &setter, &scales, &below, top);
        (ink, notes) = inked(figure, &layout.plots);
        places = Vec::new();
        for (panel, (plot, ink)) in figure.panels.iter().zip(layout.plots.iter().zip(&ink)) {
            places.push(place(figure, panel, &setter, plot, ink));
        }
        // A legend without a free position goes below the plot; this moves the rows and changes the size of no plot.
        let lost = |index: &usize| matches!(places[*index], Found::Nowhere) && !below[*index];
        let lost: Vec<usize> = (0..below.len()).filter(lost).collect();
        if lost.is_empty() {
            break;
        }
        lost.into_iter().for_each(|index| below[index] = true);
    }

    for (index, (frame, plot)) in layout.frames.iter().zip(&layout.plots).enumerate() {
        canvas.open("panel");
        frame.draw_grid(&mut canvas, plot);
        draw_layers(&figure.panels[index], &ink[index], plot, &mut canvas);
        frame.draw(&mut canvas, plot);
        if let Found::Here(block, at) = &places[index] {
            block.draw(&mut canvas, *at);
        }
        if let Some((block, at)) = &layout.below[index] {
            block.draw(&mut canvas, *at);
        }
        canvas.close();
    }
    let height = draw_foot(figure, &notes, &setter, &mut canvas, layout.bottom, layout.width);
    Drawing { svg: canvas.finish(height), notes }
}

/// Draws title and shared legend; returns their lower end.
fn draw_head(figure: &Figure, setter: &Typesetter, canvas: &mut Canvas, width: i32) -> i32 {
    let room = f64::from(width - 2 * MARGIN);
    let mut y = MARGIN;
    let title = Label::parse(&figure.title);
    if !title.is_empty() {
        canvas.open("title");
        for line in setter.wrap(&title, TITLE_SIZE, room) {
            canvas.text(
                (width / 2, y + (0.85 * TITLE_SIZE) as i32),
                &line,
                &Type::new(TITLE_SIZE, Anchor::Middle),
            );
            y += TITLE_LINE;
        }
        canvas.close();
    }
    if shares_legend(figure) {
        let entries = legend::entries(figure.panels.iter().flat_map(|panel| &panel.layers));
        if !entries.is_empty() {
            let block = Block::flowing(setter, &entries, width - 2 * MARGIN);
            block.draw(canvas, ((width - block.width) / 2, y));
            y += block.height + 300;
        }
    }
    y
}

/// Returns true if one legend serves all panels: on request, or if the legends of several panels would be equal.
fn shares_legend(figure: &Figure) -> bool {
    let is_repeated = || {
        let mut legends = figure.panels.iter().map(|panel| legend::entries(&panel.layers));
        let first = legends.next().unwrap_or_default();
        let like = |other: Vec<Entry>| {
            other.len() == first.len() && other.iter().zip(&first).all(|(a, b)| a.is_like(b))
        };
        figure.panels.len() > 1 && legends.all(like)
    };
    figure.shares_legend || (figure.panels.iter().all(|panel| panel.legend == Legend::Auto) && is_repeated())
}

/// Marks and notes of every panel.
fn inked(figure: &Figure, plots: &[Plot]) -> (Vec<Ink>, Vec<Note>) {
    let mut notes = Vec::new();
    let mut ink = Vec::new();
    for (index, (panel, plot)) in figure.panels.iter().zip(plots).enumerate() {
        let layers = panel.layers.iter().map(|layer| {
            let (marks, missing) = mark::of_layer(layer, plot, index);
            notes.extend(missing);
            marks
        });
        ink.push(layers.collect());
    }
    (ink, notes)
}

/// Position of a panel's legend in its plot.
enum Found {
    Here(Block, (i32, i32)),
    Nowhere,
    NotWanted,
}

fn place(figure: &Figure, panel: &Panel, setter: &Typesetter, plot: &Plot, ink: &Ink) -> Found {
    if shares_legend(figure) || matches!(panel.legend, Legend::Hidden | Legend::Below) {
        return Found::NotWanted;
    }
    let entries = legend::entries(&panel.layers);
    if entries.is_empty() {
        return Found::NotWanted;
    }
    let block = Block::upright(setter, &entries, plot.rect.width * 6 / 10);
    let here = |place: Place| {
        let rect = place.rect(&plot.rect, block.width, block.height);
        Found::Here(block.clone(), (rect.left, rect.top))
    };
    match panel.legend {
        Legend::At(place) => here(place),
        _ => placing::best(&plot.rect, block.width, block.height, &ink.concat()).map_or(Found::Nowhere, here),
    }
}

fn draw_layers(panel: &Panel, ink: &Ink, plot: &Plot, canvas: &mut Canvas) {
    for (layer, marks) in panel.layers.iter().zip(ink) {
        canvas.open(layer.kind());
        marks.iter().for_each(|mark| mark.draw(canvas));
        canvas.close();
    }
    if ink.iter().all(Vec::is_empty) {
        let kind = Type { color: Color::GREY, ..Type::new(CAPTION_SIZE, Anchor::Middle) };
        canvas.text(plot.rect.middle(), &Label::parse("*nothing to draw*"), &kind);
    }
}

/// Draws caption and notes; returns the height of the page.
fn draw_foot(
    figure: &Figure,
    notes: &[Note],
    setter: &Typesetter,
    canvas: &mut Canvas,
    top: i32,
    width: i32,
) -> i32 {
    let text = format!("{} {}", figure.caption.trim(), missing(notes));
    let label = Label::parse(text.trim());
    let mut y = top;
    if !label.is_empty() {
        y += 500;
        canvas.open("caption");
        for line in setter.wrap(&label, CAPTION_SIZE, f64::from(width - 2 * MARGIN)) {
            let kind = Type { color: Color::GREY, ..Type::new(CAPTION_SIZE, Anchor::Start) };
            canvas.text((MARGIN, y + (0.8 * CAPTION_SIZE) as i32), &line, &kind);
            y += CAPTION_LINE;
        }
        canvas.close();
    }
    y + MARGIN
}

/// Notes of all panels as one sentence. Layers of one name in a panel are one series, such as a line with its markers, and
/// miss the same values; counts of different panels are added.
fn missing(notes: &[Note]) -> String {
    let mut series: Vec<Note> = Vec::new();
    for note in notes {
        let is_same = |known: &&mut Note| Note { count: note.count, ..(*known).clone() } == *note;
        match series.iter_mut().find(is_same) {
            Some(known) => known.count = known.count.max(note.count),
            None => series.push(note.clone()),
        }
    }
    let mut merged: Vec<Note> = Vec::new();
    for note in series {
        match merged.iter_mut().find(|known| known.layer == note.layer && known.reason == note.reason) {
            Some(known) => known.count += note.count,
            None => merged.push(note),
        }
    }
    if merged.is_empty() {
        return String::new();
    }
    // A reason common to several series is stated once, with the total count.
    let mut reasons: Vec<Vec<Note>> = Vec::new();
    for note in merged {
        match reasons.iter_mut().find(|known| known[0].reason == note.reason) {
            Some(known) => known.push(note),
            None => reasons.push(vec![note]),
        }
    }
    let told = |notes: &Vec<Note>| match notes.len() {
        ..=MOST_NOTES => notes.iter().map(Note::to_string).collect::<Vec<_>>().join("; "),
        many => {
            let count = notes.iter().map(|note| note.count).sum();
            Note { count, layer: format!("{many} series"), ..notes[0].clone() }.to_string()
        }
    };
    format!("Not drawn: {}.", reasons.iter().map(told).collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::Reason;

    #[test]
    fn the_caption_counts_a_series_once_and_adds_up_panels() {
        let note = |panel, count| Note { panel, layer: "JSA".into(), reason: Reason::Outside, count };
        assert_eq!(missing(&[note(0, 2), note(0, 3), note(1, 4)]), "Not drawn: 7 outside the axes (JSA).");
        assert_eq!(missing(&[]), "");
        let many: Vec<Note> = (0..9).map(|at| Note { layer: at.to_string(), ..note(0, 1) }).collect();
        assert_eq!(missing(&many), "Not drawn: 9 outside the axes (9 series).");
    }
}
