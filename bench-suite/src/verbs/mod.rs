//! Verbs of the program, one file each.
//!
//! A verb prints to a given stream and returns an [`Exit`].

mod claims;
mod figures;
mod fit;
mod report;
mod selection;
mod written;

pub use claims::Claims;
pub use figures::Figures;
pub use fit::FitModel;
pub use selection::{Planned, Selection};
pub use written::{Anchors, References, WriteRates};

use std::path::Path;

use clap::builder::RangedU64ValueParser;
use mcsa_core::{Error, file};

/// Parses a number of threads, at most 1024.
pub(crate) fn threads() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=1024)
}

/// Name of the argument for a file of a state, which must be a regular file.
const CHECKPOINT: &str = "--checkpoint";

/// Checks the files that a verb will write, by their arguments: each can be written, and no two are one file.
///
/// # Errors
/// If a file cannot be written, or two arguments name one file (usage).
pub(crate) fn check_outputs(outputs: &[(&str, Option<&Path>)]) -> Result<(), Exit> {
    let given = outputs.iter().filter_map(|(name, path)| Some((*name, (*path)?)));
    let given: Vec<(&str, &Path)> = given.collect();
    for (name, path) in &given {
        let is_state = *name == CHECKPOINT;
        let checked = if is_state { file::check_regular(path) } else { Ok(()) };
        let place = |error| Error::invalid(format!("{name} {}: {error}; nothing was run", path.display()));
        checked.and_then(|()| file::check(path)).map_err(place)?;
    }
    for (k, (name, path)) in given.iter().enumerate() {
        if let Some((other, _)) = given[..k].iter().find(|(_, other)| file::are_one(other, path)) {
            let reason = format!("{other} and {name} are one file, {}: name two", path.display());
            return Err(Exit::Usage(Error::invalid(reason)));
        }
    }
    Ok(())
}

/// Removes a checkpoint that is not needed any more; it may not exist. A symbolic link stays.
fn remove_checkpoint(path: &Path) {
    let _ = std::fs::canonicalize(path).and_then(std::fs::remove_file);
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
