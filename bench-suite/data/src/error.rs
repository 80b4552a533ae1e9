//! Errors of data sets, with file, line and column.

use std::fmt;

/// Reason why a data set cannot be loaded. Every message includes advice.
#[derive(Debug, Clone, PartialEq)]
pub enum DataError {
    /// There is no data set of this name.
    Unknown(String),
    /// The data set is known, but neither carried nor imported.
    Absent {
        /// Message with instructions.
        reason: String,
        /// True if there is a synthetic stand-in.
        stand_in: bool,
    },
    /// A file does not have the required contents, or the data set cannot be used as requested.
    Invalid(String),
}

impl DataError {
    /// Returns true if the data set is known and only absent.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent { .. })
    }

    /// An error of a whole file, or of a data set.
    pub(super) fn of(name: &str, problem: impl fmt::Display) -> Self {
        Self::Invalid(format!("{name}: {problem}"))
    }

    pub(super) fn line(file: &str, line: usize, problem: impl fmt::Display) -> Self {
        Self::Invalid(format!("{file}, line {line}: {problem}"))
    }

    pub(super) fn cell(file: &str, line: usize, column: &str, problem: impl fmt::Display) -> Self {
        Self::Invalid(format!("{file}, line {line}, column {column}: {problem}"))
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Unknown(reason) | Self::Absent { reason, .. } | Self::Invalid(reason)) = self;
        f.write_str(reason)
    }
}

impl std::error::Error for DataError {}

impl From<DataError> for mcsa_core::Error {
    fn from(error: DataError) -> Self {
        Self::invalid(error.to_string())
    }
}
