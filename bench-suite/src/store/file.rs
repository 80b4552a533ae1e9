//! Atomic writing of files: complete or not at all.

use std::ffi::OsStr;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mcsa_core::Error;

/// Error that names the failed operation and the file.
pub(super) fn failed(path: &Path, what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("cannot {what} {}: {error}", path.display()))
}

/// Writes a file completely or not at all, and creates its folder. On return, file and name are on the disk.
///
/// # Errors
/// If the file cannot be written; the message names it. Nothing else is left then.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut tries = 3;
    loop {
        match try_write(path, bytes) {
            // Another process removed the temporary file because it looked abandoned.
            Err(error) if error.kind() == ErrorKind::NotFound && tries > 1 => tries -= 1,
            written => return written.map_err(|error| failed(path, "write", &error)),
        }
    }
}

fn try_write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    make_folder(folder)?;
    let beside = beside(path);
    let write = || {
        let mut file = fs::File::create_new(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&beside, path)?;
        sync_folder(folder)
    };
    write().inspect_err(|_| {
        // The temporary file may not exist; one that cannot be removed is swept later.
        let _ = fs::remove_file(&beside);
    })
}

/// Creates a folder and syncs its name to the disk.
fn make_folder(folder: &Path) -> io::Result<()> {
    let absent = folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let absent: Vec<&Path> = absent.collect();
    fs::create_dir_all(folder)?;
    absent.iter().filter_map(|folder| folder.parent()).try_for_each(sync_folder)
}

/// Syncs a folder. Otherwise a renamed file may have its old name after a power failure.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match fs::File::open(folder)?.sync_all() {
        // Some file systems do not support this.
        Err(error) if [ErrorKind::InvalidInput, ErrorKind::Unsupported].contains(&error.kind()) => Ok(()),
        synced => synced,
    }
}

/// Creates a folder and checks that files can be written in it.
///
/// # Errors
/// If not; the message names the folder.
pub fn check_folder(folder: &Path) -> Result<(), Error> {
    let probe = folder.join("probe");
    let write = || {
        make_folder(folder)?;
        let beside = beside(&probe);
        let written = fs::File::create_new(&beside).and_then(|mut file| {
            file.write_all(&[b'\n'; 4096])?;
            file.sync_all()
        });
        let removed = fs::remove_file(&beside);
        written.and(removed)
    };
    write().map_err(|error| failed(folder, "write files in", &error))
}

/// Suffix of temporary files.
const TEMPORARY: &str = "tmp";

/// Host, process-id namespace and boot of the system, within which the process id is unique.
static PLACE: LazyLock<String> = LazyLock::new(|| {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = host.or_else(|| std::env::var("HOSTNAME").or_else(|_| std::env::var("COMPUTERNAME")).ok());
    let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let digits: String = space.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    let host = host.unwrap_or_default();
    let letters: String = host.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
    // Hosts of a cluster may have equal names; the number of the boot tells them apart.
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let boot: String = boot.chars().filter(char::is_ascii_hexdigit).take(12).collect();
    format!("{letters}_{digits}_{boot}")
});

/// Random number of this process: distinguishes containers with equal host name and process id.
static CHANCE: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("process"));

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Unique name of this process: host, process id, random number.
pub(crate) fn writer() -> String {
    format!("{}-{}-{:016x}", *PLACE, std::process::id(), *CHANCE)
}

/// Name of a temporary file beside a path, unique to this call.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or(OsStr::new("file")).to_string_lossy();
    path.with_file_name(format!(".{name}.{}-{}.{TEMPORARY}", writer(), COUNT.fetch_add(1, Relaxed)))
}

/// Returns true if the process of a [`writer`] has ended; `None` if it ran on another host, of whose processes nothing is known.
fn is_gone(writer: &str) -> Option<bool> {
    let [place, process, ..] = writer.split('-').collect::<Vec<_>>()[..] else { return None };
    let processes = Path::new("/proc");
    (place == *PLACE && processes.join("self").exists()).then(|| !processes.join(process).exists())
}

/// Removes temporary files of killed writers: those of ended processes of this host. Those of other hosts stay, because their
/// writers may be running.
pub(crate) fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_left(&entry) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_left(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy().into_owned();
    let written = name.strip_prefix('.').and_then(|name| name.strip_suffix(TEMPORARY)?.strip_suffix('.'));
    let Some((_, writer)) = written.and_then(|written| written.rsplit_once('.')) else { return false };
    is_gone(writer) == Some(true)
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
