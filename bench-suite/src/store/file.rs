//! Files of the store: errors that name them, and unusable ones.

use std::ffi::OsStr;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use mcsa_core::{Error, file};

/// Error that names the failed operation and the file.
pub(super) fn failed(path: &Path, what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("cannot {what} {}: {error}", path.display()))
}

/// Writes a file by [`mcsa_core::file::write`].
///
/// # Errors
/// If the file cannot be written; the message names it.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    file::write(path, bytes).map_err(|error| failed(path, "write", &error))
}

/// Creates a folder and checks that files can be written in it.
///
/// # Errors
/// If not; the message names the folder.
pub fn check_folder(folder: &Path) -> Result<(), Error> {
    file::check_folder(folder).map_err(|error| failed(folder, "write files in", &error))
}

/// Largest size of a stored file in bytes. Ten million numbers, as in the checkpoint of a large fit, have 200 MB.
pub(crate) const LONGEST: u64 = 1 << 30;

/// Random number of this process: distinguishes hosts and containers with equal names and process ids.
static CHANCE: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("process"));

/// Unique name of this process: host, process id, random number.
pub(crate) fn writer() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = host.or_else(|| std::env::var("HOSTNAME").or_else(|_| std::env::var("COMPUTERNAME")).ok());
    let host = host.unwrap_or_default();
    let letters: String = host.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
    format!("{letters}-{}-{:016x}", std::process::id(), *CHANCE)
}

/// Renames an unusable file and returns the new name: the file is kept, and does not block a new one.
///
/// # Errors
/// If it cannot be renamed.
pub(super) fn set_aside(path: &Path) -> Result<PathBuf, Error> {
    let name = path.file_name().unwrap_or(OsStr::new("file")).to_string_lossy();
    let other = |k: u32| match k {
        1 => path.with_file_name(format!("{name}.bad")),
        k => path.with_file_name(format!("{name}.bad{k}")),
    };
    let free = (1..).map(other).find(|other| !other.exists()).unwrap_or_else(|| other(1));
    match fs::rename(path, &free) {
        // Another process has renamed it already.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(free),
        renamed => renamed.map(|()| free.clone()).map_err(|error| failed(path, "rename", &error)),
    }
}
