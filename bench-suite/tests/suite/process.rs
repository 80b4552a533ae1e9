//! The program in a process of its own, and folders for the files of a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program with these arguments.
pub(crate) fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcsa-bench"));
    command.args(arguments);
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

pub(crate) fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
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
