//! Rules for a single `.rs` file.

use super::code::{Code, has_word};
use super::finding::Finding;

/// Largest number of lines of a file.
const MOST_LINES: usize = 400;

/// Files that may be longer, each with the reason. Only generated tables qualify: below a `tests/data`
/// directory, or with a name that ends in `_table.rs` or `_tables.rs`.
const LONG: [(&str, &str); 0] = [];

pub(super) fn is_short(path: &str, text: &str) -> Vec<Finding> {
    let lines = text.lines().count();
    if lines <= MOST_LINES || LONG.iter().any(|(long, _)| *long == path) {
        return Vec::new();
    }
    let advice = format!("{lines} lines; move a noun into a file of its own, {MOST_LINES} at most");
    vec![Finding::new(path, MOST_LINES + 1, "length", advice)]
}

pub(super) fn silences_no_lint(path: &str, text: &str) -> Vec<Finding> {
    let advice = "mend the cause, or write `expect` with a reason";
    let is_breach = |line: &str| {
        let in_attribute = line.trim_start().starts_with('#') && line.contains('[');
        in_attribute
            && line.match_indices("allow(").any(|(at, _)| !line[..at].ends_with(char::is_alphanumeric))
    };
    lines_where(path, &Code::of(text).code, "allow", advice, is_breach)
}

pub(super) fn is_finished(path: &str, text: &str) -> Vec<Finding> {
    const MACROS: [&str; 3] = ["todo", "unimplemented", "dbg"];
    const MARKS: [&str; 3] = ["TODO", "FIXME", "XXX"];
    let Code { code, comments } = Code::of(text);
    let advice = "finish it, or take it out and write it into CHANGELOG.md or a plan";
    let calls =
        |line: &str| MACROS.iter().any(|name| line.contains(&format!("{name}!")) && has_word(line, name));
    let marks = |line: &str| MARKS.iter().any(|mark| has_word(line, mark));
    let mut findings = lines_where(path, &code, "unfinished", advice, calls);
    findings.extend(lines_where(path, &comments, "unfinished", advice, marks));
    findings
}

pub(super) fn does_not_unwrap(path: &str, text: &str) -> Vec<Finding> {
    let in_tests = path.ends_with("/tests.rs") || path.contains("/src/tests/");
    if !path.contains("/src/") || in_tests {
        return Vec::new();
    }
    let advice = "return the error, or `expect(\"why it cannot happen\")`";
    let code = Code::of(text).outside_tests();
    lines_where(path, &code, "unwrap", advice, |line| line.contains(".unwrap()"))
}

pub(super) fn lib_is_a_table_of_contents(path: &str, text: &str) -> Vec<Finding> {
    const ITEMS: [&str; 5] = ["fn", "struct", "enum", "trait", "impl"];
    if !path.ends_with("/src/lib.rs") {
        return Vec::new();
    }
    let advice = "lib.rs holds the essay, `mod` and `pub use`; give this a file of its own";
    let code = Code::of(text).outside_tests();
    lines_where(path, &code, "contents", advice, |line| ITEMS.iter().any(|item| has_word(line, item)))
}

fn lines_where(
    path: &str,
    text: &str,
    rule: &'static str,
    advice: &str,
    is_breach: impl Fn(&str) -> bool,
) -> Vec<Finding> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| is_breach(line));
    lines.map(|(number, _)| Finding::new(path, number, rule, advice)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "kernels/src/imh.rs";

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn four_hundred_lines_are_enough() {
        assert!(is_short(PATH, &"x\n".repeat(400)).is_empty());
        assert_eq!(lines(&is_short(PATH, &"x\n".repeat(401))), [401]);
    }

    #[test]
    fn only_generated_tables_may_be_long() {
        let is_table = |path: &str| {
            path.contains("/tests/data/") || path.ends_with("_table.rs") || path.ends_with("_tables.rs")
        };
        assert!(LONG.iter().all(|(path, reason)| is_table(path) && !reason.is_empty()));
    }

    #[test]
    fn lints_are_not_silenced() {
        let bad =
            "#[allow(dead_code)]\nfn f() {}\n#![allow(missing_docs)]\n    #[cfg_attr(test, allow(unused))]\n";
        assert_eq!(lines(&silences_no_lint(PATH, bad)), [1, 3, 4]);
        let good = "// #[allow(dead_code)]\n#[expect(dead_code, reason = \"allow(x)\")]\nfn allow(x: u8) { allow(x) }\n#[disallow(x)]\n";
        assert!(silences_no_lint(PATH, good).is_empty());
    }

    #[test]
    fn nothing_is_left_for_later() {
        let bad =
            "fn f() { todo!() }\n// TODO: g\nfn h() { dbg!(1); }\n/// FIXME\n/* XXX */ unimplemented!()\n";
        let mut found = lines(&is_finished(PATH, bad));
        found.sort_unstable();
        assert_eq!(found, [1, 2, 3, 4, 5, 5]);
        let good =
            "fn f() { say(\"TODO\") }\nlet todo = 1;\nif todo != 2 {}\n/// The `todo_list`.\nmy_dbg!(x);\n";
        assert!(is_finished(PATH, good).is_empty());
    }

    #[test]
    fn libraries_do_not_unwrap() {
        let bad = "fn f() { g().unwrap(); }\n";
        assert_eq!(lines(&does_not_unwrap(PATH, bad)), [1]);
        let good = "/// f().unwrap();\nfn f() { g().unwrap_or(1); h(\".unwrap()\") }\n#[cfg(test)]\nmod tests { fn t() { g().unwrap(); } }\n";
        assert!(does_not_unwrap(PATH, good).is_empty());
        assert!(does_not_unwrap("kernels/tests/law.rs", bad).is_empty());
        assert!(does_not_unwrap("kernels/src/imh/tests.rs", bad).is_empty());
    }

    #[test]
    fn lib_holds_no_code() {
        let path = "kernels/src/lib.rs";
        let bad = "//! Kernels.\nmod imh;\npub fn f() {}\nstruct S;\nimpl S {}\n";
        assert_eq!(lines(&lib_is_a_table_of_contents(path, bad)), [3, 4, 5]);
        let good = "//! A struct with a fn:\n//! fn main() {}\nmod imh;\npub use imh::{Imh, ImhState};\n#[cfg(test)]\nmod tests { fn t() {} }\n";
        assert!(lib_is_a_table_of_contents(path, good).is_empty());
        assert!(lib_is_a_table_of_contents(PATH, bad).is_empty());
    }
}
