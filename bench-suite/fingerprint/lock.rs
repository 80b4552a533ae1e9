//! Locked versions of the packages that a build uses.

use std::collections::{BTreeMap, BTreeSet};

/// Contents of `Cargo.lock`: every package with its version, source, checksum and dependencies.
#[derive(Debug, Default)]
pub(crate) struct Lock(Vec<Package>);

#[derive(Debug, Default)]
struct Package {
    name: String,
    version: String,
    source: String,
    checksum: String,
    dependencies: Vec<String>,
}

impl Lock {
    /// Parses the text of a `Cargo.lock`.
    pub(crate) fn parse(text: &str) -> Self {
        let quoted = |line: &str| line.split('"').nth(1).unwrap_or_default().to_owned();
        let mut packages = Vec::<Package>::new();
        for line in text.lines().map(str::trim) {
            if line == "[[package]]" {
                packages.push(Package::default());
            }
            let Some(package) = packages.last_mut() else { continue };
            match line.split(' ').next() {
                Some("name") => package.name = quoted(line),
                Some("version") => package.version = quoted(line),
                Some("source") => package.source = quoted(line),
                Some("checksum") => package.checksum = quoted(line),
                _ if line.starts_with('"') => package.dependencies.push(quoted(line)),
                _ => {}
            }
        }
        Self(packages)
    }

    /// All external packages that the workspace packages in `used` depend on, directly or not, each as a line with its
    /// checksum. `used` maps each workspace package to the names of the packages it uses; other dependencies, such as those
    /// of tests, do not count.
    pub(crate) fn closure(&self, used: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
        let is_ours = |package: &Package| package.source.is_empty() && used.contains_key(&package.name);
        let mut seen = BTreeSet::new();
        let mut open: Vec<&Package> = self.0.iter().filter(|package| is_ours(package)).collect();
        while let Some(package) = open.pop() {
            let ours = used.get(&package.name).filter(|_| package.source.is_empty());
            for dependency in &package.dependencies {
                let mut words = dependency.split(' ');
                let (name, version) = (words.next().unwrap_or_default(), words.next());
                if ours.is_some_and(|names| !names.contains(name)) {
                    continue;
                }
                let is_it = |p: &&Package| p.name == name && version.is_none_or(|v| p.version == v);
                for found in self.0.iter().filter(is_it) {
                    if !is_ours(found) && seen.insert(found.line()) {
                        open.push(found);
                    }
                }
            }
        }
        seen
    }
}

impl Package {
    fn line(&self) -> String {
        let Self { name, version, source, checksum, .. } = self;
        format!("{name} {version} {source} {checksum}")
    }
}
