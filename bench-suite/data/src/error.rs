//! Errors of data sets, with file, line and column.

use std::fmt;
use std::path::PathBuf;

/// Reason why a data set cannot be loaded. Every message includes advice.
#[derive(Debug, Clone, PartialEq)]
pub enum DataError {
    /// There is no data set of this name.
    Unknown(String),
    /// The data set is known, but neither carried nor imported.
    Absent(Absent),
    /// A file does not have the required contents, or the data set cannot be used as requested.
    Invalid(String),
}

/// A data set that the user has to provide.
#[derive(Debug, Clone, PartialEq)]
pub struct Absent {
    /// Name of the data set.
    pub name: String,
    /// Instructions to obtain it.
    pub obtain: String,
    /// Path of the expected file, if a folder was given.
    pub place: Option<PathBuf>,
    /// True if there is a synthetic stand-in.
    pub stand_in: bool,
}

impl DataError {
    /// Returns true if the data set is known and only absent.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent(_))
    }

    /// An error of a whole file, or of a data set.
    pub(super) fn of(name: &str, problem: impl fmt::Display) -> Self {
        Self::Invalid(format!("{name}: {problem}"))
    }

    pub(super) fn line(file: &str, line: usize, problem: impl fmt::Display) -> Self {
        Self::Invalid(format!("{file}, line {line}: {problem}"))
    }

    pub(super) fn column(file: &str, column: &str, problem: impl fmt::Display) -> Self {
        Self::Invalid(format!("{file}, column {column}: {problem}"))
    }

    pub(super) fn cell(file: &str, line: usize, column: &str, problem: impl fmt::Display) -> Self {
        Self::Invalid(format!("{file}, line {line}, column {column}: {problem}"))
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(message) | Self::Invalid(message) => f.write_str(message),
            Self::Absent(absent) => absent.fmt(f),
        }
    }
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, obtain, place, stand_in } = self;
        if name == "posteriordb" {
            f.write_str("the folder of posteriordb is absent")?;
            place.as_ref().map_or(Ok(()), |place| write!(f, " (no {}/reference.json)", place.display()))?;
            return write!(f, ". Get it: {obtain}.");
        }
        write!(f, "the data set {name} is absent")?;
        match place {
            Some(place) => write!(f, " (no file {})", place.display())?,
            None => f.write_str(" (no data folder: give --data DIR or set MCSA_DATA)")?,
        }
        write!(f, ". Get it: {obtain}. Then `cargo xtask data import {name} FILE`.")?;
        if *stand_in { f.write_str(" A synthetic stand-in of its shape exists.") } else { Ok(()) }
    }
}

impl std::error::Error for DataError {}

impl From<DataError> for mcsa_core::Error {
    fn from(error: DataError) -> Self {
        Self::invalid(error.to_string())
    }
}
