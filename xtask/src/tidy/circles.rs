//! Rule against circles of imports between files of a crate.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::code::{Code, word_positions};
use super::finding::Finding;
use crate::workspace::TextFile;

/// Files whose own imports are not followed, each with the reason.
const KNOWN: [(&str, &str); 2] = [
    (
        "bench-suite/src/catalog/target.rs",
        "a target lists the kinds of posterior, which are made from targets",
    ),
    ("bench-suite/src/registry.rs", "shows the list of experiments beside the type of its entries"),
];

/// Place of a module or an item: the names below the root of the crate.
type Place = Vec<String>;

/// A path in the code of a module, and the name that it gets there if it is imported.
struct Path {
    place: Place,
    name: Option<String>,
    is_public: bool,
}

/// Refuses files that import each other, directly or through others. A file that shows the items of its own submodules
/// (`pub use`) does not import them; tests may import everything.
pub(super) fn are_absent(files: &[TextFile]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, BTreeMap<Place, (&str, String)>> = BTreeMap::new();
    for TextFile { path, text } in files {
        let Some((name, stem)) = path.strip_suffix(".rs").and_then(|path| path.split_once("/src/")) else {
            continue;
        };
        let is_root = |part: &&str| !matches!((*part, stem), ("mod", _) | (_, "lib" | "main"));
        let place = stem.split('/').filter(is_root).map(String::from).collect();
        // `lib.rs` comes before `main.rs`.
        crates.entry(name).or_default().entry(place).or_insert((path, Code::of(text).outside_tests()));
    }
    crates.into_values().flat_map(circles).collect()
}

fn circles(mut files: BTreeMap<Place, (&str, String)>) -> Vec<Finding> {
    let is_declared = |place: &Place| match place.split_last() {
        Some((name, parent)) => {
            files.get(parent).is_some_and(|file| file.1.contains(&format!("mod {name};")))
        }
        None => true,
    };
    let tests: Vec<Place> = files.keys().filter(|place| !is_declared(place)).cloned().collect();
    files.retain(|place, _| !tests.iter().any(|test| place.starts_with(test)));
    let modules: BTreeSet<Place> = files.keys().cloned().collect();
    let of_file =
        |(place, (_, code)): (&Place, &(&str, String))| (place.clone(), paths(place, code, &modules));
    let paths: BTreeMap<Place, Vec<Path>> = files.iter().map(of_file).collect();
    let imports = |from: &Place| {
        let is_known = KNOWN.iter().any(|(path, _)| *path == files[from].0);
        let homes = paths[from].iter().filter(|_| !is_known).map(|path| (path, home(&path.place, &paths, 0)));
        let foreign =
            homes.filter(|(path, home)| home != from && !(path.is_public && home.starts_with(from)));
        foreign.map(|(_, home)| home).collect::<BTreeSet<_>>()
    };
    let graph: BTreeMap<&Place, BTreeSet<Place>> = modules.iter().map(|from| (from, imports(from))).collect();
    let (mut found, mut findings) = (BTreeSet::new(), Vec::new());
    for start in &modules {
        let Some(circle) = circle(start, &graph).filter(|circle| circle.iter().all(|at| !found.contains(at)))
        else {
            continue;
        };
        let names: Vec<&str> = circle.iter().map(|place| files[place].0).collect();
        let advice = format!("{}; move what they share to a file of its own", names.join(" imports "));
        findings.push(Finding::new(names[0], 1, "circle", advice));
        found.extend(circle);
    }
    findings
}

/// The shortest way along imports from a file back to itself.
fn circle(start: &Place, graph: &BTreeMap<&Place, BTreeSet<Place>>) -> Option<Vec<Place>> {
    let (mut seen, mut ways) = (BTreeSet::new(), VecDeque::from([vec![start.clone()]]));
    while let Some(way) = ways.pop_front() {
        for next in &graph[way.last()?] {
            let longer = [&way[..], std::slice::from_ref(next)].concat();
            if next == start {
                return Some(longer);
            }
            if seen.insert(next) {
                ways.push_back(longer);
            }
        }
    }
    None
}

