//! Fingerprint of the code on which rows of results depend: a hash of the sources of the crates that compute them, and of the locked
//! packages below these crates. The build script adds the settings of the build.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use toml::Table;

/// Parts of this crate that compute rows.
pub(crate) const ROWS: [&str; 7] =
    ["references", "src/grid.rs", "src/jobs", "src/metric.rs", "src/store/row.rs", "src/task", "src/text.rs"];

/// Crates that compute no row.
pub(crate) const ASIDE: [&str; 2] = ["mcsa-plot", "mcsa-testing"];

/// The call with its verdict and the jobs that run it, on which the other jobs do not depend: beginnings of names.
pub(crate) const CALL: [&str; 2] = ["mcsa/", "bench-suite/src/jobs/cases/"];

/// Files that quote results, and examples that are documentation.
const QUOTES: [&str; 2] = ["mcsa/src/book.rs", "mcsa/src/posterior/verdict/measured.rs"];

/// Names and contents that count, and the paths on which they depend.
#[derive(Debug, Default)]
pub(crate) struct Fingerprint {
    parts: Vec<(String, String)>,
    pub(crate) paths: Vec<PathBuf>,
}

impl Fingerprint {
    /// Fingerprint of the package in `folder`, a folder of the workspace in `root`, built by a profile.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(crate) fn find(root: &Path, folder: &str, profile: &str) -> io::Result<Self> {
        let mut found = Self::default();
        let workspace = found.toml(&root.join("Cargo.toml"))?;
        let lock = found.toml(&root.join("Cargo.lock"))?;
        let settings = workspace.get("profile").and_then(|all| all.get(profile));
        found.add("profile", &settings.map_or_else(String::new, ToString::to_string));
        found.add("package", &workspace["workspace"]["package"].to_string());
        let (mut open, mut seen, mut external) = (vec![folder.to_owned()], BTreeSet::new(), BTreeSet::new());
        while let Some(place) = open.pop() {
            if !seen.insert(place.clone()) {
                continue;
            }
            let manifest = found.toml(&root.join(&place).join("Cargo.toml"))?;
            let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
            for (name, own) in
                dependencies.into_iter().flatten().filter(|(name, _)| !ASIDE.contains(&name.as_str()))
            {
                let shared = &workspace["workspace"]["dependencies"];
                let used = if own.get("workspace").is_some() { &shared[name.as_str()] } else { own };
                match used.get("path").and_then(toml::Value::as_str) {
                    Some(path) => open.push(path.to_owned()),
                    None => drop(external.insert(name.clone())),
                }
                found.add(&format!("{place}/ uses {name}"), &format!("{own} {used}"));
            }
            if place != folder {
                found.sources(root, &root.join(&place).join("src"))?;
            }
        }
        for part in ROWS {
            found.sources(root, &root.join(folder).join(part))?;
        }
        for package in locked(&lock, external) {
            found.add("locked", &package);
        }
        Ok(found)
    }

    /// Adds a name with its content.
    pub(crate) fn add(&mut self, name: &str, content: &str) {
        self.parts.push((name.to_owned(), content.to_owned()));
    }

    /// 64-bit FNV-1a hash (Fowler, Noll & Vo) of all parts but those whose names begin with one of `aside`, as 16 hexadecimal digits.
    pub(crate) fn code(&self, aside: &[&str]) -> String {
        let mut parts = self.parts.clone();
        parts.retain(|(name, _)| !aside.iter().any(|beginning| name.starts_with(beginning)));
        parts.sort();
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let bytes = parts
            .iter()
            .flat_map(|(name, content)| [name.as_str(), "\0", content, "\0"])
            .flat_map(str::bytes);
        format!("{:016x}", bytes.fold(0xcbf2_9ce4_8422_2325, step))
    }

    fn toml(&mut self, path: &Path) -> io::Result<Table> {
        self.paths.push(path.to_owned());
        let place = |error: String| io::Error::other(format!("{}: {error}", path.display()));
        fs::read_to_string(path)
            .map_err(|error| place(error.to_string()))?
            .parse()
            .map_err(|error: toml::de::Error| place(error.to_string()))
    }

    /// Adds a file, or all files of a folder that are Rust sources or tables.
    fn sources(&mut self, root: &Path, path: &Path) -> io::Result<()> {
        self.paths.push(path.to_owned());
        if !path.exists() {
            return Ok(());
        }
        if path.is_dir() {
            return fs::read_dir(path)?.try_for_each(|entry| self.sources(root, &entry?.path()));
        }
        let is_quote = QUOTES.iter().any(|name| path == root.join(name));
        if !is_quote && path.extension().is_some_and(|extension| extension == "rs" || extension == "csv") {
            let name = path.strip_prefix(root).unwrap_or(path).display().to_string().replace('\\', "/");
            self.add(&name, &essence(&fs::read_to_string(path)?));
        }
        Ok(())
    }
}

/// Lines of a source without indentation, blank lines, comments that take whole lines, and the tests at its end.
fn essence(text: &str) -> String {
    let (code, tests) = text.split_once("\n#[cfg(test)]\nmod tests {\n").unwrap_or((text, ""));
    let is_inside = |line: &str| line.is_empty() || line.starts_with([' ', '}']);
    let kept = if tests.lines().all(is_inside) { code } else { text };
    let lines = kept.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// External packages of a lock file below those with the names `open`, each with its version and checksum.
fn locked(lock: &Table, open: BTreeSet<String>) -> BTreeSet<String> {
    let packages: Vec<&toml::Value> = lock["package"].as_array().into_iter().flatten().collect();
    let text =
        |package: &toml::Value, key: &str| package.get(key).map_or_else(String::new, ToString::to_string);
    let (mut open, mut found) = (Vec::from_iter(open), BTreeSet::new());
    while let Some(name) = open.pop() {
        // `name`, or `name version` where there are several.
        let (name, version) = name.split_once(' ').unwrap_or((&name, ""));
        let is_it = |package: &&&toml::Value| {
            package["name"].as_str() == Some(name)
                && package["version"].as_str().is_some_and(|v| v.starts_with(version))
        };
        for package in packages.iter().filter(is_it) {
            let line = ["name", "version", "source", "checksum"].map(|key| text(package, key)).join(" ");
            if found.insert(line) {
                let below = package.get("dependencies").and_then(toml::Value::as_array).into_iter().flatten();
                open.extend(below.filter_map(|name| name.as_str().map(String::from)));
            }
        }
    }
    found
}
