//! Journal of a run: one append-only file for each process and experiment.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use mcsa_core::Error;
use serde::Serialize;

use super::file::failed;

/// Open files of a run. A process that is killed loses only the line it is writing.
#[derive(Debug)]
pub struct Journal {
    start: Instant,
    files: Mutex<HashMap<String, Pages>>,
}

/// Journal file of one experiment.
#[derive(Debug)]
struct Pages {
    file: fs::File,
    /// True if the last line was not written completely.
    is_torn: bool,
}

impl Default for Journal {
    #[expect(clippy::disallowed_methods, reason = "a journal tells when; no number depends on it")]
    fn default() -> Self {
        Self { start: Instant::now(), files: Mutex::default() }
    }
}

impl Journal {
    /// Begins the journal of an experiment in a file that must not exist.
    ///
    /// # Errors
    /// If the file exists or cannot be written.
    pub(crate) fn begin<T: Serialize>(&self, experiment: &str, path: &Path, first: &T) -> Result<(), Error> {
        let open = || {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            let mut file = fs::OpenOptions::new().append(true).create_new(true).open(path)?;
            file.write_all(line(first)?.as_bytes())?;
            file.sync_all()?;
            Ok(Pages { file, is_torn: false })
        };
        let pages = open().map_err(|error: std::io::Error| failed(path, "write", &error))?;
        self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(experiment.to_owned(), pages);
        Ok(())
    }

    /// Appends a line to the journal of an experiment, if it has one.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn add<T: Serialize>(&self, experiment: &str, value: &T) -> std::io::Result<()> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pages) = files.get_mut(experiment) else { return Ok(()) };
        // A line cut short by a full disk must not merge with the next one.
        let start = if pages.is_torn { "\n" } else { "" };
        let written = pages.file.write_all(format!("{start}{}", line(value)?).as_bytes());
        pages.is_torn = written.is_err();
        written
    }

    /// Appends the line of a job that ended.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn add_finished(&self, experiment: &str, finished: Finished) -> std::io::Result<()> {
        self.add(experiment, &HashMap::from([("finished", finished)]))
    }

    /// Seconds since the run began.
    pub(crate) fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

/// Journal entry of a job that ended.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
pub struct Finished {
    /// Id of the job.
    pub job: String,
    /// Seconds since the run began.
    pub after: f64,
    /// Reason of an early end.
    pub failure: Option<String>,
}

fn line<T: Serialize>(value: &T) -> std::io::Result<String> {
    Ok(serde_json::to_string(value)? + "\n")
}
