//! Separation of Rust source into code and comments.

/// Two copies of a source with unchanged lines and columns: `code` has comments blanked out, `comments` has code blanked out.
/// Contents of string and character literals are blanked in both, so that a rule that looks for a word in code does not find
/// it in a message or a fixture.
pub(super) struct Code {
    pub(super) code: String,
    pub(super) comments: String,
}

impl Code {
    pub(super) fn of(text: &str) -> Self {
        let mut reader =
            Reader { text: text.chars().collect(), at: 0, code: String::new(), comments: String::new() };
        while let Some(c) = reader.peek(0) {
            match (c, reader.peek(1)) {
                ('/', Some('/')) => reader.comment_until_end_of_line(),
                ('/', Some('*')) => reader.block_comment(),
                ('"', _) => reader.string(),
                ('\'', _) => reader.quote(),
                _ if c.is_alphabetic() || c == '_' => reader.word(),
                _ => reader.code(1),
            }
        }
        Self { code: reader.code, comments: reader.comments }
    }

    /// The code without items under `#[cfg(test)]`.
    pub(super) fn outside_tests(&self) -> String {
        const MARK: &str = "#[cfg(test)]";
        let mut rest = self.code.as_str();
        let mut kept = String::new();
        while let Some(at) = rest.find(MARK) {
            kept += &rest[..at];
            let end = at + MARK.len() + item_length(&rest[at + MARK.len()..]);
            kept.extend(rest[at..end].chars().map(blank));
            rest = &rest[end..];
        }
        kept + rest
    }
}

/// Length in bytes of the first item: up to and including its `;`, or the brace that closes its first block.
fn item_length(code: &str) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 1 => depth -= 1,
            '}' => return at + 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

fn blank(c: char) -> char {
    if c == '\n' { c } else { ' ' }
}

struct Reader {
    text: Vec<char>,
    at: usize,
    code: String,
    comments: String,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn code(&mut self, count: usize) {
        self.advance(count, true, false);
    }

    fn hidden(&mut self, count: usize) {
        self.advance(count, false, false);
    }

    fn advance(&mut self, count: usize, is_code: bool, is_comment: bool) {
        for _ in 0..count {
            let Some(c) = self.peek(0) else { return };
            self.code.push(if is_code { c } else { blank(c) });
            self.comments.push(if is_comment { c } else { blank(c) });
            self.at += 1;
        }
    }

    fn comment_until_end_of_line(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.advance(1, false, true);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        loop {
            match (self.peek(0), self.peek(1)) {
                (None, _) => return,
                (Some('/'), Some('*')) => depth += 1,
                (Some('*'), Some('/')) => depth -= 1,
                _ => {
                    self.advance(1, false, true);
                    continue;
                }
            }
            self.advance(2, false, true);
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.hidden(1);
        while let Some(c) = self.peek(0) {
            self.hidden(if c == '\\' { 2 } else { 1 });
            if c == '"' {
                return;
            }
        }
    }

    /// Reads a character literal, or the tick of a lifetime.
    fn quote(&mut self) {
        match (self.peek(1), self.peek(2)) {
            (Some('\\'), _) => {
                self.hidden(3);
                while self.peek(0).is_some_and(|c| c != '\'') {
                    self.hidden(1);
                }
                self.hidden(1);
            }
            (Some(_), Some('\'')) => self.hidden(3),
            _ => self.code(1),
        }
    }

    /// Reads an identifier, with the raw string it may introduce: `r"..."`, `br#"..."#`.
    fn word(&mut self) {
        let start = self.at;
        while self.peek(0).is_some_and(|c| c.is_alphanumeric() || c == '_') {
            self.code(1);
        }
        let word: String = self.text[start..self.at].iter().collect();
        let hashes = (0..).take_while(|ahead| self.peek(*ahead) == Some('#')).count();
        if matches!(word.as_str(), "r" | "br" | "cr") && self.peek(hashes) == Some('"') {
            self.hidden(hashes + 1);
            while let Some(c) = self.peek(0) {
                let closes = c == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#'));
                self.hidden(1);
                if closes {
                    self.hidden(hashes);
                    return;
                }
            }
        }
    }
}

/// Byte positions at which `word` occurs in `line` as a whole identifier.
pub(super) fn word_positions<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| !line[..*at].ends_with(part) && !line[at + word.len()..].starts_with(part))
}

pub(super) fn has_word(line: &str, word: &str) -> bool {
    word_positions(line, word).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_in_neither_copy() {
        for literal in [r#""hidden""#, r#""a \" hidden""#, "r\"hidden\"", "br#\"hidden \" \"#", "b\"hidden\""]
        {
            let Code { code, comments } = Code::of(&format!("before({literal}).after()"));
            assert!(code.starts_with("before(") && code.ends_with(").after()"), "{literal}: {code}");
            assert!(!code.contains("hidden") && comments.trim().is_empty(), "{literal}");
        }
    }

    #[test]
    fn ticks_are_characters_or_lifetimes() {
        let code = Code::of(r"fn f<'a>(x: &'a str) { g('\'', '{', '\u{7b}', '\\', x) }").code;
        assert!(code.contains("<'a>(x: &'a str)") && code.ends_with(", x) }"));
        assert_eq!(code.matches('{').count(), 1);
    }

    #[test]
    fn comments_are_kept_apart() {
        let Code { code, comments } = Code::of("a /* x /* y */ z */ b // \"c\nd");
        assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a", "b", "d"]);
        assert_eq!(comments.trim_end().trim_start(), "/* x /* y */ z */   // \"c");
        assert_eq!(code.lines().count(), comments.lines().count());
    }

    #[test]
    fn items_for_tests_are_left_out() {
        let text = "one\n#[cfg(test)]\nmod tests {\n fn f() { '{'; }\n}\ntwo\n#[cfg(test)]\nuse three;\nfour";
        let kept = Code::of(text).outside_tests();
        assert_eq!(kept.split_whitespace().collect::<Vec<_>>(), ["one", "two", "four"]);
        assert_eq!(kept.lines().count(), text.lines().count());
    }

    #[test]
    fn a_word_is_not_a_part_of_another() {
        assert!(has_word("pub fn f()", "fn"));
        assert!(!has_word("let fn_ = my_fn;", "fn"));
    }
}
