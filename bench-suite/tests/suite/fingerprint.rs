//! The fingerprint of results: changes that affect it, and changes that do not.

#[path = "../../fingerprint/mod.rs"]
mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use search::Fingerprint;

/// As in `build.rs`.
const START: [&str; 1] = ["kinds"];

/// Folders of the workspace packages that results depend on.
const PACKAGES: [&str; 11] = [
    "bench-suite",
    "bench-suite/data",
    "core",
    "diagnostics",
    "estimators",
    "families",
    "kernels",
    "mcsa",
    "models",
    "optim",
    "theory",
];

/// Modules of the suite that compute rows, and some that only show them.
const ROWS: [&str; 9] =
    ["as_published", "catalog", "grid", "kinds", "metric", "number", "quantile", "store", "task"];
const SHOWN: [&str; 11] = [
    "claims",
    "results",
    "experiment",
    "experiments",
    "figures",
    "look",
    "plan",
    "registry",
    "report",
    "tables",
    "verbs",
];

/// The module of the suite that contains a file.
fn module(place: &str) -> Option<&str> {
    let rest = place.strip_prefix("bench-suite/src/")?;
    rest.split('/').next().map(|name| name.trim_end_matches(".rs"))
}

fn workspace() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the suite is in a workspace");
        fs::canonicalize(root).expect("it is there")
    });
    &ROOT
}

fn of(root: &Path) -> Fingerprint {
    let found = search::find(&root.join("bench-suite"), &START, None).expect("it can be read");
    assert_eq!(found.warnings, [""; 0]);
    found
}

/// An empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("mcsa-fingerprint-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).expect("a folder");
        for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::copy(from, to).expect("a copy");
    }
}

/// A copy of the parts of the workspace that are built.
fn copied(name: &str) -> PathBuf {
    let root = folder(name);
    for file in ["Cargo.toml", "Cargo.lock"] {
        copy(&workspace().join(file), &root.join(file));
    }
    for package in PACKAGES {
        fs::create_dir_all(root.join(package)).expect("a folder");
        for part in ["Cargo.toml", "src", "data", "references"]
            .iter()
            .filter(|p| workspace().join(package).join(p).exists())
        {
            copy(&workspace().join(package).join(part), &root.join(package).join(part));
        }
    }
    root
}

fn edit(path: &Path, change: impl FnOnce(String) -> String) {
    let text = fs::read_to_string(path).expect("a text");
    let changed = change(text.clone());
    assert_ne!(text, changed, "{}", path.display());
    fs::write(path, changed).expect("a file");
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let inside = |path: PathBuf| match path.is_dir() {
        true => rust_files(&path),
        false => Vec::from_iter(path.extension().is_some_and(|ending| ending == "rs").then_some(path)),
    };
    entries.flat_map(inside).collect()
}

/// Changes the checksum of a package in `Cargo.lock`.
fn locked_otherwise(root: &Path, package: &str) {
    edit(&root.join("Cargo.lock"), |text| {
        let (before, after) = text.split_once(&format!("name = \"{package}\"\n")).expect(package);
        format!("{before}name = \"{package}\"\n{}", after.replacen("checksum = \"", "checksum = \"0", 1))
    });
}

#[test]
fn a_line_anywhere_that_numbers_pass_through_moves_it() {
    let (root, before) = (copied("moves"), of(workspace()));
    assert_eq!(before.parts, of(&root).parts, "wherever the workspace is");
    let sources: Vec<&String> = before.parts.keys().filter(|name| name.ends_with(".rs")).collect();
    for package in PACKAGES {
        assert!(sources.contains(&&format!("{package}/src/lib.rs")), "{package}");
    }
    for name in ROWS {
        assert!(sources.iter().any(|source| module(source) == Some(name)), "{name}");
    }
    let mut changed: BTreeSet<String> = sources.iter().map(|name| (*name).clone()).collect();
    for name in &changed {
        edit(&root.join(name), |text| text + "const _CHANGED: f64 = 1.0;\n");
    }
    for file in ["data/pima.csv", "data/radon_mn.csv", "data/manifest.toml"] {
        edit(&root.join("bench-suite").join(file), |text| text + "0\n");
        changed.insert(format!("bench-suite/{file}"));
    }
    // A feature of a dependency, and a profile.
    edit(&root.join("Cargo.toml"), |text| {
        let text = text.replacen("features = [\"std\", \"linalg\"]", "features = [\"std\"]", 1);
        text.replacen(
            "[profile.dev.package.faer]\nopt-level = 3",
            "[profile.dev.package.faer]\nopt-level = 2",
            1,
        )
    });
    changed.insert("profiles".into());
    changed.extend(before.parts.keys().filter(|name| name.starts_with("dependency faer of")).cloned());
    edit(&root.join("diagnostics/Cargo.toml"), |text| {
        text.replacen("edition.workspace = true", "edition = \"2021\"", 1)
    });
    changed.insert("package diagnostics".into());
    // The version of an indirect dependency.
    for package in ["private-gemm-x86", "statrs", "libm"] {
        locked_otherwise(&root, package);
        changed.extend(before.parts.keys().filter(|n| n.starts_with(&format!("locked {package} "))).cloned());
    }
    let after = of(&root);
    let moved = |name: &&String| before.parts.get(*name) != after.parts.get(*name);
    let moved: BTreeSet<String> = before.parts.keys().filter(moved).cloned().collect();
    assert_eq!(moved, changed);
    let _ = fs::remove_dir_all(&root);
    // Each change alone.
    let (none, mut codes) = (BTreeMap::new(), BTreeSet::from([before.code(&BTreeMap::new())]));
    for name in &moved {
        let mut one = Fingerprint { parts: before.parts.clone(), ..Fingerprint::default() };
        match after.parts.get(name) {
            Some(part) => one.parts.insert(name.clone(), *part),
            None => one.parts.remove(name),
        };
        assert!(codes.insert(one.code(&none)), "{name}");
    }
}

