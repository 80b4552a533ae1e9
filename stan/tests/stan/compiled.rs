//! Libraries of the programs of this crate, compiled once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// The library of a program: from the folder that `MCSA_STAN` names, else compiled by the Python that `MCSA_STAN_PYTHON` names, which
/// has the package httpstan. `None`, with a message, if there is neither.
pub(crate) fn library(program: &str) -> Option<PathBuf> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if let Some(folder) = std::env::var_os("MCSA_STAN") {
        return Some(Path::new(&folder).join(program).with_extension("so"));
    }
    let python = std::env::var_os("MCSA_STAN_PYTHON").unwrap_or_else(|| "python3".into());
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(program).with_extension("so");
    let mut compile = Command::new(python);
    compile
        .arg(root.join("../python/mcsa/stan/compile.py"))
        .arg(root.join("programs").join(program).with_extension("stan"));
    match compile.arg(&library).output() {
        Ok(done) if done.status.success() => Some(library),
        // The tools are missing.
        Ok(done) if done.status.code() == Some(2) => skipped(&String::from_utf8_lossy(&done.stderr)),
        Ok(done) => panic!("{}", String::from_utf8_lossy(&done.stderr)),
        Err(error) => skipped(&error.to_string()),
    }
}

fn skipped(reason: &str) -> Option<PathBuf> {
    eprintln!("skipped, because no Stan program can be compiled: {}", reason.trim());
    None
}
