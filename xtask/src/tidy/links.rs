//! Rules on Markdown files: relative links lead to files of the repository, and the book lists its chapters.

use super::finding::Finding;
use crate::workspace::TextFile;

const BOOK: &str = "docs/book/src/";
const SUMMARY: &str = "docs/book/src/SUMMARY.md";

/// Finds links to files that are not there, and chapters of the book that its summary does not list. Pictures are no text files and are
/// not looked for.
pub(super) fn lead_somewhere(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut listed = Vec::new();
    for TextFile { path, text } in files.iter().filter(|file| file.path.ends_with(".md")) {
        for (number, line) in (1..).zip(text.lines()) {
            for target in targets(line) {
                let place = resolved(path, target);
                if !target.ends_with(".png") && !files.iter().any(|file| file.path == place) {
                    let advice = format!("`{target}` leads to {place}, which is not there");
                    findings.push(Finding::new(path, number, "link", advice));
                }
                if path == SUMMARY {
                    listed.push(place);
                }
            }
        }
    }
    let chapters = files.iter().filter(|file| file.path.starts_with(BOOK) && file.path != SUMMARY);
    for chapter in chapters.filter(|chapter| !listed.contains(&chapter.path)) {
        findings.push(Finding::new(&chapter.path, 1, "link", "a chapter that SUMMARY.md does not list"));
    }
    findings
}

/// Relative targets of the links in a line, without the heading that they name.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|part| {
        let target = part[..part.find(')')?].split('#').next()?;
        (!target.is_empty() && !target.contains(':')).then_some(target)
    })
}

/// The path of a target that is written relative to the folder of `path`.
fn resolved(path: &str, target: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: path.into(), text: text.into() }
    }

    #[test]
    fn links_are_followed_from_their_folder() {
        let files = [
            file(
                "README.md",
                "[a](docs/a.md#part), [web](https://example.org/x), ![p](p.png), [here](#there)",
            ),
            file("docs/a.md", "[up](../README.md) and [lost](b.md)"),
        ];
        let findings = lead_somewhere(&files);
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].rule, findings[0].line), ("link", 1));
        assert!(findings[0].advice.contains("docs/b.md"));
    }

    #[test]
    fn every_chapter_is_listed() {
        let mut files = vec![file(SUMMARY, "- [a](a.md)"), file("docs/book/src/a.md", "text")];
        assert!(lead_somewhere(&files).is_empty());
        files.push(file("docs/book/src/part/b.md", "text"));
        assert_eq!(lead_somewhere(&files).len(), 1);
    }
}
