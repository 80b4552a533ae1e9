//! Labels: markup (italics, superscripts, subscripts), widths and line breaking.

use std::cell::RefCell;
use std::collections::HashMap;

use resvg::usvg;

use super::drawing::{FAMILY, options};

/// Vertical position of a run relative to the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// A character with its style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Glyph {
    c: char,
    pub(super) italic: bool,
    pub(super) level: Level,
}

/// Characters of one style as text of XML.
pub(super) fn xml(run: &[Glyph]) -> String {
    let text: String = run.iter().map(|glyph| glyph.c).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A line of text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Label(Vec<Glyph>);

impl Label {
    /// Parses `*italic*`, `x^{super}`, `x_{sub}` and `\*`; invalid markup is kept as plain text.
    pub(super) fn parse(text: &str) -> Self {
        let chars: Vec<char> = text.chars().map(printable).collect();
        let mut glyphs = Vec::new();
        let (mut italic, mut level, mut at) = (false, Level::Base, 0);
        while let Some(&c) = chars.get(at) {
            let next = chars.get(at + 1).copied();
            match (c, next) {
                ('\\', Some(escaped)) if "\\*^_{}".contains(escaped) => {
                    glyphs.push(Glyph { c: escaped, italic, level });
                    at += 1;
                }
                ('*', _) if italic || opens(&chars[at + 1..]) => italic = !italic,
                ('^' | '_', Some('{')) if level == Level::Base && chars[at..].contains(&'}') => {
                    level = if c == '^' { Level::Super } else { Level::Sub };
                    at += 1;
                }
                ('}', _) if level != Level::Base => level = Level::Base,
                _ => glyphs.push(Glyph { c, italic, level }),
            }
            at += 1;
        }
        Self(glyphs)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|glyph| glyph.c.is_whitespace())
    }

    /// Characters of one style at a time.
    pub(super) fn runs(&self) -> impl Iterator<Item = &[Glyph]> {
        self.0.chunk_by(|a, b| (a.italic, a.level) == (b.italic, b.level))
    }
}

/// Returns true if the first star opens italics: a character must follow it, and a closing star must follow a character.
fn opens(rest: &[char]) -> bool {
    let escaped = |at: usize| at > 0 && rest[at - 1] == '\\';
    rest.first().is_some_and(|c| !c.is_whitespace() && *c != '*')
        && (1..rest.len()).any(|at| rest[at] == '*' && !escaped(at) && !rest[at - 1].is_whitespace())
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
        label.runs().map(|run| self.ems(run) * size * run[0].level.scale()).sum()
    }

    pub(super) fn widest<'l>(&self, lines: impl IntoIterator<Item = &'l Label>, size: f64) -> i32 {
        lines.into_iter().map(|line| self.width(line, size).ceil() as i32).max().unwrap_or(0)
    }

    fn ems(&self, run: &[Glyph]) -> f64 {
        let key = (xml(run), run[0].italic);
        if let Some(known) = self.ems.borrow().get(&key) {
            return *known;
        }
        let ems = self.measure(&key.0, key.1).unwrap_or(0.6 * run.len() as f64);
        self.ems.borrow_mut().insert(key, ems);
        ems
    }

    /// Width in ems of a text; `None` if the engine renders no text, as for spaces alone.
    fn measure(&self, text: &str, italic: bool) -> Option<f64> {
        const EM: f64 = 100.0;
        let style = if italic { "italic" } else { "normal" };
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
        let (mut lines, mut line) = (Vec::new(), Label::default());
        // Each word has its leading space, which the first of a line loses.
        for word in label.0.chunk_by(|_, next| next.c != ' ') {
            let bare = &word[word.iter().take_while(|glyph| glyph.c == ' ').count()..];
            let longer = Label(if line.0.is_empty() { bare.into() } else { [&line.0, word].concat() });
            if line.is_empty() || self.width(&longer, size) <= most {
                line = longer;
            } else {
                lines.push(std::mem::replace(&mut line, Label(bare.into())));
            }
            while self.width(&line, size) > most && line.0.len() > 1 {
                // The longest beginning that fits, at least one character.
                let counts: Vec<usize> = (2..line.0.len()).collect();
                let is_short = |count: &usize| self.width(&Label(line.0[..*count].into()), size) <= most;
                let rest = line.0.split_off(1 + counts.partition_point(is_short));
                lines.push(std::mem::replace(&mut line, Label(rest)));
            }
        }
        lines.push(line);
        lines
    }
}

fn find_text(group: &usvg::Group) -> Option<&usvg::Text> {
    group.children().iter().find_map(|node| match node {
        usvg::Node::Text(text) => Some(&**text),
        usvg::Node::Group(group) => find_text(group),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spell(text: &str) -> String {
        let spell = |run: &[Glyph]| match (run[0].italic, run[0].level) {
            (false, Level::Base) => xml(run),
            (true, Level::Base) => format!("<i>{}</i>", xml(run)),
            (_, level) => format!("<{level:?}>{}</>", xml(run)),
        };
        Label::parse(text).runs().map(spell).collect()
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
            let letters =
                |label: &Label| label.0.iter().filter(|glyph| glyph.c != ' ').copied().collect::<Vec<_>>();
            assert_eq!(lines.iter().flat_map(letters).collect::<Vec<_>>(), letters(&label));
            let fits = |line: &Label| setter.width(line, 10.0) <= most || line.0.len() == 1;
            assert!(lines.iter().all(fits), "{most}");
        }
    }
}
