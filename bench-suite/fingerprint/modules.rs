//! Source files of a crate, found by following its module declarations.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::code::{group, is_word, literal, tokens};

/// Text of one source file.
#[derive(Debug)]
struct Source {
    /// Module path from the root of the crate: empty for `lib.rs`.
    module: Vec<String>,
    text: String,
}

/// The modules of a crate.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    sources: BTreeMap<PathBuf, Source>,
    /// True if something cannot be resolved, such as a module whose file a macro names: then all files of the package count.
    pub(crate) is_unclear: bool,
}

/// Modules that one file declares or mentions.
#[derive(Debug, Default)]
struct Links<'t> {
    /// Modules declared in files of their own: enclosing modules within this file, name, and `path` attribute.
    modules: Vec<(Vec<&'t str>, &'t str, Option<&'t str>)>,
    /// Modules of the crate's root that the file mentions.
    mentions: BTreeSet<&'t str>,
    /// True if the file may mention any of them.
    mentions_all: bool,
    is_unclear: bool,
}

impl Modules {
    /// All modules of the crate with this root file.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(crate) fn of(root: &Path) -> io::Result<Self> {
        let mut all = Self::default();
        let mut open = vec![(root.to_owned(), Vec::new())];
        while let Some((file, module)) = open.pop() {
            let text = fs::read_to_string(&file)?;
            let links = links(&tokens(&text), module.len()).owned();
            all.is_unclear |= links.1;
            for (around, name, given) in links.0 {
                let mut inside = module.clone();
                inside.extend(around);
                match found(&file, root, &inside[module.len()..], &name, given.as_deref()) {
                    Some(child) => {
                        inside.push(name);
                        open.push((child, inside));
                    }
                    None => all.is_unclear = true,
                }
            }
            all.sources.insert(file, Source { module, text });
        }
        Ok(all)
    }

    /// The modules reached from some modules of the crate's root through all that they mention; the root file counts too. A
    /// module counts with all modules inside it, and with every module that has an `impl` for one of its types.
    pub(crate) fn reached_from(mut self, start: &[&str]) -> Self {
        let names: BTreeSet<String> =
            self.sources.values().filter_map(|source| source.module.first().cloned()).collect();
        let mut reached = BTreeSet::new();
        let mut open: Vec<String> = start.iter().map(|name| (*name).to_owned()).collect();
        while let Some(name) = open.pop() {
            if !reached.insert(name.clone()) {
                continue;
            }
            for source in self.sources.values().filter(|source| source.module.first() == Some(&name)) {
                let all = tokens(&source.text);
                let links = links(&all, source.module.len());
                let is_known = links.mentions.iter().all(|name| names.contains(*name));
                match links.mentions_all || !is_known {
                    true => open.extend(names.iter().cloned()),
                    false => open.extend(links.mentions.iter().map(|name| (*name).to_owned())),
                }
            }
            if open.is_empty() {
                open.extend(self.extensions(&reached));
            }
        }
        self.sources.retain(|_, source| source.module.first().is_none_or(|name| reached.contains(name)));
        self
    }

    /// Modules outside of `reached` with an `impl` for one of its types.
    fn extensions(&self, reached: &BTreeSet<String>) -> Vec<String> {
        let (mut inside, mut others) = (BTreeSet::new(), Vec::new());
        for source in self.sources.values() {
            let Some(name) = source.module.first() else { continue };
            let all = tokens(&source.text);
            if reached.contains(name) {
                inside.extend(types(&all).into_iter().map(str::to_owned));
            } else {
                let own: BTreeSet<&str> = types(&all).into_iter().collect();
                let extended = extended(&all).into_iter().filter(|name| !own.contains(name));
                others.push((name, extended.map(str::to_owned).collect::<Vec<_>>()));
            }
        }
        let extends = others.iter().filter(|(_, names)| names.iter().any(|name| inside.contains(name)));
        extends.map(|(name, _)| (*name).clone()).collect()
    }

    /// Every file with its text.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.sources.iter().map(|(path, source)| (path.as_path(), source.text.as_str()))
    }
}

type Owned = (Vec<(Vec<String>, String, Option<String>)>, bool);

impl Links<'_> {
    fn owned(&self) -> Owned {
        let own = |(around, name, given): &(Vec<&str>, &str, Option<&str>)| {
            let around = around.iter().map(|name| (*name).to_owned()).collect();
            (around, (*name).to_owned(), given.map(str::to_owned))
        };
        (self.modules.iter().map(own).collect(), self.is_unclear)
    }
}

