//! Errors of data sets, with file, line and column.

use std::fmt;
use std::path::PathBuf;

use super::Kind;

/// Reason why a data set cannot be loaded. Every message includes advice.
#[derive(Debug, Clone, PartialEq)]
pub enum DataError {
    /// There is no data set of this name.
    Unknown {
        /// The requested name.
        name: String,
        /// The closest known name.
        meant: Option<String>,
    },
    /// The data set is known, but neither carried nor imported.
    Absent(Absent),
    /// The data set has a shape that needs another method.
    Shape {
        /// Name of the data set.
        name: String,
        /// Kind of the data set.
        kind: Kind,
    },
    /// A file does not have the required contents.
    Malformed {
        /// Name of the file.
        file: String,
        /// Number of the line, from 1.
        line: Option<usize>,
        /// Name of the column or, if it has none, its number.
        column: Option<String>,
        /// Contents found, and contents expected.
        problem: String,
    },
    /// The file is well formed but differs from the verified bytes.
    Changed {
        /// Name of the file.
        file: String,
        /// SHA-256 of the verified bytes.
        expected: String,
        /// SHA-256 of the bytes found.
        found: String,
    },
    /// The data set cannot be used as requested.
    Unusable {
        /// Name of the data set.
        name: String,
        /// Reason and advice.
        problem: String,
    },
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

    pub(super) fn file(file: &str, problem: impl Into<String>) -> Self {
        Self::Malformed { file: file.into(), line: None, column: None, problem: problem.into() }
    }

    pub(super) fn line(file: &str, line: usize, problem: impl Into<String>) -> Self {
        Self::Malformed { file: file.into(), line: Some(line), column: None, problem: problem.into() }
    }

    pub(super) fn column(file: &str, column: &str, problem: impl Into<String>) -> Self {
        Self::Malformed {
            file: file.into(),
            line: None,
            column: Some(column.into()),
            problem: problem.into(),
        }
    }

    pub(super) fn cell(file: &str, line: usize, column: &str, problem: impl Into<String>) -> Self {
        Self::Malformed {
            file: file.into(),
            line: Some(line),
            column: Some(column.into()),
            problem: problem.into(),
        }
    }

    pub(super) fn unusable(name: &str, problem: impl Into<String>) -> Self {
        Self::Unusable { name: name.into(), problem: problem.into() }
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, meant: Some(meant) } => {
                write!(f, "no data set {name:?}; did you mean {meant:?}? `cargo xtask data` lists them")
            }
            Self::Unknown { name, meant: None } => {
                write!(f, "no data set {name:?}; `cargo xtask data` lists them")
            }
            Self::Absent(absent) => absent.fmt(f),
            Self::Shape { name, kind } => {
                write!(f, "{name} is of the kind `{kind}`: load it with `Catalogue::{}`", kind.method())
            }
            Self::Malformed { file, line, column, problem } => {
                f.write_str(file)?;
                line.map_or(Ok(()), |line| write!(f, ", line {line}"))?;
                column.as_ref().map_or(Ok(()), |column| write!(f, ", column {column}"))?;
                write!(f, ": {problem}")
            }
            Self::Changed { file, expected, found } => write!(
                f,
                "{file}: not the file that was verified: its SHA-256 is {found}, expected {expected}; \
                 restore it (`git checkout -- bench-suite/data`)"
            ),
            Self::Unusable { name, problem } => write!(f, "{name}: {problem}"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_file_line_and_column() {
        let text = DataError::cell("pima.csv", 7, "mass", "the cell is empty").to_string();
        assert_eq!(text, "pima.csv, line 7, column mass: the cell is empty");
        let text = DataError::file("pima.csv", "empty").to_string();
        assert_eq!(text, "pima.csv: empty");
    }
}
