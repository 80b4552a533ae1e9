//! Conversion of plain-text formulas to HTML.

use crate::report::escape;

/// Words in formulas, with the signs that replace them.
const SIGNS: [(&str, &str); 13] = [
    ("<=", "\u{2264}"),
    (">=", "\u{2265}"),
    ("||", "\u{2225}"),
    ("(x)", "\u{2297}"),
    ("...", "\u{2026}"),
    ("sum", "\u{2211}"),
    ("prod", "\u{220f}"),
    ("int", "\u{222b}"),
    ("grad", "\u{2207}"),
    ("sqrt", "\u{221a}"),
    ("lambda", "\u{3bb}"),
    ("sigma", "\u{3c3}"),
    ("inf", "\u{221e}"),
];

/// Greek letters whose names are also endings of other words.
const LETTERS: [(&str, &str); 5] =
    [("chi", "\u{3c7}"), ("mu", "\u{3bc}"), ("eta", "\u{3b7}"), ("eps", "\u{3b5}"), ("gamma", "\u{3b3}")];

/// Converts a formula such as `x_i^2 <= sum_{j} y_j`, with sub- and superscripts and signs.
pub(super) fn typeset(formula: &str) -> String {
    let mut html = String::new();
    let mut rest = formula;
    while let Some(first) = rest.chars().next() {
        let after_word = html.ends_with(|c: char| c.is_alphabetic());
        let sign = SIGNS.iter().chain(&LETTERS).find(|(word, _)| {
            let is_word = word.starts_with(char::is_alphabetic);
            let after = rest.strip_prefix(word);
            after.is_some_and(|rest| !is_word || !(after_word || rest.starts_with(char::is_alphabetic)))
        });
        if let Some((word, sign)) = sign {
            html += sign;
            rest = &rest[word.len()..];
        } else if first == '^' || first == '_' {
            let tag = if first == '^' { "sup" } else { "sub" };
            let (script, after) = script(&rest[1..]);
            html += &format!("<{tag}>{}</{tag}>", typeset(script));
            rest = after;
        } else {
            html += &escape(&first.to_string());
            rest = &rest[first.len_utf8()..];
        }
    }
    html
}

/// Operand of a `^` or `_` without its brackets, and the remaining text.
fn script(rest: &str) -> (&str, &str) {
    let pair = match rest.chars().next() {
        Some('(') => Some(('(', ')')),
        Some('{') => Some(('{', '}')),
        _ => None,
    };
    if let Some((open, close)) = pair {
        let mut depth = 0;
        for (at, c) in rest.char_indices() {
            depth += i32::from(c == open) - i32::from(c == close);
            if depth == 0 {
                return (&rest[1..at], &rest[at + 1..]);
            }
        }
    }
    let sign = usize::from(rest.starts_with('-'));
    let end = rest[sign..].find(|c: char| !c.is_alphanumeric()).map_or(rest.len(), |end| sign + end);
    rest.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_signs() {
        assert_eq!(typeset("w*^2 <= chi_N^2"), "w*<sup>2</sup> \u{2264} \u{3c7}<sub>N</sub><sup>2</sup>");
        assert_eq!(typeset("r^(n-1)"), "r<sup>n-1</sup>");
        assert_eq!(typeset("E_{K(z)} s"), "E<sub>K(z)</sub> s");
        assert_eq!(typeset("beta < n^-2"), "beta &lt; n<sup>-2</sup>");
    }

    #[test]
    fn an_open_bracket_is_no_panic() {
        assert_eq!(typeset("x^("), "x<sup></sup>(");
        assert_eq!(typeset("x_"), "x<sub></sub>");
    }
}
