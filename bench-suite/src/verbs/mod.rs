//! Verbs of the program, one file each.
//!
//! A verb prints to a given stream and returns an [`Exit`].

mod anchors;
mod auto;
mod auto_report;
mod claims;
mod figures;
mod fit;
mod fit_report;
mod rates;
mod references;
mod selection;

pub use anchors::Anchors;
pub use claims::Claims;
pub use figures::Figures;
pub use fit::FitModel;
pub use rates::WriteRates;
pub use references::References;
pub use selection::{Planned, Selection};

use clap::builder::RangedU64ValueParser;
use mcsa_core::Error;

/// Parses a number of threads: at most 1024, 0 for one per processor.
pub(crate) fn threads() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(0..=1024)
}

/// Reason why a verb ended without success.
#[derive(Debug, Clone, PartialEq)]
pub enum Exit {
    /// The arguments are invalid: code 2.
    Usage(Error),
    /// An operation failed: code 1.
    Failed(Error),
    /// The verdict on a fit is no; the result is written: code 3.
    Objected(String),
    /// The program was asked to end.
    Interrupted {
        /// 130 after INT, 143 after TERM.
        code: u8,
        /// Message on the saved state and the command to continue.
        said: String,
    },
}

impl From<Error> for Exit {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<std::io::Error> for Exit {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(Error::invalid(format!("cannot print: {error}")))
    }
}
