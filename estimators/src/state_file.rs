//! Files of serialised states.

use std::io::ErrorKind;
use std::path::PathBuf;

use mcsa_core::{Error, checksum, file};
use serde::{Serialize, de::DeserializeOwned};

/// Largest size in bytes: states with matrices of some thousand rows have gigabytes.
const LONGEST: u64 = 1 << 34;

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
        let written = file::check_regular(&self.path).and_then(|()| file::write(&self.path, text.as_bytes()));
        written.map_err(|error| place(&error))
    }

    /// The state in the file; `None` if there is no file.
    ///
    /// # Errors
    /// If the file is damaged, of another format, or holds another type of state; the message names the file.
    pub fn read<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let other = || self.refuse(&format!("it is not a file of format `{}`", self.format));
        let bytes = match file::read_headed(&self.path, self.format.as_bytes(), LONGEST) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == ErrorKind::InvalidData => return Err(other()),
            read => read.map_err(|error| self.refuse(&error.to_string()))?,
        };
        let text =
            String::from_utf8(bytes).map_err(|_| self.refuse("it is damaged: it is not text in UTF-8"))?;
        let (head, body) = text.split_once('\n').unwrap_or((&text, ""));
        let sum = head.strip_prefix(self.format).and_then(|sum| u64::from_str_radix(sum.trim(), 16).ok());
        let sum = sum.ok_or_else(other)?;
        let whole = body.strip_suffix('\n').filter(|body| checksum(body.bytes()) == sum);
        let body = whole
            .ok_or_else(|| self.refuse("it is damaged: its checksum differs; delete it to start anew"))?;
        serde_json::from_str(body).map(Some).map_err(|error| self.refuse(&error.to_string()))
    }

    /// The error that this file cannot be used.
    pub fn refuse(&self, reason: &str) -> Error {
        Error::invalid(format!("cannot use {}: {reason}", self.path.display())).within("Checkpoint")
    }
}
