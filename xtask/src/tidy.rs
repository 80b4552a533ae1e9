//! House rules: checks of file sizes, names, dependencies, citations and forbidden words.
//!
//! A rule is a pure function of a path and a text, so each is tested on two small fixtures: one that it must refuse, one that
//! it must accept. Checks that the compiler or clippy can do are left to them; the few that overlap are here because `cargo
//! xtask test` has to work without clippy.

use std::io::{self, Write};
use std::path::Path;

use crate::workspace::{self, TextFile};

mod arrows;
mod circles;
mod citations;
mod code;
mod finding;
mod headings;
mod links;
pub(crate) mod manifest;
mod names;
mod rust_file;
mod words;

use finding::Finding;

/// A rule that is checked on one file at a time.
type Rule = fn(path: &str, text: &str) -> Vec<Finding>;

const ANY_TEXT: [Rule; 2] = [words::no_inside_words, names::say_what_is_inside];
const RUST: [Rule; 6] = [
    headings::open_with_a_noun,
    rust_file::is_short,
    rust_file::silences_no_lint,
    rust_file::is_finished,
    rust_file::does_not_unwrap,
    rust_file::lib_is_a_table_of_contents,
];
const MANIFEST: [Rule; 3] = [manifest::inherits, manifest::has_no_features, arrows::point_down];

/// Checks every text file below `root` and prints the findings; returns true if there are none.
pub(crate) fn check(root: &Path) -> io::Result<bool> {
    let files = workspace::text_files(root)?;
    let findings = findings(&files);
    let mut out = io::stdout().lock();
    for finding in &findings {
        writeln!(out, "{finding}")?;
    }
    let files = files.len();
    match findings.len() {
        0 => writeln!(out, "tidy: {files} files, all in order")?,
        1 => writeln!(out, "tidy: {files} files, 1 finding")?,
        n => writeln!(out, "tidy: {files} files, {n} findings")?,
    }
    Ok(findings.is_empty())
}

fn findings(files: &[TextFile]) -> Vec<Finding> {
    let readme = files.iter().find(|file| file.path == "README.md");
    let keys = citations::keys(readme.map_or("", |file| &file.text));
    let mut findings = circles::are_absent(files);
    findings.extend(links::lead_somewhere(files));
    for TextFile { path, text } in files {
        let mut rules: Vec<Rule> = ANY_TEXT.to_vec();
        if path.ends_with(".rs") {
            rules.extend(RUST);
            findings.extend(citations::are_in_the_references(path, text, &keys));
        }
        if path.ends_with("/Cargo.toml") {
            rules.extend(MANIFEST); // the root manifest is where these rules point to
        }
        findings.extend(rules.iter().flat_map(|rule| rule(path, text)));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: path.into(), text: text.into() }
    }

    #[test]
    fn each_kind_of_file_meets_its_rules() {
        let files = [
            file("README.md", "## References\n\n* `MSC`: a paper\n"),
            file("core/Cargo.toml", "[package]\nname = \"mcsa\"\n"),
            file("core/src/helpers.rs", "/// As in (JSA, eq. 3).\nconst X: u8 = 1;\n"),
        ];
        let mut rules: Vec<&str> = findings(&files).iter().map(|finding| finding.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        assert_eq!(rules, ["citation", "file-name", "inherit"]);
    }
}