#[test]
fn comments_tests_and_drawing_do_not_move_it() {
    let (root, before) = (copied("stays"), of(workspace()));
    for name in before.parts.keys().filter(|name| name.ends_with(".rs")) {
        edit(&root.join(name), |text| {
            let text = text.replace("{\n", "{  // why\n\n/* and\nwhy not */ ");
            format!(
                "// Another word.\n\n{text}\n#[cfg(test)]\nmod more_tests {{ fn f() {{ g(\"}}\"); }} }}\n"
            )
        });
    }
    let suite = root.join("bench-suite/src");
    let aside = |path: &PathBuf| {
        let name = path.strip_prefix(workspace()).expect("in it").to_string_lossy().into_owned();
        !before.parts.contains_key(&name)
    };
    let drawing: Vec<PathBuf> =
        rust_files(&workspace().join("bench-suite/src")).into_iter().filter(aside).collect();
    for name in SHOWN {
        let is_shown = |path: &&PathBuf| path.to_string_lossy().contains(&format!("/src/{name}"));
        assert!(drawing.iter().any(|path| is_shown(&path)), "{name}");
    }
    let is_shown = |name: &&String| module(name).is_some_and(|module| SHOWN.contains(&module));
    assert_eq!(before.parts.keys().find(is_shown), None);
    let is_aside = |name: &&String| name.starts_with("bench-suite/plot");
    assert_eq!(before.parts.keys().find(is_aside), None);
    for path in &drawing {
        let path = suite.join(path.strip_prefix(workspace().join("bench-suite/src")).expect("in it"));
        edit(&path, |text| text + "const _LEGEND: f64 = 1.0;\n");
    }
    // A new module that no other module uses.
    edit(&suite.join("lib.rs"), |text| text + "pub mod legend;\n");
    fs::write(suite.join("legend.rs"), "pub fn legend() {}\n").expect("a file");
    ["plotters", "criterion", "resvg"].iter().for_each(|package| locked_otherwise(&root, package));
    edit(&root.join("core/Cargo.toml"), |text| {
        text.replacen("description = \"", "description = \"A ", 1).replacen("libm = \"0.2", "libm = \"0.1", 1)
    });
    edit(&root.join("Cargo.toml"), |text| text.replacen("todo = \"deny\"", "todo = \"warn\"", 1));
    let after = of(&root);
    let moved = |name: &&String| before.parts.get(*name) != after.parts.get(*name);
    let moved: Vec<&String> = before.parts.keys().chain(after.parts.keys()).filter(moved).collect();
    // The list of modules is the only content of the crate's root.
    assert_eq!(moved, [""; 0]);
    let _ = fs::remove_dir_all(&root);
}

/// Every file of our packages that the compiler read, by its own record, is in the fingerprint or a known exception.
#[test]
fn the_compiler_read_no_other_file() {
    let program = std::env::current_exe().expect("a program");
    let built = program.parent().expect("its folder");
    let found = of(workspace());
    let mut seen = BTreeSet::new();
    for package in PACKAGES {
        let name = match package {
            "mcsa" => "mcsa".to_owned(),
            "bench-suite/data" => "mcsa_data".to_owned(),
            _ => format!("mcsa_{}", package.replace('-', "_")),
        };
        let entries = fs::read_dir(built).expect("a folder").map(|entry| entry.expect("an entry").path());
        let is_it = |path: &PathBuf| {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let library = path.with_file_name(format!("lib{stem}.rlib"));
            let ending = path.extension().is_some_and(|ending| ending == "d");
            ending && stem.rsplit_once('-').is_some_and(|(before, _)| before == name) && library.exists()
        };
        let newest =
            entries.filter(is_it).max_by_key(|path| fs::metadata(path).and_then(|m| m.modified()).ok());
        let Some(newest) = newest else { continue };
        let text = fs::read_to_string(newest).expect("a text");
        let (_, files) = text.lines().next().and_then(|line| line.split_once(": ")).expect("a rule of make");
        for file in files.split(' ').map(|file| workspace().join(file)).filter(|file| file.is_file()) {
            let file = fs::canonicalize(file).expect("it is there");
            let Ok(place) = file.strip_prefix(workspace()) else { continue };
            let place = place.to_string_lossy().into_owned();
            seen.insert(package);
            let is_aside = [
                "README.md",
                "bench-suite/anchors/rows.csv",
                "bench-suite/examples/scoreboard-trial.toml",
                "mcsa/src/book.rs",
                "mcsa/src/fit/measured.rs",
                "mcsa/src/readme.rs",
            ]
            .contains(&&*place)
                || ["bench-suite/experiments/", "bench-suite/published/", "docs/book/"]
                    .iter()
                    .any(|f| place.starts_with(f))
                || module(&place).is_some_and(|module| !ROWS.contains(&module));
            assert!(found.parts.contains_key(&place) || is_aside, "{place}");
        }
    }
    assert_eq!(seen, BTreeSet::from(PACKAGES), "each was built, and told what of");
}

