//! The fingerprint of results: changes that move it, and changes that do not.

#[path = "../../fingerprint.rs"]
mod search;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use search::{ASIDE, CALL, Fingerprint, ROWS};

const FILES: [(&str, &str); 8] = [
    (
        "Cargo.toml",
        "[workspace.package]\nedition = '2024'\n[workspace.dependencies]\na = { path = 'a' }\nfaer = '1'\n\
         mcsa-plot = { path = 'plot' }\n[profile.release]\nlto = true\n[profile.dev]\nlto = 'off'\n",
    ),
    (
        "Cargo.lock",
        "[[package]]\nname = 'faer'\nversion = '1.0'\nchecksum = 'x'\ndependencies = ['below']\n\
         [[package]]\nname = 'below'\nversion = '2.0'\nchecksum = 'y'\n\
         [[package]]\nname = 'svg'\nversion = '3.0'\nchecksum = 'z'\n",
    ),
    (
        "suite/Cargo.toml",
        "[dependencies]\na = { workspace = true }\nmcsa-plot = { workspace = true }\n[dev-dependencies]\ntests = '1'\n",
    ),
    ("suite/src/jobs/fit.rs", "fn fit() -> f64 { 1.0 }\n\n#[cfg(test)]\nmod tests {\n    fn f() {}\n}\n"),
    ("suite/src/report.rs", "fn page() {}\n"),
    ("a/Cargo.toml", "[dependencies]\nfaer = { workspace = true }\n"),
    ("a/src/lib.rs", "//! Library.\nmod b;\n"),
    ("a/src/b/c.rs", "fn c() {}\n"),
];

fn code(root: &Path) -> String {
    Fingerprint::find(root, "suite", "release").expect("it can be read").code(&[])
}

/// A small workspace.
fn workspace() -> PathBuf {
    let root = crate::process::folder("fingerprint");
    for (name, text) in FILES {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    root
}

#[test]
fn code_that_computes_rows_and_packages_below_it_move_the_fingerprint() {
    let root = workspace();
    let before = code(&root);
    for (name, from, to, moves) in [
        ("suite/src/jobs/fit.rs", "1.0", "2.0", true),
        ("a/src/b/c.rs", "{}", "{ 1; }", true),
        ("a/Cargo.toml", "true }", "true, features = ['std'] }", true),
        ("Cargo.toml", "faer = '1'", "faer = '1.1'", true),
        ("Cargo.toml", "lto = true", "lto = false", true),
        ("Cargo.lock", "'x'", "'other'", true),
        ("Cargo.lock", "'y'", "'other'", true),
        // Code behind the tests of a file counts.
        ("suite/src/jobs/fit.rs", "fn f() {}\n}\n", "fn f() {}\n}\nfn g() {}\n", true),
        // A fingerprint that these moved would call unchanged results stale.
        ("Cargo.lock", "'z'", "'other'", false),
        ("Cargo.toml", "'off'", "'thin'", false),
        ("suite/src/report.rs", "{}", "{ 1; }", false),
        ("suite/src/jobs/fit.rs", "fn f() {}", "fn f() { 1; }", false),
        ("a/src/lib.rs", "Library", "Crate", false),
        ("suite/Cargo.toml", "tests = '1'", "tests = '2'", false),
    ] {
        let text = fs::read_to_string(root.join(name)).expect("a text");
        assert!(text.contains(from), "{name}");
        fs::write(root.join(name), text.replace(from, to)).expect("a file");
        assert_eq!(code(&root) != before, moves, "{name}: {from} -> {to}");
        fs::write(root.join(name), text).expect("a file");
    }
    fs::write(root.join("a/src/b/new.rs"), "fn new() {}\n").expect("a file");
    assert_ne!(code(&root), before);
}

/// A crate that is left aside, and its use, do not move the fingerprint; all else does.
#[test]
fn what_is_aside_does_not_count() {
    let root = workspace();
    let code = || Fingerprint::find(&root, "suite", "release").expect("it can be read").code(&["a/"]);
    let before = code();
    for (name, moves) in [("a/src/b/c.rs", false), ("a/Cargo.toml", false), ("suite/src/jobs/fit.rs", true)] {
        let text = fs::read_to_string(root.join(name)).expect("a text");
        let changed = text
            .replace("{}", "{ 1; }")
            .replace("1.0", "2.0")
            .replace("true }", "true, features = ['std'] }");
        assert_ne!(text, changed);
        fs::write(root.join(name), changed).expect("a file");
        assert_eq!(code() != before, moves, "{name}");
        fs::write(root.join(name), text).expect("a file");
    }
}

/// Files below a path whose code has the word.
fn uses(path: &Path, word: &str) -> Vec<PathBuf> {
    if path.is_dir() {
        let inside = fs::read_dir(path).expect("a folder");
        return inside.flat_map(|entry| uses(&entry.expect("an entry").path(), word)).collect();
    }
    let text = fs::read_to_string(path).expect("a text");
    let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    Vec::from_iter(code.any(|line| line.contains(word)).then(|| path.to_owned()))
}

/// Only the jobs of the call name its crate, so that the results of the others do not depend on it. None names a crate that counts for
/// no row.
#[test]
fn jobs_use_the_crates_that_count_for_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let of_jobs =
        |word: &str| ROWS.iter().flat_map(|part| uses(&folder.join(part), word)).collect::<Vec<_>>();
    let found = of_jobs("mcsa::");
    assert!(!found.is_empty());
    for path in found {
        let is_call = CALL.iter().any(|place| path.starts_with(folder.with_file_name("").join(place)));
        assert!(is_call, "{}", path.display());
    }
    for name in ASIDE {
        assert_eq!(of_jobs(&name.replace('-', "_")), Vec::<PathBuf>::new(), "{name}");
    }
    assert!(!uses(&folder.join("src"), "mcsa_testing").is_empty(), "the word is found where it is");
}

/// The crates on which this program depends, by cargo's own record, are those whose sources count.
#[test]
fn every_crate_of_ours_counts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline", "-p", "mcsa-bench-suite", "-e", "normal", "--prefix", "none"]);
    let tree =
        String::from_utf8(cargo.current_dir(root).output().expect("cargo starts").stdout).expect("text");
    let found = Fingerprint::find(root, "bench-suite", "release").expect("it can be read").paths;
    let folders =
        tree.lines().filter_map(|line| line.split_once('(')?.1.split_once(')').map(|(path, _)| path));
    let folders: Vec<PathBuf> =
        folders.filter(|path| path.starts_with('/')).map(|path| Path::new(path).join("src")).collect();
    assert!(folders.len() > 10);
    for folder in folders {
        let is_aside = ["bench-suite/src", "plot/src", "testing/src"].iter().any(|own| folder.ends_with(own));
        assert_eq!(found.contains(&folder), !is_aside, "{}", folder.display());
    }
}
