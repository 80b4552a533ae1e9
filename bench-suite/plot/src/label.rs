//! Labels: markup (italics, superscripts, subscripts), widths and line breaking.

use std::cell::RefCell;
use std::collections::HashMap;

use resvg::usvg;

use super::drawing::{FAMILY, options};

/// Vertical position of a run relative to the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Level {
    Base,
    Super,
    Sub,
}

impl Level {
    /// Size relative to the line.
    pub(super) fn scale(self) -> f64 {
        if self == Self::Base { 1.0 } else { 0.7 }
    }
}

/// Characters in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) text: String,
    pub(super) italic: bool,
    pub(super) level: Level,
}

impl Run {
    /// Appends the text, escaped for XML.
    pub(super) fn write_xml(&self, xml: &mut String) {
        for c in self.text.chars() {
            match c {
                '&' => xml.push_str("&amp;"),
                '<' => xml.push_str("&lt;"),
                '>' => xml.push_str("&gt;"),
                '"' => xml.push_str("&quot;"),
                c => xml.push(c),
            }
        }
    }
}

/// A line of text: its runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) runs: Vec<Run>,
}

impl Label {
    /// Parses `*italic*`, `x^{super}`, `x_{sub}` and `\*`; invalid markup is kept as plain text.
    pub(super) fn parse(text: &str) -> Self {
        let chars: Vec<char> = text.chars().map(printable).collect();
        let mut label = Self::default();
        let (mut italic, mut level, mut at) = (false, Level::Base, 0);
        while let Some(&c) = chars.get(at) {
            let next = chars.get(at + 1).copied();
            match (c, next) {
                ('\\', Some(escaped)) if "\\*^_{}".contains(escaped) => {
                    label.push(escaped, italic, level);
                    at += 1;
                }
                ('*', _) if italic || opens(&chars[at + 1..]) => italic = !italic,
                ('^', Some('{')) if level == Level::Base && closes(&chars[at..]) => {
                    level = Level::Super;
                    at += 1;
                }
                ('_', Some('{')) if level == Level::Base && closes(&chars[at..]) => {
                    level = Level::Sub;
                    at += 1;
                }
                ('}', _) if level != Level::Base => level = Level::Base,
                _ => label.push(c, italic, level),
            }
            at += 1;
        }
        label
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.iter().all(|run| run.text.trim().is_empty())
    }

    pub(super) fn push(&mut self, c: char, italic: bool, level: Level) {
        match self.runs.last_mut() {
            Some(run) if run.italic == italic && run.level == level => run.text.push(c),
            _ => self.runs.push(Run { text: c.into(), italic, level }),
        }
    }

    /// Every character with its style.
    pub(super) fn chars(&self) -> impl Iterator<Item = (char, bool, Level)> + '_ {
        self.runs.iter().flat_map(|run| run.text.chars().map(|c| (c, run.italic, run.level)))
    }
}

/// Returns true if the first star opens italics: a character must follow it, and a closing star must follow a character.
fn opens(rest: &[char]) -> bool {
    let escaped = |at: usize| at > 0 && rest[at - 1] == '\\';
    rest.first().is_some_and(|c| !c.is_whitespace() && *c != '*')
        && (1..rest.len()).any(|at| rest[at] == '*' && !escaped(at) && !rest[at - 1].is_whitespace())
}

fn closes(rest: &[char]) -> bool {
    rest.contains(&'}')
}

/// Replaces characters that a line of XML text cannot hold.
fn printable(c: char) -> char {
    match c {
        '\n' | '\r' | '\t' => ' ',
        '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
        c if c.is_control() => '\u{FFFD}',
        c => c,
    }
}

/// Measures text with the engine and the fonts that rasterise it, so that layout and drawing agree.
pub(super) struct Typesetter {
    options: usvg::Options<'static>,
    /// Width in ems of a run, by text and slant.
    ems: RefCell<HashMap<(String, bool), f64>>,
}

impl Typesetter {
    pub(super) fn new() -> Self {
        Self { options: options(), ems: RefCell::default() }
    }

    /// Width of a line in units, at a font size in units.
    pub(super) fn width(&self, label: &Label, size: f64) -> f64 {
        label.runs.iter().map(|run| self.ems(run) * size * run.level.scale()).sum()
    }

    /// Width of the widest line.
    pub(super) fn widest<'l>(&self, lines: impl IntoIterator<Item = &'l Label>, size: f64) -> i32 {
        lines.into_iter().map(|line| self.width(line, size).ceil() as i32).max().unwrap_or(0)
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
        let mut text = String::new();
        run.write_xml(&mut text);
        // A bar on either side keeps leading and trailing spaces; its width is subtracted below.
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"><text font-family=\"{FAMILY}\" \
             font-style=\"{style}\" font-size=\"{EM}\" xml:space=\"preserve\">|{text}|</text></svg>"
        );
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

    fn spell(text: &str) -> String {
        let spell = |run: Run| match (run.italic, run.level) {
            (false, Level::Base) => run.text,
            (true, Level::Base) => format!("<i>{}</i>", run.text),
            (_, level) => format!("<{level:?}>{}</>", run.text),
        };
        Label::parse(text).runs.into_iter().map(spell).collect()
    }

    #[test]
    fn markup_is_read() {
        assert_eq!(spell("KL(*q* ∥ *p*)"), "KL(<i>q</i> ∥ <i>p</i>)");
        assert_eq!(spell("10^{−2} m_{ij}!"), "10<Super>−2</> m<Sub>ij</>!");
    }

    #[test]
    fn what_is_not_markup_stands() {
        for plain in ["a * b * c", "x_1 ^2", "lone*", "{a}", "**", "^{open", "\\n", "ends\\"] {
            assert_eq!(spell(plain), plain);
        }
        assert_eq!(spell("5\\*3 \\^{2}"), "5*3 ^{2}");
        assert_eq!(spell("a\nb\u{0}"), "a b\u{FFFD}");
    }

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
