//! Output files that are complete or absent, and input files of bounded size.
//!
//! [`write`](write()) replaces a regular file as a whole: it fills a temporary file beside it, syncs that file to the disk and
//! renames it. A symbolic link stays a link, and the file that it names is replaced. Devices and pipes are written to directly.
//! [`check`] tests before a long computation whether a file can be written. [`read`] accepts regular files alone, because a read
//! from a pipe may block the program.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// What a path names after its symbolic links.
#[derive(Debug, PartialEq)]
enum Place {
    /// A regular file or nothing, with the permissions of the file.
    File(PathBuf, Option<fs::Permissions>),
    /// A device, a pipe, or an open file of this process.
    Stream(PathBuf),
    /// Standard output of this process.
    Output,
}

/// Largest number of symbolic links that are followed, as on Linux.
const LINKS: usize = 40;

fn refused(reason: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, reason)
}

impl Place {
    fn of(path: &Path) -> io::Result<Self> {
        let mut path = path.to_owned();
        for _ in 0..LINKS {
            let is_folder =
                path.file_name().is_none() || { path.to_string_lossy().ends_with(std::path::is_separator) };
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => match descriptor(&path) {
                    Some(1) => return Ok(Self::Output),
                    Some(_) => return Ok(Self::Stream(path)),
                    None => path = folder(&path).join(fs::read_link(&path)?),
                },
                Ok(found) if found.is_file() => return Ok(Self::File(path, Some(found.permissions()))),
                Ok(found) if found.is_dir() => return Err(refused("it is a folder")),
                Ok(_) => return Ok(Self::Stream(path)),
                Err(error) if error.kind() == ErrorKind::NotFound && is_folder => {
                    return Err(refused("it is the name of a folder"));
                }
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::File(path, None)),
                Err(error) => return Err(error),
            }
        }
        Err(refused("it is a chain of too many links"))
    }

    /// The file with its folder in canonical form.
    fn canonical(self) -> Option<PathBuf> {
        let Self::File(path, _) = self else { return None };
        Some(fs::canonicalize(folder(&path)).ok()?.join(path.file_name()?))
    }
}

/// Number of an open file of this process that a link stands for: `/dev/stdout` is a link to `/proc/self/fd/1`.
fn descriptor(path: &Path) -> Option<u32> {
    let open = fs::canonicalize("/proc/self/fd").ok()?;
    let is_open = fs::canonicalize(folder(path)).ok()? == open;
    path.file_name().filter(|_| is_open)?.to_str()?.parse().ok()
}

/// Folder of a file.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes bytes to a file: completely or not at all if it is a regular file or absent, and through a device or pipe.
///
/// Folders that are absent are created. On return, a regular file and its name are on the disk.
///
/// # Errors
/// If the file cannot be written. A regular file is as before then.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |out| out.write_all(bytes))
}

/// Writes what a function writes, as [`write`](write()) does.
///
/// # Errors
/// If the function fails or the file cannot be written. A regular file is as before then.
pub fn write_with(path: &Path, contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    match Place::of(path)? {
        Place::Output => {
            let mut out = io::stdout().lock();
            contents(&mut out)?;
            out.flush()
        }
        Place::Stream(path) => {
            // Of a file that is open already, earlier contents stay.
            let mut out = BufWriter::new(OpenOptions::new().append(true).open(path)?);
            contents(&mut out)?;
            out.flush()
        }
        Place::File(path, permissions) => replace(&path, |beside| {
            let mut out = BufWriter::new(beside);
            contents(&mut out)?;
            let beside = out.into_inner()?;
            permissions.clone().map_or(Ok(()), |permissions| beside.set_permissions(permissions))?;
            Ok(beside)
        }),
    }
}