#[test]
fn settings_of_the_build_move_it() {
    let found = Fingerprint { parts: [("a.rs".to_owned(), 1)].into(), ..Fingerprint::default() };
    let variables = |changed: (&str, &str)| {
        let mut all = BTreeMap::from([
            ("OPT_LEVEL", "1"),
            ("CARGO_ENCODED_RUSTFLAGS", ""),
            ("CARGO_CFG_TARGET_FEATURE", "sse"),
            ("PROFILE", "debug"),
            ("TARGET", "x86_64-unknown-linux-gnu"),
        ]);
        all.insert(changed.0, changed.1);
        search::settings(all.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())))
    };
    let mut codes = BTreeSet::from([found.code(&variables(("PROFILE", "debug")))]);
    let changes = [
        ("OPT_LEVEL", "3"),
        ("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-cpu=native"),
        ("CARGO_CFG_TARGET_FEATURE", "avx,sse"),
        ("PROFILE", "release"),
        ("TARGET", "aarch64-unknown-linux-gnu"),
        ("CARGO_PROFILE_DEV_OPT_LEVEL", "2"),
    ];
    for change in changes {
        assert!(codes.insert(found.code(&variables(change))), "{change:?}");
    }
    assert!(
        !codes.insert(found.code(&variables(("HOSTNAME", "elsewhere")))),
        "where it is built does not count"
    );
}

/// A small workspace for cases that ours does not contain.
fn small(name: &str, library: &str, rows: &str, other: &str) -> BTreeSet<String> {
    let root = folder(name);
    fs::create_dir_all(root.join("a/src/notes")).expect("a folder");
    let write = |file: &str, text: &str| fs::write(root.join(file), text).expect("a file");
    write("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n");
    write("Cargo.lock", "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"0.1.0\"\n");
    write("a/Cargo.toml", "[package]\nname = \"a\"\n");
    write("a/notes.txt", "a note");
    write("a/src/lib.rs", library);
    write("a/src/rows.rs", rows);
    write("a/src/other.rs", other);
    write("a/src/plain.rs", "pub struct Plain;\n");
    let found = search::find(&root.join("a"), &["rows"], None).expect("it can be read");
    let _ = fs::remove_dir_all(&root);
    found.parts.into_keys().filter_map(|name| name.strip_prefix("a/").map(str::to_owned)).collect()
}

#[test]
fn what_is_not_understood_counts() {
    let library = "mod rows;\nmod other;\nmod plain;\n";
    let files = |rows: &str, other: &str| small("small", library, rows, other);
    let only = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(files("pub struct Row;", "struct Other;"), only(&["src/lib.rs", "src/rows.rs"]));
    let other = only(&["src/lib.rs", "src/other.rs", "src/rows.rs"]);
    assert_eq!(files("use crate::other::X;", ""), other);
    assert_eq!(files("use super::{other};", ""), other);
    assert_eq!(files("fn f() { crate::other::x() }", ""), other);
    assert_eq!(files("mod inside { use super::super::other; }", ""), other);
    assert_eq!(files("pub struct Row;", "impl std::ops::Add<u8> for crate::rows::Row {}"), other, "its sum");
    assert_eq!(
        files("// crate::other\nconst A: &str = \"crate::other\";", ""),
        only(&["src/lib.rs", "src/rows.rs"])
    );
    let all = only(&["src/lib.rs", "src/other.rs", "src/plain.rs", "src/rows.rs"]);
    for line in ["use crate::*;", "use crate::{self};", "use crate as a;", "crate::a_macro!();"] {
        assert_eq!(files(line, ""), all, "{line}");
    }
    let noted = files("const A: &str = include_str!(\"../notes.txt\");", "");
    assert_eq!(noted, only(&["notes.txt", "src/lib.rs", "src/rows.rs"]));
    let noted = files("const A: &str = include_str!(concat!(\"../no\", $name, \".txt\"));", "");
    assert_eq!(noted, only(&["notes.txt", "src/lib.rs", "src/rows.rs"]));
    for line in ["include!(somewhere!());", "mod $name;", "mod absent;"] {
        assert!(files(line, "").is_superset(&only(&["Cargo.toml", "notes.txt", "src/other.rs"])), "{line}");
    }
}
