//! Fingerprint of a program: a hash of all code and settings that its results depend on.
//!
//! Starting from given modules of a package, it follows
//!
//! * the modules that they mention, and no others of that package, so that drawing of results does not count;
//! * the packages of the workspace that they use, completely, and the dependencies of these packages ([`Manifest`]);
//! * the locked versions of external packages behind all of them ([`Lock`]);
//! * the files that this code includes, such as data;
//! * manifests and profiles, the compiler and its flags ([`settings`]).
//!
//! Comments, layout and tests do not count. Code that the search cannot resolve counts fully: a macro that names its file,
//! for instance, brings in every file of its package.

mod code;
mod lock;
mod manifest;
mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use code::{group, literal, tokens};
use lock::Lock;
use manifest::{Manifest, text_of};
use modules::Modules;

/// Files on which results do not depend: results that are quoted, and examples that are documentation.
const ASIDE: [&str; 3] = ["mcsa/src/book.rs", "mcsa/src/fit/measured.rs", "mcsa/src/readme.rs"];

/// Result of the search.
#[derive(Debug, Default)]
pub(crate) struct Fingerprint {
    /// Hashes by a name that does not depend on the location of the workspace: `core/src/lib.rs`, `locked faer`.
    pub(crate) parts: BTreeMap<String, u64>,
    /// Every file that was read.
    pub(crate) files: BTreeSet<PathBuf>,
    /// Environment variables that the code reads at build time.
    pub(crate) variables: BTreeSet<String>,
    /// Files that should count and could not be found.
    pub(crate) warnings: Vec<String>,
}

/// Fingerprint of all code that the modules `start` of the package in `folder` depend on. `home` is the folder of cargo's own
/// settings.
///
/// # Errors
/// If a file that counts cannot be read, or `folder` is not in a workspace.
pub(crate) fn find(folder: &Path, start: &[&str], home: Option<&Path>) -> io::Result<Fingerprint> {
    let folder = &fs::canonicalize(folder)?;
    let is_root = |folder: &&Path| {
        fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace]"))
    };
    let root = folder.ancestors().find(is_root).ok_or_else(|| io::Error::other("no workspace"))?;
    let mut walk = Walk { root, found: Fingerprint::default() };
    let text = walk.read(&root.join("Cargo.toml"))?;
    let manifest = Manifest::parse(&text);
    let (shared, mut used) = (manifest.shared(), BTreeMap::new());
    let (mut open, mut seen) = (vec![(folder.clone(), true)], BTreeSet::from([folder.clone()]));
    while let Some((folder, is_first)) = open.pop() {
        let package = Manifest::parse(&walk.read(&folder.join("Cargo.toml"))?);
        let place = walk.name(&folder);
        let words = walk.sources(&folder, is_first.then_some(start))?;
        let mut names = BTreeSet::new();
        let counts = |(name, _): &(&String, &String)| !is_first || words.contains(&name.replace('-', "_"));
        for (name, own) in package.dependencies().iter().filter(counts) {
            let inherited = own.contains("workspace").then(|| shared.get(name)).flatten();
            let written = format!("{own}{}", inherited.map_or("", String::as_str));
            names.insert(text_of(&written, "package").unwrap_or(name).to_owned());
            walk.add(&format!("dependency {name} of {place}"), written.as_bytes());
            let local = text_of(own, "path").map(|path| folder.join(path)).or_else(|| {
                let patched = inherited.or_else(|| shared.get(name));
                patched.and_then(|text| text_of(text, "path")).map(|path| root.join(path))
            });
            if let Some(local) =
                local.map(fs::canonicalize).transpose()?.filter(|local| seen.insert(local.clone()))
            {
                open.push((local, false));
            }
        }
        walk.add(&format!("package {place}"), package.package().join("\n").as_bytes());
        used.insert(package.name().to_owned(), names);
    }
    let lock = walk.read(&root.join("Cargo.lock"))?;
    for line in Lock::parse(&lock).closure(&used) {
        if line.split(' ').nth(2).is_none_or(str::is_empty) {
            walk.found.warnings.push(format!("the source of {line}is not part of the fingerprint"));
        }
        walk.add(&format!("locked {line}"), line.as_bytes());
    }
    walk.add("package of all", manifest.package().join("\n").as_bytes());
    walk.add("profiles", manifest.profiles().join("\n").as_bytes());
    let homes = root.ancestors().map(|folder| folder.join(".cargo"));
    for home in homes.chain(home.map(Path::to_owned)) {
        for file in ["config.toml", "config"].map(|name| home.join(name)).iter().filter(|file| file.is_file())
        {
            let profiles = Manifest::parse(&walk.read(file)?).profiles().join("\n");
            if !profiles.is_empty() {
                walk.add("profiles", profiles.as_bytes());
            }
        }
    }
    Ok(walk.found)
}

/// Variables of a build that can change results: optimisation, target, flags.
pub(crate) fn settings(variables: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
    const NAMES: [&str; 7] = [
        "CARGO_CFG_DEBUG_ASSERTIONS",
        "CARGO_CFG_PANIC",
        "CARGO_CFG_TARGET_FEATURE",
        "CARGO_ENCODED_RUSTFLAGS",
        "OPT_LEVEL",
        "PROFILE",
        "TARGET",
    ];
    let counts = |name: &str| NAMES.contains(&name) || name.starts_with("CARGO_PROFILE_");
    variables.into_iter().filter(|(name, _)| counts(name)).collect()
}