/// Replaces a regular file by a temporary one that `fill` fills.
fn replace(path: &Path, fill: impl FnOnce(File) -> io::Result<File>) -> io::Result<()> {
    let folder = folder(path);
    make_folder(folder)?;
    let (beside, file) = temporary(path)?;
    let written = fill(file).and_then(|file| {
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    // One that cannot be removed is swept later.
    written.inspect_err(|_| drop(fs::remove_file(&beside)))?;
    sync_folder(folder)
}

/// Ending of temporary files.
const TEMPORARY: &str = ".mcsa-tmp";

/// A locked temporary file beside a path, with a name of its own.
fn temporary(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or(OsStr::new("file")).to_string_lossy();
    // A name may have 255 bytes.
    let name: String = name.chars().take(40).collect();
    loop {
        let chance = RandomState::new().hash_one(std::process::id());
        let beside = path.with_file_name(format!(".{name}.{chance:016x}{TEMPORARY}"));
        let file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
        // Some file systems have no locks: temporary files of killed programs stay there.
        let _ = file.lock();
        // Another process may have swept the file before it was locked.
        if beside.exists() {
            return Ok((beside, file));
        }
    }
}

/// Removes temporary files of killed programs from a folder. Those of running programs are locked.
pub fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_ours = name.starts_with('.') && name.ends_with(TEMPORARY);
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            // The lock is held until the file is removed, so that its writer cannot lock it in between.
            if let Ok(file) = File::open(entry.path())
                && file.try_lock().is_ok()
            {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Creates a folder and syncs its name to the disk.
fn make_folder(folder: &Path) -> io::Result<()> {
    let absent = folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let parents: Vec<&Path> = absent.map(self::folder).collect();
    fs::create_dir_all(folder)?;
    parents.into_iter().try_for_each(sync_folder)
}

/// Syncs a folder. Otherwise a renamed file may have its old name after a power failure.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(folder)?.sync_all() {
        // Some file systems do not support this.
        Err(error) if [ErrorKind::InvalidInput, ErrorKind::Unsupported].contains(&error.kind()) => Ok(()),
        synced => synced,
    }
}

/// Creates a folder and checks that files can be written in it.
pub fn check_folder(folder: &Path) -> io::Result<()> {
    make_folder(folder)?;
    let (beside, mut file) = temporary(&folder.join("check"))?;
    let written = file.write_all(&[b'\n'; 4096]).and_then(|()| file.sync_all());
    let removed = fs::remove_file(&beside);
    written.and(removed)
}

/// Checks that [`write`](write()) can write a file, and leaves the file unchanged. Absent folders above it are created.
///
/// # Errors
/// If the path is that of a folder, no file can be written in its folder, or it is a device that cannot be opened.
pub fn check(path: &Path) -> io::Result<()> {
    match Place::of(path)? {
        Place::File(path, _) => check_folder(folder(&path)),
        Place::Output => Ok(()),
        // A pipe without a reader would block.
        Place::Stream(path) if !is_device(&path) => Ok(()),
        Place::Stream(path) => OpenOptions::new().append(true).open(path).map(drop),
    }
}

#[cfg(unix)]
fn is_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    fs::metadata(path)
        .is_ok_and(|found| found.file_type().is_char_device() || found.file_type().is_block_device())
}

#[cfg(not(unix))]
fn is_device(_: &Path) -> bool {
    false
}

/// Checks that a path is a regular file or absent: other files keep no state.
pub fn check_regular(path: &Path) -> io::Result<()> {
    match Place::of(path)? {
        Place::File(..) => Ok(()),
        Place::Stream(_) | Place::Output => Err(refused("it is no regular file")),
    }
}

/// True if two paths name one regular file, which may be absent. Symbolic links are followed.
pub fn are_one(a: &Path, b: &Path) -> bool {
    let canonical = |path| Place::of(path).ok().and_then(Place::canonical);
    canonical(a).is_some_and(|a| canonical(b) == Some(a))
}

/// Contents of a regular file of at most `most` bytes.
///
/// # Errors
/// If it is no regular file, is longer, or cannot be read.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_headed(path, b"", most)
}

/// Contents of a regular file of at most `most` bytes that begins with `head`. Other files are not read further.
///
/// # Errors
/// As [`read`]; of the kind `InvalidData` if the file has another beginning.
pub fn read_headed(path: &Path, head: &[u8], most: u64) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(refused("it is no regular file"));
    }
    if found.len() > most {
        return Err(refused(&format!("longer than {most} bytes")));
    }
    let file = File::open(path)?;
    let found = read_all((&file).take(head.len() as u64), most)?;
    match found == head {
        true => read_all(head.chain(file), most),
        false => Err(io::Error::new(ErrorKind::InvalidData, "it has another beginning")),
    }
}

