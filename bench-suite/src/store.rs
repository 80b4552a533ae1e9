//! Results on disk.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use mcsa::Error;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::plan::Job;

/// The numbers recorded at one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Steps made.
    pub step: u64,
    /// Each number by its name.
    #[serde(flatten)]
    pub values: BTreeMap<String, f64>,
}

/// A job with the rows it gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What was run.
    pub job: Job,
    /// What it recorded.
    pub rows: Vec<Row>,
}

/// A folder of results: `<experiment>/<job id>.jsonl`, the job on the first line and a row on each that follows.
///
/// Files are written beside their place and moved there, so that a file that exists is whole.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

fn failed(path: &Path, what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("cannot {what} {}: {error}", path.display()))
}

impl Store {
    /// The results kept in `folder`, which is made when the first is written.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn path(&self, job: &Job, ending: &str) -> PathBuf {
        self.folder.join(&job.experiment).join(format!("{}.{ending}", job.id()))
    }

    /// Whether the job has been run.
    pub fn holds(&self, job: &Job) -> bool {
        self.path(job, "jsonl").is_file()
    }

    /// Keeps the rows of a job, and drops its checkpoint.
    ///
    /// # Errors
    /// If the disk refuses, or a row holds a number that is not finite.
    pub fn keep(&self, job: &Job, rows: &[Row]) -> Result<(), Error> {
        let path = self.path(job, "jsonl");
        let mut text = serde_json::to_string(job).map_err(|error| failed(&path, "write", &error))?;
        for row in rows {
            if let Some((name, value)) = row.values.iter().find(|(_, value)| !value.is_finite()) {
                let problem = format!("{name} is {value} at step {}", row.step);
                return Err(failed(&path, "write", &problem));
            }
            text.push('\n');
            text.push_str(&serde_json::to_string(row).map_err(|error| failed(&path, "write", &error))?);
        }
        text.push('\n');
        write_whole(&path, text.as_bytes())?;
        // A checkpoint left behind costs only its space: the result is found first.
        let _ = fs::remove_file(self.path(job, "checkpoint"));
        Ok(())
    }

    /// The rows of a job that has been run.
    ///
    /// # Errors
    /// If there is no such file, it is malformed (the message names the line), or it holds another job.
    pub fn outcome(&self, job: &Job) -> Result<Outcome, Error> {
        let path = self.path(job, "jsonl");
        let text = fs::read_to_string(&path).map_err(|error| failed(&path, "read", &error))?;
        let mut lines = text.lines().enumerate();
        let malformed = |line: usize, error: &dyn std::fmt::Display| {
            failed(&path, "read", &format!("line {}: {error}", line + 1))
        };
        let head = lines.next().map_or("", |(_, head)| head);
        let stored: Job = serde_json::from_str(head).map_err(|error| malformed(0, &error))?;
        if stored != *job {
            return Err(failed(&path, "use", &"it holds another job; delete it to run this one again"));
        }
        let rows = lines
            .map(|(k, line)| serde_json::from_str(line).map_err(|error| malformed(k, &error)))
            .collect::<Result<_, _>>()?;
        Ok(Outcome { job: stored, rows })
    }

    /// Keeps a checkpoint, replacing the last one.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn keep_checkpoint<T: Serialize>(&self, job: &Job, checkpoint: &T) -> Result<(), Error> {
        let path = self.path(job, "checkpoint");
        let text = serde_json::to_vec(checkpoint).map_err(|error| failed(&path, "write", &error))?;
        write_whole(&path, &text)
    }

    /// The checkpoint of a job, if one was kept.
    ///
    /// # Errors
    /// If the file is there and cannot be read.
    pub fn checkpoint<T: DeserializeOwned>(&self, job: &Job) -> Result<Option<T>, Error> {
        let path = self.path(job, "checkpoint");
        match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&path, "read", &error)),
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| {
                failed(&path, "read", &format!("{error}; delete it to start the job again"))
            }),
        }
    }
}

/// Writes a file whole or not at all, making its folder.
///
/// # Errors
/// If the disk refuses; the message names the file.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let write = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!(".{}", std::process::id()));
        let mut file = fs::File::create(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|error| failed(path, "write", &error))
}
