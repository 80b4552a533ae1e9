//! The program in a process of its own, and empty folders for the files of a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mcsa-bench")).args(arguments).output().expect("it starts")
}

/// The path of an empty folder for one test; the folder is not there.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("suite").join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}
