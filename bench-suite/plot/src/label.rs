//! Markup of labels: italics, superscripts, subscripts.

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
}
