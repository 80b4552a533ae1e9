//! Checks of a release: manifests, order, versions, changelog, contents of the packages, and a build of each from its package alone.

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::terminal::{complain, say};
use crate::tidy::manifest::entries;
use crate::workspace;

/// Packages that are not published: the experiments with their data, figures and benchmarks, and the chores.
const KEPT: [&str; 5] = ["mcsa-bench-suite", "mcsa-data", "mcsa-plot", "mcsa-speed", "xtask"];

/// Files that every published package has beside its manifest.
const TEXTS: [&str; 3] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// One member of the workspace.
struct Package {
    name: String,
    folder: String,
    publishes: bool,
    /// Packages of the workspace that it is built with.
    needs: Vec<String>,
    findings: Vec<String>,
}

/// `Ok` if the arguments are those of a dry run.
pub(crate) fn check(arguments: &[String]) -> Result<(), String> {
    let known = |argument: &&String| ["--dry-run", "--no-build"].contains(&argument.as_str());
    match arguments.iter().find(|argument| !known(argument)) {
        Some(other) => Err(format!("`{other}`? there are --dry-run and --no-build")),
        None if arguments.iter().any(|argument| argument == "--dry-run") => Ok(()),
        None => Err("only `--dry-run` is done here; a release itself is `cargo publish --workspace`".into()),
    }
}

/// Verifies the release and prints what would be published, in order.
pub(crate) fn run(arguments: &[String]) -> io::Result<ExitCode> {
    let root = workspace::root();
    let manifest = std::fs::read_to_string(root.join("Cargo.toml"))?;
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    let version = value(&manifest, "workspace.package.version").unwrap_or_default();
    let mut packages = Vec::new();
    for folder in members(&manifest) {
        let package = Package::read(&folder, &read(&format!("{folder}/Cargo.toml")), &manifest, |name| {
            root.join(&folder).join(name).exists()
        });
        packages.push(package);
    }
    let mut findings =
        versions(&version, &read("CITATION.cff"), &read("python/Cargo.toml"), &read("CHANGELOG.md"));
    findings.extend(packages.iter().flat_map(|package| package.findings.clone()));
    findings.extend(withheld(&packages));
    let order = order(&packages).unwrap_or_else(|circle| {
        findings.push(format!("these packages need each other: {}", circle.join(", ")));
        Vec::new()
    });
    let mut files = Vec::new();
    for name in &order {
        let listed = listed(&root, name)?;
        findings.extend(foreign(name, &listed));
        files.push(listed.len());
    }
    let lines = order.iter().zip(&files).map(|(name, files)| format!("  {name:<18}{files:>4} files\n"));
    say(&format!("version {version}, in this order:\n{}", lines.collect::<String>()))?;
    for finding in &findings {
        complain(&format!("release: {finding}"))?;
    }
    if !findings.is_empty() || order.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    if arguments.iter().any(|argument| argument == "--no-build") {
        return say("manifests, versions, changelog and contents are in order; nothing was built\n");
    }
    if !build(&root, &order)? {
        complain("release: a package does not build alone")?;
        return Ok(ExitCode::FAILURE);
    }
    say(&format!(
        "{} packages build from their packages alone; publish with `cargo publish --workspace`\n",
        order.len()
    ))
}

impl Package {
    fn read(folder: &str, text: &str, root: &str, has: impl Fn(&str) -> bool) -> Self {
        let name = value(text, "package.name").unwrap_or_default();
        let publishes = value(text, "package.publish").as_deref() != Some("false");
        let (mut needs, mut findings) = (Vec::new(), Vec::new());
        if publishes {
            for key in ["description", "documentation", "keywords", "categories", "include.workspace"] {
                if value(text, &format!("package.{key}")).is_none() {
                    findings.push(format!("{name}: no `{key}` in its manifest"));
                }
            }
            findings.extend(TEXTS.iter().filter(|text| !has(text)).map(|text| format!("{name}: no {text}")));
            let keywords = list(text, "package.keywords");
            if keywords.len() > 5 || keywords.iter().any(|word| word.len() > 20) {
                findings.push(format!("{name}: a registry takes five keywords of twenty letters"));
            }
        } else if !KEPT.contains(&name.as_str()) {
            findings.push(format!("{name}: `publish = false`, but it is meant to be published"));
        }
        for entry in entries(text) {
            let Some((table, dependency)) = entry.key.split_once("dependencies.") else { continue };
            let dependency = dependency.split('.').next().unwrap_or_default();
            if dependency != "mcsa" && !dependency.starts_with("mcsa-") {
                continue;
            }
            let inherits = entry.value.contains("workspace = true") || entry.key.ends_with(".workspace");
            if !table.ends_with("dev-") {
                needs.push(dependency.to_owned());
                if publishes && !carries_version(root, dependency) {
                    findings.push(format!("{name}: {dependency} has no version in the root manifest"));
                }
            } else if publishes && (inherits || entry.value.contains("version")) {
                findings.push(format!("{name}: its dev-dependency {dependency} must name a path alone"));
            }
        }
        Self { name, folder: folder.into(), publishes, needs, findings }
    }
}

