//! The program in a process of its own, and folders for the files of a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use clap::Parser;
use mcsa_bench_suite::interrupt::Interrupt;
use mcsa_bench_suite::verbs::{Exit, FitModel};
use serde_json::Value;

/// The program with these arguments and pipes for what it prints.
pub(crate) fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcsa-bench"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    program(arguments).output().expect("it starts")
}

/// Exit code, and all that the program printed.
pub(crate) fn said(arguments: &[&str]) -> (i32, String) {
    let Output { status, stdout, stderr } = run(arguments);
    (status.code().expect("it ends by itself"), words(&stdout) + &words(&stderr))
}

/// Standard output of a run that succeeds.
pub(crate) fn printed(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = run(arguments);
    assert!(status.success(), "{arguments:?}: {}", words(&stderr));
    words(&stdout)
}

/// Runs `figures` at the preset `quick`, which succeeds, and returns all that it printed.
pub(crate) fn figures(out: &Path, arguments: &[&str]) -> String {
    let out = out.display().to_string();
    let (code, words) = said(&[&["figures", "--preset", "quick", "--out", &out], arguments].concat());
    assert_eq!(code, 0, "{arguments:?}: {words}");
    words
}

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    fit: FitModel,
}

/// What `fit` prints in this process, and its end.
pub(crate) fn fit(interrupt: &Interrupt, arguments: &[&str]) -> (String, Result<(), Exit>) {
    let line = Line::try_parse_from([&["fit"], arguments].concat()).expect("known arguments");
    let mut out = Vec::new();
    let done = line.fit.run(interrupt, &mut out);
    (words(&out), done)
}

/// The names of a listing.
pub(crate) fn listed(what: &str) -> Vec<String> {
    let text = fit(&Interrupt::default(), &[what]).0;
    let names = text.lines().filter(|line| !line.starts_with(' '));
    names.map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}

/// Returns true if no number is `null`: numbers that are not finite must be words.
pub(crate) fn has_all_numbers(value: &Value, names_with_null: &[&str]) -> bool {
    match value {
        Value::Object(map) => map.iter().all(|(name, value)| {
            names_with_null.contains(&name.as_str()) || has_all_numbers(value, names_with_null)
        }),
        Value::Array(values) => values.iter().all(|value| has_all_numbers(value, names_with_null)),
        _ => !value.is_null(),
    }
}

pub(crate) fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits for what another process does, five minutes at most.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "waits for what another process does")]
pub(crate) fn wait_until(what: &str, mut is_there: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if is_there() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("not in five minutes: {what}");
}

/// The path of an empty folder for one test; the folder is not there.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("suite").join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// An empty folder for one test.
pub(crate) fn made_folder(name: &str) -> PathBuf {
    let folder = folder(name);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}
