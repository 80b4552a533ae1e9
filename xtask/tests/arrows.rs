//! Test of the dependencies between the crates of the repository: the arrows of ARCHITECTURE.md, as a table.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Crates from the bottom to the top, and what each may use: those that it names, and the first `N` of this list.
const ARROWS: [(&str, usize, &[&str]); 21] = [
    ("mcsa-numeric", 0, &[]),
    ("mcsa-core", 1, &[]),
    ("mcsa-diagnostics", 2, &[]),
    ("mcsa-models", 2, &[]),
    ("mcsa-families", 2, &[]),
    ("mcsa-optim", 2, &[]),
    ("mcsa-kernels", 3, &[]),
    ("mcsa-estimators", 7, &[]),
    ("mcsa-particles", 8, &[]),
    ("mcsa-annealed", 8, &[]),
    ("mcsa-testing", 3, &[]),
    ("mcsa-theory", 2, &["mcsa-optim", "mcsa-particles", "mcsa-annealed", "mcsa-testing"]),
    ("mcsa", 12, &[]),
    ("mcsa-data", 2, &[]),
    ("mcsa-catalogue", 14, &[]),
    ("mcsa-plot", 0, &[]),
    (TOP, 16, &[]),
    ("mcsa-speed", 13, &[]),
    ("mcsa-python", 0, &["mcsa", "mcsa-catalogue"]),
    ("mcsa-stan", 0, &["mcsa-core"]),
    ("xtask", 0, &[]),
];

/// The topmost crate. No other crate may depend on it, not even for tests.
const TOP: &str = "mcsa-bench-suite";

/// The dependencies that are not in the table. A test may use any crate but the topmost.
fn breaches(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().expect("a package has a name");
    let Some((_, below, named)) = ARROWS.iter().find(|(package, ..)| *package == name) else {
        return vec![format!("{name} has no place in the table of arrows")];
    };
    let is_allowed =
        |used: &str| named.contains(&used) || ARROWS[..*below].iter().any(|(it, ..)| *it == used);
    let is_breach = |dependency: &&Value| {
        let used = dependency["name"].as_str().expect("a dependency has a name");
        let is_for_tests = dependency["kind"] == "dev" && used != TOP && name != "xtask";
        dependency["path"].is_string() && !is_for_tests && !is_allowed(used)
    };
    let dependencies = package["dependencies"].as_array().expect("a list").iter();
    dependencies.filter(is_breach).map(|used| format!("{name} must not use {}", used["name"])).collect()
}

fn packages(manifest: &str) -> Vec<Value> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(manifest);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version=1", "--manifest-path"]).arg(file);
    let output = cargo.output().expect("cargo starts").stdout;
    let metadata: Value = serde_json::from_slice(&output).expect("cargo writes JSON");
    metadata["packages"].as_array().expect("a list of packages").clone()
}

#[test]
fn arrows_point_down() {
    let all: Vec<Value> =
        ["Cargo.toml", "python/Cargo.toml", "stan/Cargo.toml"].into_iter().flat_map(packages).collect();
    assert!(all.len() >= 16, "{} packages were found", all.len());
    let found: Vec<String> = all.iter().flat_map(breaches).collect();
    assert!(found.is_empty(), "{found:#?}\nallowed is what ARCHITECTURE.md and the table of this test list");
}

#[test]
fn a_forbidden_arrow_is_found() {
    let package = |name: &str, used: &str, kind: Option<&str>| {
        let dependency = serde_json::json!({ "name": used, "path": "/x", "kind": kind });
        serde_json::json!({ "name": name, "dependencies": [dependency] })
    };
    for (name, used, kind, expected) in [
        ("mcsa-estimators", "mcsa-families", None, 0),
        ("mcsa-kernels", "mcsa-theory", Some("dev"), 0),
        ("mcsa-kernels", "mcsa-families", None, 1),
        ("mcsa-kernels", "mcsa-families", Some("build"), 1),
        ("mcsa-kernels", TOP, Some("dev"), 1),
        ("mcsa-estimators", "mcsa-particles", None, 1),
        ("xtask", "mcsa-core", Some("dev"), 1),
        ("mcsa-newcomer", "mcsa-core", None, 1),
    ] {
        assert_eq!(breaches(&package(name, used, kind)).len(), expected, "{name} -> {used}");
    }
}
