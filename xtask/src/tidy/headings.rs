//! Headings of documentation that are nouns.

use super::finding::Finding;

/// Words that open a riddle: the reader has to go on to learn the noun.
const OPENERS: [&str; 9] = ["What", "Who", "Where", "How", "Of", "Whether", "When", "Why", "Which"];

/// The first line of a module's documentation, and of an item's, opens with the noun that the field uses.
pub(super) fn open_with_a_noun(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut before = "";
    for (number, line) in (1..).zip(text.lines().map(str::trim_start)) {
        let heading = ["//! ", "/// "].iter().find_map(|mark| {
            let is_first = !before.starts_with(mark.trim_end());
            line.strip_prefix(mark).filter(|_| is_first)
        });
        before = line;
        let Some(opener) = heading.and_then(|heading| heading.split_whitespace().next()) else { continue };
        if OPENERS.contains(&opener) {
            let advice = format!("`{opener} ..` is a riddle: open with the noun that the field uses");
            findings.push(Finding::new(path, number, "heading", advice));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn riddles_are_found_in_first_lines() {
        let text =
            "//! What moves by itself.\n//!\n//! Fine.\n\n/// How far.\n/// What follows.\nfn f() {}\n";
        let found: Vec<usize> = open_with_a_noun("a.rs", text).iter().map(|finding| finding.line).collect();
        assert_eq!(found, [1, 5]);
    }

    #[test]
    fn nouns_and_later_lines_pass() {
        let text = "//! Split R-hat.\n//! What it measures: mixing.\n\n    /// Whitened target.\n    /// How it is done.\nfn f() {}\n";
        assert!(open_with_a_noun("a.rs", text).is_empty());
    }
}