/// True if the root manifest gives the dependency the version of the workspace.
fn carries_version(root: &str, dependency: &str) -> bool {
    let version = value(root, "workspace.package.version").unwrap_or_default();
    let line = value(root, &format!("workspace.dependencies.{dependency}")).unwrap_or_default();
    line.contains(&format!("version = \"{version}\""))
}

/// Value of a key of a manifest, without quotes.
fn value(text: &str, key: &str) -> Option<String> {
    entries(text)
        .into_iter()
        .find(|entry| entry.key == key)
        .map(|entry| entry.value.trim_matches('"').to_owned())
}

/// Words of a list on one line.
fn list(text: &str, key: &str) -> Vec<String> {
    let line = value(text, key).unwrap_or_default();
    line.split('"').skip(1).step_by(2).map(String::from).collect()
}

/// Folders of the members.
fn members(root: &str) -> Vec<String> {
    let lines = root.lines().skip_while(|line| !line.starts_with("members")).skip(1);
    let names = lines.take_while(|line| !line.starts_with(']'));
    names
        .map(|line| line.trim().trim_matches([',', '"']).to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

/// Disagreements of the version with the citation, the Python package and the changelog.
fn versions(version: &str, citation: &str, python: &str, changelog: &str) -> Vec<String> {
    let mut findings = Vec::new();
    if !citation.lines().any(|line| line == format!("version: {version}")) {
        findings.push(format!("CITATION.cff is not of version {version}"));
    }
    if value(python, "package.version").as_deref() != Some(version) {
        findings.push(format!("python/Cargo.toml is not of version {version}"));
    }
    let mut headings = changelog.lines().filter_map(|line| line.strip_prefix("## "));
    let top = headings.next().unwrap_or_default();
    if !(top == "Unreleased" || top.starts_with(version)) {
        findings.push(format!("CHANGELOG.md begins with `{top}`, neither Unreleased nor {version}"));
    }
    if top == "Unreleased" && headings.any(|heading| heading.starts_with(version)) {
        findings.push(format!("CHANGELOG.md has {version} already; the version must move on"));
    }
    let notes = changelog.split("\n## ").nth(1).is_some_and(|section| section.contains("\n* "));
    if !notes {
        findings.push("the first section of CHANGELOG.md is empty".into());
    }
    findings
}

/// Published packages that need one which is not.
fn withheld(packages: &[Package]) -> Vec<String> {
    let mut findings = Vec::new();
    for package in packages.iter().filter(|package| package.publishes) {
        for need in &package.needs {
            if !packages.iter().any(|other| other.name == *need && other.publishes) {
                findings.push(format!(
                    "{} ({}) needs {need}, which is not published",
                    package.name, package.folder
                ));
            }
        }
    }
    findings
}

/// Published packages, each after those that it needs; `Err` holds those that need each other.
fn order(packages: &[Package]) -> Result<Vec<String>, Vec<String>> {
    let mut waiting: Vec<&Package> = packages.iter().filter(|package| package.publishes).collect();
    let mut sorted: Vec<String> = Vec::new();
    while !waiting.is_empty() {
        let is_ready = |package: &&&Package| {
            package
                .needs
                .iter()
                .all(|need| sorted.contains(need) || !packages.iter().any(|p| p.name == *need && p.publishes))
        };
        let Some(ready) = waiting.iter().find(is_ready).map(|package| package.name.clone()) else {
            return Err(waiting.iter().map(|package| package.name.clone()).collect());
        };
        waiting.retain(|package| package.name != ready);
        sorted.push(ready);
    }
    Ok(sorted)
}

/// Paths in a package.
fn listed(root: &Path, name: &str) -> io::Result<Vec<String>> {
    let mut command = cargo(root);
    command.args(["package", "--list", "--allow-dirty", "--offline", "-p", name]).stderr(Stdio::null());
    let output = command.output()?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(String::from).collect())
}

/// Files of a package that are neither source nor one of its texts.
fn foreign(name: &str, files: &[String]) -> Vec<String> {
    const OTHERS: [&str; 4] = ["Cargo.toml", "Cargo.toml.orig", "Cargo.lock", ".cargo_vcs_info.json"];
    let mut findings = Vec::new();
    if files.is_empty() {
        findings.push(format!("{name}: cargo lists no files"));
    }
    for file in files {
        let source = file.starts_with("src/") && file.ends_with(".rs");
        if !(source || OTHERS.contains(&file.as_str()) || TEXTS.contains(&file.as_str())) {
            findings.push(format!("{name}: {file} is no source and would be published"));
        }
    }
    findings
}

/// Packages all, builds each from its package, and does all of publishing but the upload; cargo resolves those of the workspace from a
/// registry that it makes of the packages before.
fn build(root: &Path, order: &[String]) -> io::Result<bool> {
    let mut command = cargo(root);
    command.args(["publish", "--dry-run", "--allow-dirty", "--quiet"]);
    for name in order {
        command.args(["-p", name]);
    }
    Ok(command.status()?.success())
}

fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "[workspace]\nmembers = [\n    \"a\",\n    \"b/c\",\n]\n[workspace.package]\nversion = \"0.1.0\"\n\
        [workspace.dependencies]\nmcsa-core = { path = \"core\", version = \"0.1.0\" }\nmcsa-data = { path = \"d\" }\n";
    const GOOD: &str = "[package]\nname = \"mcsa-models\"\ndescription = \"d\"\ndocumentation = \"u\"\nkeywords = [\"a\"]\n\
        categories = [\"b\"]\ninclude.workspace = true\n[dependencies]\nmcsa-core = { workspace = true }\n\
        [dev-dependencies]\nmcsa-theory = { path = \"../theory\" }\n";

    fn read(text: &str) -> Package {
        Package::read("models", text, ROOT, |_| true)
    }

    #[test]
    fn a_manifest_is_ready_or_says_why_not() {
        let ready = read(GOOD);
        assert!(ready.findings.is_empty(), "{:?}", ready.findings);
        assert_eq!(
            (ready.name.as_str(), ready.needs.as_slice()),
            ("mcsa-models", &["mcsa-core".to_owned()][..])
        );
        for (from, to) in [
            ("description = \"d\"\n", ""),
            ("keywords = [\"a\"]", "keywords = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]"),
            ("keywords = [\"a\"]", "keywords = [\"a keyword that is too long\"]"),
            ("mcsa-core =", "mcsa-data ="),
            ("{ path = \"../theory\" }", "{ workspace = true }"),
            ("name = \"mcsa-models\"\n", "name = \"mcsa-models\"\npublish = false\n"),
        ] {
            assert_eq!(read(&GOOD.replace(from, to)).findings.len(), 1, "{to}");
        }
        assert_eq!(
            Package::read("models", GOOD, ROOT, |name| name != "README.md").findings,
            ["mcsa-models: no README.md"]
        );
    }

    #[test]
    fn members_are_read_off() {
        assert_eq!(members(ROOT), ["a", "b/c"]);
    }

    #[test]
    fn packages_come_after_those_that_they_need() {
        let package = |name: &str, needs: &[&str], publishes| Package {
            name: name.into(),
            folder: name.into(),
            publishes,
            needs: needs.iter().map(ToString::to_string).collect(),
            findings: Vec::new(),
        };
        let line = [package("c", &["b"], true), package("b", &["a"], true), package("a", &[], true)];
        assert_eq!(order(&line).expect("a line"), ["a", "b", "c"]);
        assert!(withheld(&line).is_empty());
        assert_eq!(
            order(&[package("a", &["b"], true), package("b", &["a"], true)]).expect_err("a circle"),
            ["a", "b"]
        );
        assert_eq!(withheld(&[package("a", &["b"], true), package("b", &[], false)]).len(), 1);
    }

    #[test]
    fn one_version_is_everywhere() {
        let python = "[package]\nversion = \"0.1.0\"\n";
        let found =
            |version: &str, changelog: &str| versions(version, "version: 0.1.0\n", python, changelog).len();
        assert_eq!(found("0.1.0", "# Changelog\n\n## Unreleased\n\n### Added\n\n* a\n"), 0);
        assert_eq!(found("0.1.0", "# Changelog\n\n## 0.1.0\n\n* a\n"), 0);
        assert_eq!(found("0.1.0", "# Changelog\n\n## Unreleased\n\n* b\n\n## 0.1.0\n\n* a\n"), 1);
        assert_eq!(found("0.1.0", "# Changelog\n\n## Unreleased\n\n## 0.0.9\n\n* a\n"), 1);
        assert_eq!(found("0.2.0", "# Changelog\n\n## 0.1.0\n\n* a\n"), 3);
    }

    #[test]
    fn data_does_not_travel() {
        let files = ["Cargo.toml", "src/lib.rs", "README.md", "src/pima.csv", "pima.csv"].map(String::from);
        assert_eq!(foreign("mcsa-models", &files).len(), 2);
        assert_eq!(foreign("mcsa-models", &files[..3]).len(), 0);
        assert_eq!(foreign("mcsa-models", &[]).len(), 1);
    }

    #[test]
    fn only_a_dry_run_is_done() {
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        assert!(check(&words("--dry-run --no-build")).is_ok());
        assert!(check(&[]).is_err() && check(&words("--dry-run --now")).is_err());
    }
}
