//! Tokens of Rust source, without comments and tests.

/// Tokens of a source file that can change its results: words, punctuation marks and whole literals.
///
/// Comments, white space and items under `#[cfg(test)]` are left out, so that they do not change the fingerprint.
pub(crate) fn tokens(text: &str) -> Vec<&str> {
    without_tests(all(text))
}

/// Returns true if a token is an identifier or a keyword.
pub(crate) fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_') && !token.contains('"')
}

/// Content of a string literal without escapes; `None` for any other token.
pub(crate) fn literal(token: &str) -> Option<&str> {
    let inside = token.strip_prefix('"')?.strip_suffix('"')?;
    (!inside.contains('\\')).then_some(inside)
}

fn all(text: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return tokens };
        if let Some(comment) = comment(rest) {
            rest = &rest[comment..];
            continue;
        }
        let length = string(rest).or_else(|| quoted(rest)).unwrap_or_else(|| word(rest, first));
        tokens.push(&rest[..length]);
        rest = &rest[length..];
    }
}

/// Length of the comment at the beginning of a text.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let mut at = text.starts_with("/*").then_some(2)?;
    let mut depth = 1;
    while depth > 0 {
        let next = text[at..].find(['/', '*']).map(|found| at + found);
        let Some(next) = next else { return Some(text.len()) };
        (at, depth) = match text.get(next..next + 2) {
            Some("/*") => (next + 2, depth + 1),
            Some("*/") => (next + 2, depth - 1),
            _ => (next + 1, depth),
        };
    }
    Some(at)
}

/// Length of the string literal at the beginning of a text: `"a"`, `b"a"`, `c"a"`, `r#"a"#`, `br"a"`.
fn string(text: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r", "b", "c", ""].into_iter().find(|prefix| {
        let rest = text.strip_prefix(prefix).unwrap_or_default();
        let is_raw = prefix.ends_with('r');
        if is_raw { rest.trim_start_matches('#').starts_with('"') } else { rest.starts_with('"') }
    })?;
    let rest = &text[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = rest.find('"')?;
        let end = format!("\"{}", &rest[..hashes]);
        let length = rest[hashes + 1..].find(&end).map(|at| hashes + 1 + at + end.len());
        return Some(prefix.len() + length.unwrap_or(rest.len()));
    }
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '"' if !escaped => return Some(prefix.len() + at + 1),
            _ => escaped = c == '\\' && !escaped,
        }
    }
    Some(text.len())
}

/// Length of the character literal or lifetime at the beginning of a text.
fn quoted(text: &str) -> Option<usize> {
    let start = if text.starts_with("b'") { 1 } else { 0 };
    let rest = text[start..].strip_prefix('\'')?;
    let mut chars = rest.char_indices();
    let (_, first) = chars.next()?;
    if first == '\\' {
        let end = rest.char_indices().skip(2).find(|(_, c)| *c == '\'');
        return Some(end.map_or(text.len(), |(at, _)| start + 1 + at + 1));
    }
    match chars.next() {
        Some((at, '\'')) => Some(start + 1 + at + 1),
        _ => Some(start + 1 + word(rest, first)),
    }
}

/// Length of the word at the beginning of a text, or of its first punctuation mark.
fn word(text: &str, first: char) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    if is_part(first) { text.find(|c| !is_part(c)).unwrap_or(text.len()) } else { first.len_utf8() }
}

const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];

/// Items that are left out under `#[cfg(test)]`; anything else is kept.
const ITEMS: [&str; 13] = [
    "mod",
    "fn",
    "use",
    "impl",
    "struct",
    "enum",
    "const",
    "static",
    "type",
    "trait",
    "async",
    "extern",
    "macro_rules",
];

fn without_tests(tokens: Vec<&str>) -> Vec<&str> {
    let (mut kept, mut at) = (Vec::with_capacity(tokens.len()), 0);
    while at < tokens.len() {
        match tokens[at..].starts_with(&TEST).then(|| item(&tokens[at + TEST.len()..])).flatten() {
            Some(length) => at += TEST.len() + length,
            None => {
                kept.push(tokens[at]);
                at += 1;
            }
        }
    }
    kept
}

/// Number of tokens of the item at the beginning of `tokens`.
fn item(tokens: &[&str]) -> Option<usize> {
    let mut at = 0;
    while tokens[at..].starts_with(&["#", "["]) {
        at += 1 + group(&tokens[at + 1..]);
    }
    if tokens.get(at) == Some(&"pub") {
        at += 1;
        if tokens.get(at) == Some(&"(") {
            at += group(&tokens[at..]);
        }
    }
    tokens.get(at).filter(|first| ITEMS.contains(first))?;
    while let Some(token) = tokens.get(at) {
        match *token {
            ";" => return Some(at + 1),
            "{" => {
                at += group(&tokens[at..]);
                // A `use` with braces ends with its semicolon, after the brace.
                return Some(at + usize::from(tokens.get(at) == Some(&";")));
            }
            "(" | "[" => at += group(&tokens[at..]),
            _ => at += 1,
        }
    }
    Some(at)
}

/// Number of tokens from an opening bracket to the one that closes it.
pub(crate) fn group(tokens: &[&str]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth <= 1 => return at + 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}
