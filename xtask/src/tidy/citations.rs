//! Check of citation keys: the key in a comment such as `(pMCSA, Alg. 1)` must be in the README.

use super::code::Code;
use super::finding::Finding;

/// Beginnings of a place in a paper. The word before the comma that precedes such a place is the key.
const PLACES: [&str; 12] = [
    "Alg. ", "App. ", "Def. ", "eq. ", "Eq. ", "Fig. ", "Lemma ", "Prop. ", "Sec. ", "Tab. ", "Theorem ",
    "Thm. ",
];

/// The keys of the section "References" of the README: the first word in backticks of each list item.
pub(super) fn keys(readme: &str) -> Vec<String> {
    let section = readme.lines().skip_while(|line| *line != "## References").skip(1);
    section
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.trim_start().strip_prefix("* `"))
        .filter_map(|item| item.split_once('`'))
        .map(|(key, _)| key.to_string())
        .collect()
}

pub(super) fn are_in_the_references(path: &str, text: &str, keys: &[String]) -> Vec<Finding> {
    let comments = Code::of(text).comments;
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(comments.lines()) {
        for key in cited(line).filter(|cited| !keys.iter().any(|key| key == cited)) {
            let advice =
                format!("`{key}` is not in the References of README.md; add it there or use its key");
            findings.push(Finding::new(path, number, "citation", advice));
        }
    }
    findings
}

/// The keys cited in a line. A key is a word with at least two capitals, so `Alg. 1, eq. 3` and `Kim et al., Fig. 2` have
/// none.
fn cited(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices(", ").filter_map(move |(comma, gap)| {
        let place = &line[comma + gap.len()..];
        let word = line[..comma].rsplit(|c: char| !(c.is_alphanumeric() || c == '-')).next()?;
        let capitals = word.chars().filter(|c| c.is_uppercase()).count();
        (PLACES.iter().any(|begin| place.starts_with(begin)) && capitals >= 2).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str =
        "# m\n* `NOT`\n## References\n\n* `MSC`: a.\n* `SL-DAIS`: b.\n\n## Licence\n* `NOR`\n";

    #[test]
    fn keys_are_the_items_of_the_section() {
        assert_eq!(keys(README), ["MSC", "SL-DAIS"]);
    }

    #[test]
    fn a_cited_key_is_in_the_readme() {
        let check = |text: &str| are_in_the_references("core/src/seed.rs", text, &keys(README));
        let findings = check("/// Valid (MSC, Prop. 1; Alg. 2).\n/// As `PMCSA, Alg. 1` says.\nstruct S;\n");
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].line, 2);
        assert!(findings[0].advice.contains("`PMCSA`"));
        let good = "/// (SL-DAIS, Sec. 3, eq. 7), see MSC, Tab. 1; Kim et al., Fig. 2.\nf(\"NEW, eq. 1\");\n";
        assert!(check(good).is_empty());
    }
}
