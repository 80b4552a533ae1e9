//! Allowed dependencies between crates of the workspace: the arrows of ARCHITECTURE.md, as a table.

use super::finding::Finding;
use super::manifest::{Entry, entries};

/// Each package of the workspace with the packages of the workspace that it may depend on.
const ARROWS: [(&str, &[&str]); 16] = [
    ("mcsa-core", &[]),
    ("mcsa-diagnostics", &["mcsa-core"]),
    ("mcsa-models", &["mcsa-core"]),
    ("mcsa-families", &["mcsa-core"]),
    ("mcsa-kernels", &["mcsa-core", "mcsa-diagnostics"]),
    ("mcsa-optim", &["mcsa-core"]),
    ("mcsa-estimators", &["mcsa-core", "mcsa-diagnostics", "mcsa-kernels"]),
    ("mcsa-theory", &["mcsa-core", "mcsa-optim"]),
    (
        "mcsa",
        &[
            "mcsa-core",
            "mcsa-diagnostics",
            "mcsa-models",
            "mcsa-families",
            "mcsa-kernels",
            "mcsa-optim",
            "mcsa-estimators",
            "mcsa-theory",
        ],
    ),
    ("mcsa-data", &["mcsa-core"]),
    ("mcsa-plot", &[]),
    ("mcsa-speed", &[]),
    (
        TOP,
        &[
            "mcsa",
            "mcsa-core",
            "mcsa-data",
            "mcsa-diagnostics",
            "mcsa-models",
            "mcsa-families",
            "mcsa-kernels",
            "mcsa-optim",
            "mcsa-plot",
            "mcsa-estimators",
            "mcsa-theory",
        ],
    ),
    ("xtask", &[]),
    ("mcsa-python", &["mcsa"]),
    ("mcsa-stan", &["mcsa-core"]),
];

/// The topmost crate. No other crate may depend on it, not even for tests.
const TOP: &str = "mcsa-bench-suite";

/// Refuses dependencies that are not in the table. Dev-dependencies may name any crate but the topmost, because tests combine
/// crates (a kernel is checked with a model and `theory`). `xtask` may name none.
pub(super) fn point_down(path: &str, text: &str) -> Vec<Finding> {
    let entries = entries(text);
    let name = entries.iter().find(|entry| entry.key == "package.name");
    let Some(name) = name.map(|entry| entry.value.trim_matches('"')) else {
        return vec![Finding::new(path, 1, "arrow", "a manifest without `name`")];
    };
    let Some((_, allowed)) = ARROWS.iter().find(|(package, _)| *package == name) else {
        let advice = format!("`{name}` has no place in the arrows; give it one in xtask and ARCHITECTURE.md");
        return vec![Finding::new(path, 1, "arrow", advice)];
    };
    let mut findings = Vec::new();
    for entry in &entries {
        let Some((dependency, for_tests)) = our_dependency(entry) else {
            continue;
        };
        let is_right = if for_tests {
            name != "xtask" && dependency != TOP
        } else {
            allowed.contains(&dependency.as_str())
        };
        if !is_right {
            let advice = format!("`{name}` must not know `{dependency}`; see the arrows in ARCHITECTURE.md");
            findings.push(Finding::new(path, entry.line, "arrow", advice));
        }
    }
    findings
}

/// The workspace package that an entry depends on, and true if it is a dev-dependency.
fn our_dependency(entry: &Entry<'_>) -> Option<(String, bool)> {
    let (table, rest) = entry.key.split_once("dependencies.")?;
    let key = rest.split('.').next()?;
    let renamed = entry.value.split_once("package = \"").and_then(|(_, rest)| rest.split('"').next());
    let renamed = renamed.or_else(|| rest.ends_with(".package").then(|| entry.value.trim_matches('"')));
    let package = renamed.unwrap_or(key);
    let is_ours = ARROWS.iter().any(|(ours, _)| *ours == package);
    is_ours.then(|| (package.to_string(), table.ends_with("dev-")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(package: &str, lines: &str) -> usize {
        point_down("x/Cargo.toml", &format!("[package]\nname = \"{package}\"\n{lines}\n")).len()
    }

    #[test]
    fn arrows_point_down() {
        for (package, dependency) in [
            ("mcsa-kernels", "mcsa-core"),
            ("mcsa-estimators", "mcsa-kernels"),
            ("mcsa-theory", "mcsa-optim"),
            ("mcsa-estimators", "mcsa-diagnostics"),
            ("mcsa", "mcsa-theory"),
            ("mcsa-bench-suite", "mcsa-theory"),
            ("mcsa-bench-suite", "mcsa"),
            ("mcsa-core", "faer"),
        ] {
            let line = format!("[dependencies]\n{dependency} = {{ workspace = true }}");
            assert_eq!(breaches(package, &line), 0, "{package} -> {dependency}");
        }
        for (package, dependency) in [
            ("mcsa-core", "mcsa-kernels"),
            ("mcsa-core", "mcsa"),
            ("mcsa-data", "mcsa"),
            ("mcsa-estimators", "mcsa-theory"),
            ("mcsa-plot", "mcsa-core"),
            ("mcsa-kernels", "mcsa-families"),
            ("mcsa-estimators", "mcsa-models"),
            ("mcsa-theory", "mcsa-kernels"),
            ("mcsa-theory", "mcsa-estimators"),
            ("mcsa-theory", "mcsa-bench-suite"),
            ("xtask", "mcsa-core"),
            ("mcsa-newcomer", "mcsa-core"),
        ] {
            let line = format!("[dependencies]\n{dependency}.workspace = true");
            assert_eq!(breaches(package, &line), 1, "{package} -> {dependency}");
        }
    }

    #[test]
    fn every_way_of_writing_a_dependency_is_seen() {
        for line in [
            "[dependencies.mcsa-kernels]\nworkspace = true",
            "[dependencies]\nk = { path = \"../kernels\", package = \"mcsa-kernels\" }",
            "[dependencies.k]\npackage = \"mcsa-kernels\"",
            "[build-dependencies]\nmcsa-kernels = { workspace = true }",
            "[target.'cfg(unix)'.dependencies]\nmcsa-kernels.workspace = true",
        ] {
            assert_eq!(breaches("mcsa-models", line), 1, "{line}");
        }
    }

    #[test]
    fn tests_may_look_sideways_but_not_up() {
        let dev = |dependency: &str| format!("[dev-dependencies]\n{dependency}.workspace = true");
        assert_eq!(breaches("mcsa-kernels", &dev("mcsa-theory")), 0);
        assert_eq!(breaches("mcsa-kernels", &dev("mcsa-bench-suite")), 1);
        assert_eq!(breaches("xtask", &dev("mcsa-core")), 1);
    }
}
