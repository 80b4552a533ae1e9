//! Rule against words that only the author can understand, such as paths of one machine.

use super::finding::Finding;

/// Each forbidden word with the advice to print. Every word is concatenated from two halves so that this file does not
/// contain it.
const INSIDE: [(&str, &str); 8] = [
    (concat!("../sha", "red"), PLACE),
    (concat!("shared/", "spec"), PLACE),
    (concat!("/wo", "rk/"), PATH),
    (concat!("/ho", "me/"), PATH),
    (concat!("/ro", "ot/"), PATH),
    (concat!("/Us", "ers/"), PATH),
    (concat!("the is", "sue"), STORY),
    (concat!("this is", "sue"), STORY),
];
const PLACE: &str = "this folder is not part of the project; say the thing itself or cite a reference";
const PATH: &str = "a path of one machine; write it relative to the root";
const STORY: &str = "say what is true and why, not the story of the change";

/// Finds the forbidden words. An occurrence inside a longer word, path or address does not count.
pub(super) fn no_inside_words(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for (word, advice) in INSIDE.iter().filter(|(word, _)| stands_in(line, word)) {
            findings.push(Finding::new(path, number, "inside-word", format!("`{word}`: {advice}")));
        }
    }
    findings
}

fn stands_in(line: &str, word: &str) -> bool {
    let line = line.to_lowercase();
    let word = word.to_lowercase();
    let before = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '~' | '}');
    line.match_indices(&word).any(|(at, _)| {
        let longer_before = line[..at].ends_with(before);
        let longer_after =
            word.ends_with(char::is_alphabetic) && line[at + word.len()..].starts_with(char::is_alphanumeric);
        !longer_before && !longer_after
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_inside_word_is_found() {
        for (word, _) in INSIDE {
            let line = format!("fine\nas said in {word}, see there\n");
            let findings = no_inside_words("README.md", &line);
            assert_eq!(findings.len(), 1, "{word}");
            assert_eq!(findings[0].line, 2);
        }
        let capital = concat!("The is", "sue asks for it");
        assert_eq!(no_inside_words("README.md", capital).len(), 1);
    }

    #[test]
    fn ordinary_text_passes() {
        let address = format!("https://example.org{}index.html", INSIDE[3].0);
        let relative = format!("bench-suite{}x", INSIDE[2].0);
        let longer = format!("{}d shares", INSIDE[6].0);
        for good in [address.as_str(), &relative, &longer, "shared memory, issue tracking systems"] {
            assert!(no_inside_words("README.md", good).is_empty(), "{good}");
        }
    }
}