impl Fingerprint {
    /// Hash of all parts and settings: 16 hexadecimal digits.
    pub(crate) fn code(&self, settings: &BTreeMap<String, String>) -> String {
        let parts = self.parts.iter().map(|(name, part)| format!("{name} {part:016x}\n"));
        let settings = settings.iter().map(|(name, value)| format!("{name}={value}\n"));
        format!("{:016x}", fnv(parts.chain(settings).collect::<String>().as_bytes()))
    }
}

/// State of the search.
struct Walk<'r> {
    root: &'r Path,
    found: Fingerprint,
}

impl Walk<'_> {
    fn name(&self, path: &Path) -> String {
        let parts = path.strip_prefix(self.root).unwrap_or(path).components();
        let parts: Vec<_> = parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        parts.join("/")
    }

    /// Adds a part. If a name is added twice, its hash combines both contents.
    fn add(&mut self, name: &str, bytes: &[u8]) {
        let part = self.found.parts.entry(name.to_owned()).or_default();
        *part = part.rotate_left(1) ^ fnv(bytes);
    }

    /// Reads a file and records it as one that the fingerprint depends on.
    fn read(&mut self, path: &Path) -> io::Result<String> {
        self.found.files.insert(path.to_owned());
        let place = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        fs::read_to_string(path).map_err(place)
    }

    /// Adds the code of a package, or of the modules reached from `start`, and returns the identifiers it contains.
    fn sources(&mut self, folder: &Path, start: Option<&[&str]>) -> io::Result<BTreeSet<String>> {
        let modules = Modules::of(&folder.join("src").join("lib.rs"))?;
        let modules = match start {
            Some(start) => modules.reached_from(start),
            None => modules,
        };
        let (mut words, mut is_unclear) = (BTreeSet::new(), modules.is_unclear);
        // Output of a build script is unknown.
        is_unclear |= start.is_none() && folder.join("build.rs").is_file();
        for (path, text) in modules.files().filter(|(path, _)| !ASIDE.iter().any(|file| path.ends_with(file)))
        {
            self.found.files.insert(path.to_owned());
            let all = tokens(text);
            is_unclear |= self.included(path, &all)?;
            let is_root = start.is_some() && path.parent() == Some(&folder.join("src"));
            let lists = if is_root && path.ends_with("lib.rs") { without_modules(&all) } else { all.clone() };
            self.add(&self.name(path), lists.join(" ").as_bytes());
            words.extend(all.into_iter().map(str::to_owned));
        }
        if is_unclear {
            self.everything(folder)?;
        }
        Ok(words)
    }

    /// Adds the files that the tokens of a file include; returns true if an inclusion cannot be resolved.
    fn included(&mut self, path: &Path, tokens: &[&str]) -> io::Result<bool> {
        let mut is_unclear = false;
        let folder = path.parent().unwrap_or(self.root).to_owned();
        for (at, pair) in tokens.windows(3).enumerate().filter(|(_, pair)| pair[1] == "!") {
            let inside = &tokens[at + 2..at + 2 + group(&tokens[at + 2..])];
            match (pair[0], inside) {
                ("include_str" | "include_bytes", [_, file, _] | [_, file, ",", _])
                    if literal(file).is_some() =>
                {
                    let file = folder.join(literal(file).unwrap_or_default());
                    self.file(&file)?;
                }
                ("include_str" | "include_bytes", [_, "concat", "!", "(", first, .., last, ")", _])
                    if literal(first).is_some() && literal(last).is_some() =>
                {
                    let (first, last) =
                        (literal(first).unwrap_or_default(), literal(last).unwrap_or_default());
                    let (inside, prefix) = first.rsplit_once('/').unwrap_or((".", first));
                    self.matching(&folder.join(inside), prefix, last)?;
                }
                ("include" | "include_str" | "include_bytes", _) => is_unclear = true,
                ("env" | "option_env", [_, name, ..]) => {
                    // Variables that carry or describe the fingerprint itself cannot be part of it.
                    let name = literal(name).filter(|name| !name.starts_with("MCSA_"));
                    self.found.variables.extend(name.map(str::to_owned));
                }
                _ => {}
            }
        }
        Ok(is_unclear)
    }

    fn file(&mut self, path: &Path) -> io::Result<()> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let place = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let bytes = fs::read(&path).map_err(place)?;
        self.add(&self.name(&path), &bytes);
        self.found.files.insert(path);
        Ok(())
    }

    /// Adds the files of a folder whose names begin with `prefix` and end with `suffix`.
    fn matching(&mut self, folder: &Path, prefix: &str, suffix: &str) -> io::Result<()> {
        for path in entries(folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_file() && name.starts_with(prefix) && name.ends_with(suffix) {
                self.file(&path)?;
            }
        }
        self.found.files.insert(fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned()));
        Ok(())
    }

    /// Adds every file of a package.
    fn everything(&mut self, folder: &Path) -> io::Result<()> {
        for path in entries(folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match path.is_dir() {
                _ if name.starts_with('.') || name == "target" => {}
                true => self.everything(&path)?,
                false => self.file(&path)?,
            }
        }
        Ok(())
    }
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let place = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
    let entries = fs::read_dir(folder).map_err(place)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Tokens of a crate's root file without its module declarations, so that an unused module does not count.
fn without_modules<'t>(tokens: &[&'t str]) -> Vec<&'t str> {
    let mut kept: Vec<&str> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at..] {
            ["pub", "mod", _, ";", ..] => at += 4,
            ["mod", _, ";", ..] => at += 3,
            _ => {
                kept.push(tokens[at]);
                at += 1;
            }
        }
    }
    kept
}

/// 64-bit FNV-1a hash (Fowler, Noll & Vo): distinguishes versions; not cryptographic.
fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
