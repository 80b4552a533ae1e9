//! Reader of Cargo manifests for the fingerprint.

use std::collections::BTreeMap;

/// A manifest as a list of settings. Reads a subset of TOML: tables, keys, and values that may run over several lines.
#[derive(Debug, Default)]
pub(crate) struct Manifest(Vec<Setting>);

/// One `key = value` under the heading of its table.
#[derive(Debug)]
struct Setting {
    table: String,
    key: String,
    value: String,
}

/// Keys of a package or profile that cannot change a result.
const WORDS: [&str; 18] = [
    "authors",
    "categories",
    "debug",
    "description",
    "documentation",
    "homepage",
    "incremental",
    "keywords",
    "license",
    "license-file",
    "name",
    "publish",
    "readme",
    "repository",
    "rust-version",
    "split-debuginfo",
    "strip",
    "version",
];

impl Manifest {
    /// Parses a text.
    pub(crate) fn parse(text: &str) -> Self {
        let (mut settings, mut table) = (Vec::<Setting>::new(), String::new());
        let mut open = 0;
        for line in text.lines().map(|line| without_comment(line).trim()).filter(|line| !line.is_empty()) {
            match settings.last_mut().filter(|_| open > 0) {
                Some(setting) => {
                    setting.value.push(' ');
                    setting.value.push_str(line);
                    open += balance(line);
                }
                None if line.starts_with('[') => {
                    table = line.trim_matches(['[', ']', ' ']).replace([' ', '"', '\''], "");
                }
                None => {
                    let (key, value) = line.split_once('=').unwrap_or((line, ""));
                    let [key, value] = [key.trim().replace('"', ""), value.trim().to_owned()];
                    settings.push(Setting { table: table.clone(), key, value });
                    open = balance(line);
                }
            }
        }
        Self(settings)
    }

    /// Name of the package.
    pub(crate) fn name(&self) -> &str {
        let is_it = |setting: &&Setting| setting.table == "package" && setting.key == "name";
        self.0.iter().find(is_it).map_or("", |setting| setting.value.trim_matches(['"', '\'']))
    }

    /// Specification of each dependency of a build, without dev-dependencies, by the name that it has in the code; in the
    /// form `{ path = "..", .. }`, several tables joined.
    pub(crate) fn dependencies(&self) -> BTreeMap<String, String> {
        self.named(|table| {
            // [dependencies], [target.'cfg(unix)'.dependencies], [dependencies.name]
            let own = table.rsplit('.').next().is_some_and(is_dependencies);
            let parent = table
                .rsplit_once('.')
                .is_some_and(|(before, _)| before.rsplit('.').next().is_some_and(is_dependencies));
            (!table.starts_with("workspace")).then_some(()).and(match (own, parent) {
                (true, _) => Some(None),
                (_, true) => Some(table.rsplit('.').next()),
                _ => None,
            })
        })
    }

    /// Specifications in the root manifest: dependencies that packages inherit, and patches.
    pub(crate) fn shared(&self) -> BTreeMap<String, String> {
        self.named(|table| match table.strip_prefix("workspace.dependencies") {
            Some("") => Some(None),
            Some(name) => Some(name.strip_prefix('.')),
            None => table.starts_with("patch.").then_some(None),
        })
    }

    /// Settings whose table is a list of dependencies (`Some(None)`) or describes one of them (`Some(Some(name))`).
    fn named<'m>(&'m self, of: impl Fn(&'m str) -> Option<Option<&'m str>>) -> BTreeMap<String, String> {
        let mut all = BTreeMap::<String, String>::new();
        for Setting { table, key, value } in &self.0 {
            let (name, rest) = match of(table) {
                Some(Some(name)) => (name, Some(key.as_str())),
                Some(None) => key.split_once('.').map_or((key.as_str(), None), |(a, b)| (a, Some(b))),
                None => continue,
            };
            let written = match rest {
                Some(rest) => format!("{rest} = {value}, "),
                None => format!("{value}, "),
            };
            all.entry(name.trim().to_owned()).or_default().push_str(&written);
        }
        all
    }

    /// Settings of the package's own build: edition, library and features.
    pub(crate) fn package(&self) -> Vec<String> {
        self.told(|table| ["package", "lib", "features", "workspace", "workspace.package"].contains(&table))
    }

    /// Profiles and patches.
    pub(crate) fn profiles(&self) -> Vec<String> {
        self.told(|table| table.starts_with("profile") || table.starts_with("patch"))
    }

    fn told(&self, is_it: impl Fn(&str) -> bool) -> Vec<String> {
        let counts = |setting: &&Setting| {
            let key = setting.key.split('.').next().unwrap_or_default();
            let is_list = setting.table == "workspace" && key != "resolver";
            is_it(&setting.table) && !WORDS.contains(&key) && !is_list
        };
        let line = |setting: &Setting| format!("[{}] {} = {}", setting.table, setting.key, setting.value);
        self.0.iter().filter(counts).map(line).collect()
    }
}

fn is_dependencies(name: &str) -> bool {
    name == "dependencies" || name == "build-dependencies"
}

/// The text that a specification gives for a key, such as `path` in `{ path = "core" }`.
pub(crate) fn text_of<'s>(specification: &'s str, key: &str) -> Option<&'s str> {
    let starts =
        |at: &usize| !specification[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
    let found = specification.match_indices(key).map(|(at, _)| at).filter(starts);
    let value = found.filter_map(|at| specification[at + key.len()..].trim_start().strip_prefix('='));
    value.filter_map(|value| value.trim_start().strip_prefix(['"', '\''])?.split(['"', '\'']).next()).next()
}

fn without_comment(line: &str) -> &str {
    outside_strings(line).find(|(_, c)| *c == '#').map_or(line, |(at, _)| &line[..at])
}

/// Number of opening brackets minus number of closing brackets in a line.
fn balance(line: &str) -> i32 {
    let step = |(_, c)| match c {
        '[' | '{' => 1,
        ']' | '}' => -1,
        _ => 0,
    };
    outside_strings(line).map(step).sum()
}

fn outside_strings(line: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut quote = None;
    line.char_indices().filter(move |(_, c)| {
        match (quote, *c) {
            (None, '"' | '\'') => quote = Some(*c),
            (Some(open), c) if c == open => quote = None,
            (None, _) => return true,
            _ => {}
        }
        false
    })
}
