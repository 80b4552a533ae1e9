//! Files of serialised states.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use mcsa_core::{Error, checksum};
use serde::{Serialize, de::DeserializeOwned};

/// File of a serialised state: a line with its format and a checksum, then the state as JSON.
///
/// The file is replaced as a whole, so an interruption at any time leaves the former or the new one, and the checksum tells a damaged
/// file.
///
/// ```
/// use mcsa_estimators::StateFile;
/// # let path = std::env::temp_dir().join(format!("mcsa-doc-state-{}", std::process::id()));
/// let file = StateFile::new(&path, "my state 1");
/// assert_eq!(file.read::<Vec<u64>>()?, None);
/// file.write(&[3_u64, 4])?;
/// assert_eq!(file.read()?, Some(vec![3_u64, 4]));
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFile {
    path: PathBuf,
    format: &'static str,
}

impl StateFile {
    /// A file at `path`; `format` is its first words, with the version of the format.
    pub fn new(path: impl Into<PathBuf>, format: &'static str) -> Self {
        Self { path: path.into(), format }
    }

    /// Replaces the file by one with this state.
    ///
    /// # Errors
    /// If the file cannot be written; the message names it.
    pub fn write<T: Serialize + ?Sized>(&self, state: &T) -> Result<(), Error> {
        let place = |error: &dyn std::fmt::Display| {
            Error::invalid(format!("cannot write {}: {error}", self.path.display())).within("Checkpoint")
        };
        let text = serde_json::to_string(state).map_err(|error| place(&error))?;
        let text = format!("{} {:016x}\n{text}\n", self.format, checksum(text.bytes()));
        replace(&self.path, text.as_bytes()).map_err(|error| place(&error))
    }

    /// The state in the file; `None` if there is no file.
    ///
    /// # Errors
    /// If the file is damaged, of another format, or holds another type of state; the message names the file.
    pub fn read<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.refuse(&error.to_string())),
            Ok(text) => text,
        };
        let whole = text.split_once('\n').and_then(|(head, body)| {
            let sum = head.strip_prefix(self.format)?.trim();
            Some((u64::from_str_radix(sum, 16).ok()?, body.strip_suffix('\n')?))
        });
        let Some((sum, body)) = whole else {
            return Err(self.refuse(&format!("it is not a file of format `{}`", self.format)));
        };
        if checksum(body.bytes()) != sum {
            return Err(self.refuse("it is damaged: its checksum differs; delete it to start anew"));
        }
        serde_json::from_str(body).map(Some).map_err(|error| self.refuse(&error.to_string()))
    }

    /// The error that this file cannot be used.
    pub fn refuse(&self, reason: &str) -> Error {
        Error::invalid(format!("cannot use {}: {reason}", self.path.display())).within("Checkpoint")
    }
}

/// Replaces a file as a whole: the new contents are on the disk before the name moves to them.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let mut file = fs::File::create(&beside)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    drop(file);
    written.and_then(|()| fs::rename(&beside, path)).inspect_err(|_| {
        // A partial file may be left if it cannot be removed; it is overwritten next time.
        let _ = fs::remove_file(&beside);
    })
}
