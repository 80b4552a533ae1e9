//! Text widths and line breaking.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;

use resvg::usvg;

use super::font::{self, FAMILY};
use super::label::{Label, Run};

/// Measures text with the engine and the fonts that rasterise it, so that layout and drawing agree.
pub(super) struct Typesetter {
    options: usvg::Options<'static>,
    /// Width in ems of a run, by text and slant.
    ems: RefCell<HashMap<(String, bool), f64>>,
}

impl Typesetter {
    pub(super) fn new() -> Self {
        Self { options: font::options(), ems: RefCell::default() }
    }

    /// Width of a line in units, at a font size in units.
    pub(super) fn width(&self, label: &Label, size: f64) -> f64 {
        label.runs.iter().map(|run| self.ems(run) * size * run.level.scale()).sum()
    }

    fn ems(&self, run: &Run) -> f64 {
        let key = (run.text.clone(), run.italic);
        if let Some(known) = self.ems.borrow().get(&key) {
            return *known;
        }
        let ems = self.measure(run).unwrap_or(0.6 * run.text.chars().count() as f64);
        self.ems.borrow_mut().insert(key, ems);
        ems
    }

    /// Width in ems of a run; `None` if the engine renders no text, as for spaces alone.
    fn measure(&self, run: &Run) -> Option<f64> {
        const EM: f64 = 100.0;
        let style = if run.italic { "italic" } else { "normal" };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"><text font-family=\"{FAMILY}\" \
             font-style=\"{style}\" font-size=\"{EM}\" xml:space=\"preserve\">"
        );
        // A bar on either side keeps leading and trailing spaces; its width is subtracted below.
        let _ = write!(svg, "|");
        run.write_xml(&mut svg);
        let _ = write!(svg, "|</text></svg>");
        let tree = usvg::Tree::from_str(&svg, &self.options).ok()?;
        let text = find_text(tree.root())?;
        const STOP: f64 = 0.336_914_062_5; // the advance of `|`, upright and oblique
        Some((f64::from(text.bounding_box().width()) / EM - 2.0 * STOP).max(0.0))
    }

    /// Breaks a label into lines no wider than `most`: at spaces, or inside a word that is wider itself.
    pub(super) fn wrap(&self, label: &Label, size: f64, most: f64) -> Vec<Label> {
        if self.width(label, size) <= most {
            return vec![label.clone()];
        }
        let mut lines: Vec<Label> = Vec::new();
        let mut line = Label::default();
        for word in words(label) {
            if line.is_empty() || self.width(&joined(&line, &word), size) <= most {
                line = joined(&line, &word);
            } else {
                lines.push(std::mem::replace(&mut line, joined(&Label::default(), &word)));
            }
            while self.width(&line, size) > most {
                let Some((head, tail)) = self.cut(&line, size, most) else { break };
                lines.push(head);
                line = tail;
            }
        }
        lines.push(line);
        lines
    }

    /// The longest beginning of a line that fits, at least one character, and the rest; `None` if there is no rest.
    fn cut(&self, line: &Label, size: f64, most: f64) -> Option<(Label, Label)> {
        let chars: Vec<_> = line.chars().collect();
        let part = |from: usize, to: usize| {
            let mut part = Label::default();
            chars[from..to].iter().for_each(|(c, italic, level)| part.push(*c, *italic, *level));
            part
        };
        let (mut fits, mut fails) = (1, chars.len());
        while fits + 1 < fails {
            let middle = fits.midpoint(fails);
            if self.width(&part(0, middle), size) <= most { fits = middle } else { fails = middle }
        }
        (fits < chars.len()).then(|| (part(0, fits), part(fits, chars.len())))
    }
}

fn find_text(group: &usvg::Group) -> Option<&usvg::Text> {
    group.children().iter().find_map(|node| match node {
        usvg::Node::Text(text) => Some(&**text),
        usvg::Node::Group(group) => find_text(group),
        _ => None,
    })
}

/// The words of a label, each with its leading space.
fn words(label: &Label) -> Vec<Label> {
    let mut words = vec![Label::default()];
    for (c, italic, level) in label.chars() {
        if c == ' ' {
            words.push(Label::default());
        }
        if let Some(word) = words.last_mut() {
            word.push(c, italic, level);
        }
    }
    words
}

/// A word appended to a line; leading spaces of a line are dropped.
fn joined(line: &Label, word: &Label) -> Label {
    let mut joined = line.clone();
    let at_start = line.runs.is_empty();
    let kept = word.chars().skip_while(|(c, ..)| at_start && *c == ' ');
    kept.for_each(|(c, italic, level)| joined.push(c, italic, level));
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_font() {
        let setter = Typesetter::new();
        let width = |text: &str| setter.width(&Label::parse(text), 2048.0);
        // Advances in DejaVu Sans: m 1995, i 569, space 651, of 2048.
        for (text, advance) in [("m", 1995.0), ("i", 569.0), (" ", 651.0), ("mi m", 5210.0), ("", 0.0)] {
            assert!((width(text) - advance).abs() < 1.0, "{text}: {}", width(text));
        }
        assert!((width("^{m}") - 0.7 * 1995.0).abs() < 1.0);
        assert!((width("x*m*") - width("x") - width("*m*")).abs() < 1e-9);
    }

    #[test]
    fn lines_fit_and_lose_nothing() {
        let setter = Typesetter::new();
        let text = "median of 100 *replicates*, bands from the 10^{th} percentile, Donaudampfschifffahrtsgesellschaft";
        let label = Label::parse(text);
        for most in [3.0, 30.0, 60.0, 200.0] {
            let lines = setter.wrap(&label, 10.0, most);
            let letters = |label: &Label| label.chars().filter(|(c, ..)| *c != ' ').collect::<Vec<_>>();
            assert_eq!(lines.iter().flat_map(letters).collect::<Vec<_>>(), letters(&label));
            let fits = |line: &Label| setter.width(line, 10.0) <= most || line.chars().count() == 1;
            assert!(lines.iter().all(fits), "{most}");
        }
    }
}
