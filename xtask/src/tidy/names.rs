//! Rule for names of files.

use super::finding::Finding;

/// Words refused in file names because they do not name the contents.
const EMPTY: [&str; 6] = ["util", "utils", "helper", "helpers", "manager", "managers"];

pub(super) fn say_what_is_inside(path: &str, _: &str) -> Vec<Finding> {
    let words = path.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let empty = words.filter(|word| EMPTY.contains(&word.as_str()));
    empty
        .map(|word| {
            Finding::new(path, 1, "file-name", format!("`{word}` says nothing; name the noun inside"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_nouns() {
        for bad in ["core/src/utils.rs", "core/src/helpers/sum.rs", "xtask/src/step_manager.rs"] {
            assert_eq!(say_what_is_inside(bad, "").len(), 1, "{bad}");
        }
        for good in ["core/src/stream.rs", "core/src/futility.rs"] {
            assert!(say_what_is_inside(good, "").is_empty(), "{good}");
        }
    }
}
