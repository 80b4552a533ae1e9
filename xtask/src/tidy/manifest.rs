//! Rules for the `Cargo.toml` of a crate, and the reader that they use.

use super::finding::Finding;

/// One `key = value` of a manifest, with its full key: `dependencies.mcsa.workspace`.
pub(crate) struct Entry<'a> {
    pub(crate) line: usize,
    pub(crate) key: String,
    pub(crate) value: &'a str,
}

/// The entries of a manifest. Reads a subset of TOML: tables, dotted keys, values on one line. Of a list over several lines
/// only the first line gives an entry.
pub(crate) fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut table = String::new();
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            table = format!("{}.", name.trim_matches('['));
        } else if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            let key = format!("{table}{}", key.trim()).replace('"', "");
            entries.push(Entry { line: number, key, value: value.trim() });
        }
    }
    entries
}

/// Requires that a crate inherits the settings of the root manifest, unless it is a workspace of its own.
pub(super) fn inherits(path: &str, text: &str) -> Vec<Finding> {
    const DECIDED: [(&str, &str); 5] = [
        ("lints", "`[lints]` with `workspace = true`"),
        ("package.version", "`version.workspace = true`"),
        ("package.edition", "`edition.workspace = true`"),
        ("package.rust-version", "`rust-version.workspace = true`"),
        ("package.license", "`license.workspace = true`"),
    ];
    let entries = entries(text);
    let is_inherited = |decided: &str| {
        entries.iter().any(|entry| {
            let dotted = entry.key.strip_suffix(".workspace") == Some(decided) && entry.value == "true";
            dotted || (entry.key == decided && entry.value.replace(' ', "") == "{workspace=true}")
        })
    };
    if text.lines().any(|line| line.trim() == "[workspace]") {
        return Vec::new();
    }
    let missing = DECIDED.iter().filter(|(decided, _)| !is_inherited(decided));
    missing.map(|(_, write)| Finding::new(path, 1, "inherit", format!("say {write}"))).collect()
}

/// Refuses feature flags.
pub(super) fn has_no_features(path: &str, text: &str) -> Vec<Finding> {
    let features = entries(text).into_iter().filter(|entry| entry.key.starts_with("features."));
    let advice = "no feature flags of our own; decide";
    features.map(|entry| Finding::new(path, entry.line, "feature", advice)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "core/Cargo.toml";
    const GOOD: &str = "[package]\nname = \"mcsa\"\nversion.workspace = true\nedition.workspace = true\n\
        rust-version = { workspace = true }\nlicense.workspace = true\n\n\
        [lints]\nworkspace = true\n\n[dependencies]\nfaer = { workspace = true, features = [\"std\"] }\n";

    #[test]
    fn entries_carry_their_table() {
        let text = "a.b = 1\n# c = 2\n[x]\nd = \"e = f\"\n[[bench]]\nname = \"g\"\n[target.'cfg(unix)'.dependencies]\nh = { path = \"i\" }\n";
        let found: Vec<_> = entries(text).into_iter().map(|entry| (entry.line, entry.key)).collect();
        let wanted = [(1, "a.b"), (4, "x.d"), (6, "bench.name"), (8, "target.'cfg(unix)'.dependencies.h")];
        assert_eq!(found, wanted.map(|(line, key)| (line, key.to_string())));
    }

    #[test]
    fn a_crate_inherits() {
        assert!(inherits(PATH, GOOD).is_empty());
        for (from, to) in [
            ("[lints]\nworkspace = true", ""),
            ("[lints]\nworkspace = true", "[lints.rust]\nunsafe_code = \"warn\""),
            ("rust-version = { workspace = true }", "rust-version = \"1.80\""),
        ] {
            let findings = inherits(PATH, &GOOD.replace(from, to));
            assert_eq!(findings.len(), 1, "{to}");
        }
        let alone = GOOD.replace("license.workspace = true", "license = \"MIT\"");
        assert_eq!(inherits(PATH, &alone).len(), 1);
        assert!(inherits(PATH, &format!("{alone}[workspace]\n")).is_empty());
    }

    #[test]
    fn a_crate_has_no_features() {
        assert!(has_no_features(PATH, GOOD).is_empty());
        let findings = has_no_features(PATH, &format!("{GOOD}[features]\nfast = []\n"));
        assert_eq!(findings.len(), 1);
    }
}
