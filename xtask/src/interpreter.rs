//! Python interpreters and environments.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Python of at least version 3.11, with the module that makes environments: the program that `MCSA_PYTHON` names, else one of the usual
/// names.
pub(crate) fn find() -> Option<OsString> {
    let named = std::env::var_os("MCSA_PYTHON").filter(|name| !name.is_empty());
    let names = match named {
        Some(name) => vec![name],
        None => ["python3", "python3.11", "python3.12", "python3.13", "python"].map(OsString::from).into(),
    };
    let probe = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";
    let suits = |name: &OsString| {
        let mut command = Command::new(name);
        command.args(["-c", probe]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    names.into_iter().find(suits)
}

/// Python of a virtual environment below `place`, after `pip install` with these arguments; `None` if they cannot be installed.
pub(crate) fn environment(
    python: &OsString,
    place: &Path,
    arguments: &[&OsStr],
) -> io::Result<Option<PathBuf>> {
    let folder = place.join("venv");
    let below = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    let inside = folder.join(below);
    if !inside.exists() && !Command::new(python).args(["-m", "venv"]).arg(&folder).status()?.success() {
        return Ok(None);
    }
    let mut install = Command::new(&inside);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(arguments);
    // Where the package of `python` is built, so that the next build is short.
    install.env("CARGO_TARGET_DIR", place.join("build"));
    Ok(install.status()?.success().then_some(inside))
}