/// The file in which an item is defined, through at most nine imports on the way.
fn home(item: &[String], paths: &BTreeMap<Place, Vec<Path>>, depth: usize) -> Place {
    let length = (0..=item.len()).rev().find(|length| paths.contains_key(&item[..*length])).unwrap_or(0);
    let (module, rest) = item.split_at(length);
    let shown =
        rest.first().and_then(|name| paths.get(module)?.iter().find(|p| p.name.as_ref() == Some(name)));
    match shown {
        Some(path) if depth < 9 => home(&[&path.place[..], &rest[1..]].concat(), paths, depth + 1),
        _ => module.to_vec(),
    }
}

/// The paths in a module's code that stay inside the crate.
fn paths(module: &[String], code: &str, modules: &BTreeSet<Place>) -> Vec<Path> {
    let (mut paths, mut rest, mut end) = (Vec::new(), String::new(), 0);
    let mut note = |path: &str, is_import: bool, is_public: bool| {
        let (path, alias) = path.split_once(" as ").unwrap_or((path, ""));
        let names: Vec<&str> = path.split("::").map(str::trim).collect();
        let up = names.iter().take_while(|name| **name == "super").count();
        let base = match names[0] {
            "crate" => &[],
            "super" => &module[..module.len().saturating_sub(up)],
            "self" => module,
            child if modules.contains(&[module, &[child.into()]].concat()) => module,
            _ => return,
        };
        let below = names.iter().filter(|name| !matches!(**name, "crate" | "super" | "self" | ""));
        let place: Place = base.iter().cloned().chain(below.map(|name| name.to_string())).collect();
        let name = Some(alias.trim()).filter(|alias| !alias.is_empty()).map(String::from);
        let name = name.or_else(|| place.last().cloned()).filter(|_| is_import);
        paths.push(Path { place, name, is_public });
    };
    for at in word_positions(code, "use").filter(|at| !code[at + 3..].trim_start().starts_with('<')) {
        let before = code[end..at].trim_end();
        rest += &code[end..at];
        end = at + code[at..].find(';').unwrap_or(code.len() - at);
        let is_public =
            before.ends_with("pub") || before.ends_with(')') && before.rfind("pub(") > before.rfind(';');
        expanded(&code[at + 3..end]).iter().for_each(|path| note(path, true, is_public));
    }
    rest += &code[end..];
    let words = rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    words.filter(|word| word.contains("::")).for_each(|word| note(word, false, false));
    paths
}

/// The single paths of the tree `a::{b, c::d}`.
fn expanded(tree: &str) -> Vec<String> {
    let Some((head, rest)) = tree.split_once('{') else { return vec![tree.trim().into()] };
    let mut depth = 0;
    let parts = rest.trim_end().trim_end_matches(';').strip_suffix('}').unwrap_or(rest).split(move |c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    let parts = parts.filter(|part| !part.trim().is_empty()).flat_map(expanded);
    parts.map(|part| format!("{}{part}", head.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| TextFile {
            path: format!("c/src/{path}.rs"),
            text: text.to_string(),
        };
        are_absent(&files.iter().map(file).collect::<Vec<_>>()).into_iter().map(|f| f.advice).collect()
    }

    #[test]
    fn circles_are_found_through_the_list_of_contents() {
        let lib = ("lib", "mod a;\nmod b;\npub use a::{A, Other as O};\npub use b::B;\n");
        let b = ("b", "use super::{O};\n");
        for a in ["use crate::B;", "use super::{b::{B, C}};", "fn f() -> crate::B {}"] {
            let found = found(&[lib, ("a", a), b]);
            assert_eq!(found.len(), 1, "{a}");
            assert!(found[0].starts_with("c/src/a.rs imports c/src/b.rs imports c/src/a.rs;"), "{found:?}");
        }
        assert_eq!(found(&[("main", "mod a;\nuse a::f;\n"), ("a", "use crate::say;")]).len(), 1);
    }

    #[test]
    fn tests_contents_and_other_crates_make_no_circle() {
        let lib = ("lib", "mod a;\npub mod b;\npub(crate) use a::A;\npub use b::C;\n#[cfg(test)]\nmod t;\n");
        let a = ("a", "//! crate::b::C\nuse std::{a, b};\n#[cfg(test)]\nmod tests { use crate::b::C; }\n");
        let b = ("b/mod", "mod c;\npub use c::C;\nfn f() -> impl Fn() + use<> { x::a::b() }\n");
        assert!(
            found(&[lib, a, b, ("b/c", "use crate::A;\nuse super::super::a;"), ("t", "use crate::A;")])
                .is_empty()
        );
    }
}