/// File of a module that is declared in another file.
fn found(file: &Path, root: &Path, around: &[String], name: &str, given: Option<&str>) -> Option<PathBuf> {
    let folder = file.parent()?;
    if let Some(given) = given {
        return Some(folder.join(given)).filter(|path| path.is_file() && around.is_empty());
    }
    let is_root = file == root || file.file_name()? == "mod.rs";
    let folder = if is_root { folder.to_owned() } else { file.with_extension("") };
    let folder = around.iter().fold(folder, |folder, name| folder.join(name));
    let files = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
    files.into_iter().find(|path| path.is_file())
}

/// Modules that a file leads to; `depth` is the depth of the file's own module.
fn links<'t>(tokens: &[&'t str], depth: usize) -> Links<'t> {
    let mut links = Links::default();
    let (mut around, mut braces) = (Vec::<(&str, usize)>::new(), 0_usize);
    for (at, token) in tokens.iter().enumerate() {
        let next = |ahead: usize| tokens.get(at + ahead).copied().unwrap_or_default();
        let last = |back: usize| at.checked_sub(back).map_or("", |at| tokens[at]);
        match *token {
            "{" => braces += 1,
            "}" => {
                braces = braces.saturating_sub(1);
                around.retain(|(_, opened)| *opened < braces + 1);
            }
            "mod" if next(2) == "{" => around.push((next(1), braces + 1)),
            "mod" if next(2) == ";" => {
                let given = tokens[..at].rsplit(|token| *token == "}" || *token == ";").next();
                let given = given.and_then(|before| {
                    let path = before.windows(2).position(|pair| pair == ["path", "="])?;
                    literal(before.get(path + 2)?)
                });
                links.modules.push((around.iter().map(|(name, _)| *name).collect(), next(1), given));
            }
            "mod" if next(1) == "$" && next(3) == ";" => links.is_unclear = true,
            "macro_use" if depth == 0 => links.is_unclear = true,
            "crate" if last(1) == "(" || last(1) == "in" => {}
            "crate" => mention(&tokens[at + 1..], &mut links),
            "super" if last(1) != ":" && last(1) != "(" && last(1) != "in" => {
                let chain = tokens[at..].chunks(3).take_while(|step| *step == ["super", ":", ":"]).count();
                if chain >= depth + around.len() && chain > 0 {
                    mention(&tokens[at + 3 * chain - 2..], &mut links);
                }
            }
            _ => {}
        }
    }
    links
}

/// Records the names after the root of the crate: `::name`, or `::{name, name::name}`.
fn mention<'t>(tokens: &[&'t str], links: &mut Links<'t>) {
    let mut names = match tokens {
        [":", ":", "{", rest @ ..] => rest,
        [":", ":", name, ..] if is_word(name) => {
            links.mentions.insert(name);
            return;
        }
        _ => {
            links.mentions_all = true;
            return;
        }
    };
    while let [name, rest @ ..] = names {
        match *name {
            "}" => return,
            name if is_word(name) && name != "self" => drop(links.mentions.insert(name)),
            _ => links.mentions_all = true,
        }
        let mut at = 0;
        while at < rest.len() && rest[at] != "," && rest[at] != "}" {
            at += if rest[at] == "{" { group(&rest[at..]) } else { 1 };
        }
        names = rest[at..].strip_prefix(&[","]).unwrap_or(&rest[at..]);
    }
}

/// Types and traits defined in a file.
fn types<'t>(tokens: &[&'t str]) -> Vec<&'t str> {
    let is_type = |pair: &&[&str]| ["struct", "enum", "union", "trait", "type"].contains(&pair[0]);
    tokens.windows(2).filter(is_type).map(|pair| pair[1]).collect()
}

/// Types that a file has an `impl` for.
fn extended<'t>(tokens: &[&'t str]) -> Vec<&'t str> {
    let mut names = Vec::new();
    for (at, _) in tokens.iter().enumerate().filter(|(_, token)| **token == "impl") {
        let header =
            tokens[at + 1..].split(|token| ["{", ";", "where"].contains(token)).next().unwrap_or(&[]);
        let is_for = |at: &usize| header[*at] == "for" && header.get(at + 1) != Some(&"<");
        let start = (0..header.len()).find(is_for).map_or(0, |at| at + 1);
        let mut depth = 0_usize;
        let mut name = None;
        for token in &header[start..] {
            match *token {
                "<" => depth += 1,
                ">" => depth = depth.saturating_sub(1),
                word if depth == 0 && is_word(word) && word != "dyn" && word != "mut" => name = Some(word),
                _ => {}
            }
        }
        names.extend(name);
    }
    names
}