/// All bytes of a source, at most `most`.
///
/// # Errors
/// If there are more, or the source cannot be read.
pub fn read_all(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(refused(&format!("longer than {most} bytes"))),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty folder for one test.
    fn empty(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("mcsa-file-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = empty("whole");
        let path = folder.join("below").join("a");
        write(&path, b"old").unwrap();
        let fails = |out: &mut dyn Write| out.write_all(b"new").and(Err(refused("a failure")));
        assert_eq!(write_with(&path, fails).unwrap_err().to_string(), "a failure");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let long = path.with_file_name("x".repeat(255));
        write(&long, b"long").unwrap();
        assert_eq!(names(path.parent().unwrap()), ["a", &"x".repeat(255)]);
        // Of two folders and a path below a file, none can be written.
        for refused in [folder.clone(), folder.join("absent/"), path.join("below"), PathBuf::new()] {
            assert!(check(&refused).is_err() && write(&refused, b"").is_err(), "{}", refused.display());
        }
        assert!(check(&folder.join("x".repeat(256))).is_err());
        assert!(check(&path).is_ok() && check(&folder.join("c/d")).is_ok());
        assert_eq!(names(&folder), ["below", "c"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    /// Files appear in a folder while others sweep it; each is written, and none is lost.
    #[test]
    fn sweeping_takes_no_file_from_its_writer() {
        let folder = empty("races");
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        sweep(&folder);
                    }
                });
            }
            let written: Vec<_> = (0..300).map(|k| write(&folder.join(k.to_string()), b"x")).collect();
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(written.iter().all(Result::is_ok), "{written:?}");
        });
        assert_eq!(names(&folder).len(), 300);
    }

    #[test]
    fn abandoned_files_are_swept_and_locked_ones_stay() {
        let folder = empty("swept");
        let (kept, file) = temporary(&folder.join("a")).unwrap();
        drop(temporary(&folder.join("b")).unwrap());
        fs::write(folder.join(".other.tmp"), "").unwrap();
        sweep(&folder);
        assert!(kept.is_file());
        assert_eq!(names(&folder).len(), 2);
        drop(file);
        sweep(&folder);
        assert_eq!(names(&folder), [".other.tmp"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn spellings_of_one_file_are_one() {
        let folder = empty("one");
        let (a, b) = (folder.join("a"), folder.join("b"));
        assert!(are_one(&a, &folder.join("./a")) && !are_one(&a, &b));
        fs::create_dir(folder.join("below")).unwrap();
        assert!(are_one(&a, &folder.join("below/../a")));
    }

    #[test]
    fn reading_is_bounded() {
        let folder = empty("bounded");
        let path = folder.join("a");
        fs::write(&path, "abc").unwrap();
        assert_eq!(read(&path, 3).unwrap(), b"abc");
        assert_eq!(read(&path, 2).unwrap_err().to_string(), "longer than 2 bytes");
        assert_eq!(read_headed(&path, b"ab", 3).unwrap(), b"abc");
        assert_eq!(read_headed(&path, b"b", 3).unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(read(&folder.join("b"), 2).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(read(&folder, 2).unwrap_err().to_string(), "it is no regular file");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_pipes_and_devices_stay_what_they_are() {
        use std::os::unix::fs::{FileTypeExt, symlink};
        let folder = empty("links");
        let [file, link, second, pipe, null] =
            ["file", "link", "second", "pipe", "null"].map(|n| folder.join(n));
        symlink("file", &link).unwrap();
        symlink("link", &second).unwrap();
        symlink("/dev/null", &null).unwrap();
        // The link is to nothing at first, then to a file.
        for text in ["old", "new"] {
            check(&second).unwrap();
            write(&second, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        for link in [&link, &second] {
            assert!(fs::symlink_metadata(link).unwrap().is_symlink() && are_one(link, &file));
        }
        symlink("ring", folder.join("ring")).unwrap();
        assert!(write(&folder.join("ring"), b"").unwrap_err().to_string().contains("too many links"));

        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        check(&pipe).unwrap();
        write(&pipe, b"through").unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        assert_eq!(read(&pipe, 9).unwrap_err().to_string(), "it is no regular file");

        for null in [&null, Path::new("/dev/null")] {
            check(null).unwrap();
            write(null, b"nothing").unwrap();
            assert!(check_regular(null).is_err() && read(null, 9).is_err() && !are_one(null, null));
        }
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        assert!(fs::symlink_metadata(&null).unwrap().is_symlink());
        if Path::new("/dev/full").exists() {
            assert_eq!(write(Path::new("/dev/full"), b"x").unwrap_err().kind(), ErrorKind::StorageFull);
        }
        assert!(check_regular(&link).is_ok() && check_regular(&folder.join("absent")).is_ok());
        fs::remove_dir_all(&folder).unwrap();
    }
}
