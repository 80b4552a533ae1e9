//! Files that the program writes and reads: links, devices, pipes, folders, two arguments with one file.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use mcsa_bench_suite::store::Store;

use crate::kinds::cost_jobs;
use crate::process::{made_folder as folder, words};

/// Runs the program, which has two minutes.
fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["120", env!("CARGO_BIN_EXE_mcsa-bench")]).args(arguments).output().expect("it starts")
}

/// Exit code and messages.
fn said(arguments: &[&str]) -> (i32, String) {
    let Output { status, stderr, .. } = run(arguments);
    (status.code().expect("it ends by itself"), words(&stderr))
}

fn word(path: &Path) -> &str {
    path.to_str().expect("a path in words")
}

const SHORT: [&str; 5] = ["fit", "--model", "eight-schools", "--set", "steps=20"];
/// Fits of hours.
const LONG: [&str; 5] = ["fit", "--model", "radon", "--set", "steps=1000000000"];
const LONG_AUTO: [&str; 6] = ["fit", "--auto", "--model", "radon", "--budget", "1000000000000"];

fn is_report(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok_and(|report| report["fit"].is_object())
}

/// A link to the output of this process is written through: other links, pipes and devices are in the tests of `mcsa_core::file`.
#[test]
fn a_link_to_an_open_file_is_written_through() {
    let stdout = folder("outputs-through").join("stdout");
    symlink("/proc/self/fd/1", &stdout).expect("a link");
    let printed = run(&[&SHORT[..], &["--out", word(&stdout)]].concat()).stdout;
    assert!(is_report(&words(&printed)));
    assert!(fs::symlink_metadata(&stdout).expect("a link").is_symlink());
}

#[test]
fn two_arguments_with_one_file_are_refused_before_anything_runs() {
    let folder = folder("outputs-one");
    let (file, linked) = (folder.join("x"), folder.join("linked"));
    symlink(&folder, &linked).expect("a link");
    symlink("x", folder.join("y")).expect("a link");
    let (x, dotted, through, link) =
        (word(&file).to_owned(), folder.join("./x"), linked.join("x"), folder.join("y"));
    for other in [&file, &dotted, &through, &link] {
        let other = word(other);
        for (fit, arguments) in [
            (&LONG[..], ["--out", &x, "--checkpoint", other]),
            (&LONG_AUTO, ["--out", &x, "--draws", other]),
            (&LONG_AUTO, ["--draws", other, "--checkpoint", &x]),
        ] {
            let (code, words) = said(&[fit, &arguments].concat());
            assert_eq!(code, 2, "{words}");
            assert!(words.contains("are one file") && words.contains(arguments[0]), "{words}");
        }
    }
    assert!(!file.exists());
    // Counterexample: two files.
    let (out, state) = (folder.join("a"), folder.join("b"));
    let two = [&SHORT[..], &["--out", word(&out), "--checkpoint", word(&state)]].concat();
    assert!(said(&two).0 == 0 && out.is_file() && !state.exists());
}

#[test]
fn places_that_cannot_be_written_are_named_before_anything_runs() {
    let folder = folder("outputs-unwritable");
    let file = folder.join("file");
    fs::write(&file, "").expect("written");
    // A file that is no folder, because root may write everywhere else.
    let below = file.join("below");
    let (place, below) = (word(&folder), word(&below));
    for wrong in [place, below] {
        for arguments in [
            [&LONG[..], &["--out", wrong]].concat(),
            [&LONG[..], &["--checkpoint", wrong]].concat(),
            [&LONG_AUTO[..], &["--out", wrong]].concat(),
            [&LONG_AUTO[..], &["--draws", wrong]].concat(),
            [&LONG_AUTO[..], &["--checkpoint", wrong]].concat(),
            vec!["references", "--file", wrong],
            vec!["rates", "--file", wrong],
        ] {
            let (code, words) = said(&arguments);
            assert_eq!(code, 1, "{arguments:?}: {words}");
            assert!(words.contains(wrong) && words.contains("nothing was run"), "{arguments:?}: {words}");
        }
    }
    for arguments in [["theory", "--long", "--report", below], ["figures", "pmcsa/tab-cost", "--out", below]]
    {
        let (code, words) = said(&arguments);
        assert!(code == 1 && words.contains(below) && !words.contains("jobs on"), "{words}");
    }
    fs::create_dir_all(folder.join("report/index.html")).expect("a folder");
    let (code, words) = said(&["figures", "--preset", "paper", "--out", place]);
    assert!(code == 1 && words.contains("index.html: it is a folder"), "{words}");
}

#[test]
fn a_state_or_result_is_a_regular_file() {
    let folder = folder("outputs-regular");
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there").success());
    for fit in [&LONG[..], &LONG_AUTO] {
        let (code, words) = said(&[fit, &["--checkpoint", word(&pipe)]].concat());
        assert_eq!(code, 1, "{words}");
        assert!(words.contains(&format!("--checkpoint {}: it is no regular file", word(&pipe))), "{words}");
    }
    let job = cost_jobs().remove(0);
    let store = Store::new(&folder);
    fs::create_dir_all(store.folder(&job.experiment)).expect("a folder");
    let place = store.result_path(&job);
    symlink(&pipe, &place).expect("a link");
    let error = store.fresh(&job).expect_err("it is no file").to_string();
    assert!(error.contains("it is no regular file") && error.contains(word(&place)), "{error}");
    fs::remove_file(&place).expect("removed");
    // A file without contents, a terabyte long.
    fs::File::create(&place).and_then(|file| file.set_len(1 << 40)).expect("a file");
    assert!(store.fresh(&job).expect_err("too long").to_string().contains("longer than"));
}

#[test]
fn lists_and_experiments_are_bounded() {
    let endless = folder("outputs-bounded").join("endless.toml");
    symlink("/dev/zero", &endless).expect("a link");
    for arguments in [["anchors", "--cases", word(&endless)], ["figures", "--list", word(&endless)]] {
        let (_, words) = said(&arguments);
        assert!(words.contains("endless.toml: cannot be read: longer than"), "{words}");
    }
}
