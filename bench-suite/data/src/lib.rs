//! Data sets of the experiments: carried with the program, imported by the user, or synthetic.
//!
//! A data set is described in `data/manifest.toml`. Small ones are *carried*, compiled into the program and verified by a checksum. Others
//! are *imported*: the user provides the file, its shape and sums are checked, and it is kept in a folder ([`Catalogue::found`]). One
//! that is neither is [`DataError::Absent`], with instructions; [`Catalogue::stand_in`] gives synthetic data of equal shape.
//!
//! ```
//! use mcsa_core::Seed;
//! use mcsa_data::{Catalogue, Split, Standardised};
//!
//! let pima = Catalogue::new(None).load("pima")?;
//! let split = Split::new(&pima, 691, Seed::new(1))?;
//! let fitted = Standardised::new(&split)?;
//! assert_eq!((fitted.train.rows(), fitted.test.rows(), fitted.train.inputs()), (691, 77, 8));
//! # Ok::<(), mcsa_data::DataError>(())
//! ```

use std::fmt;

mod catalogue;
mod command;
mod dataset;
mod kinds;
mod manifest;
mod reservoir;
mod split;
mod synthetic;
mod table;

pub use catalogue::{Catalogue, State, did_you_mean};
pub use command::{Command, Verb};
pub use dataset::{Dataset, Scaling, Standardised};
pub use kinds::{Radon, Series};
pub use manifest::{Entry, Kind, Label, Layout, StandIn};
pub use split::Split;
pub use table::Table;

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
    pub(crate) fn of(name: &str, problem: impl fmt::Display) -> Self {
        Self::Invalid(format!("{name}: {problem}"))
    }

    pub(crate) fn line(file: &str, line: usize, problem: impl fmt::Display) -> Self {
        Self::Invalid(format!("{file}, line {line}: {problem}"))
    }

    pub(crate) fn cell(file: &str, line: usize, column: &str, problem: impl fmt::Display) -> Self {
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
