//! Results on disk.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use mcsa::Error;
use mcsa_estimators::Health;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::number;
use crate::plan::Job;

/// The numbers recorded at one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Steps made.
    pub step: u64,
    /// Each number by its name.
    #[serde(flatten, with = "number")]
    pub values: BTreeMap<String, f64>,
}

/// How a job ended, and what it cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Ended {
    /// Why it ended early, if it did: a result like any other.
    pub failure: Option<String>,
    /// Of a fit: why it ended.
    #[serde(default)]
    pub outcome: Option<mcsa_estimators::Outcome>,
    /// Of a fit: what it looked like at its end.
    #[serde(default)]
    pub health: Option<Health>,
    /// Evaluations, by name. What was measured along the way is not among them.
    pub counts: BTreeMap<String, u64>,
    /// Seconds of one processor, without what was measured along the way.
    pub seconds: f64,
    /// Seconds spent on measuring.
    #[serde(default)]
    pub measuring: f64,
}

/// A job with the rows it gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What was run.
    pub job: Job,
    /// What it recorded.
    pub rows: Vec<Row>,
    /// How it ended.
    pub ended: Ended,
}

/// What the store has of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// A result of this code.
    Fresh(Outcome),
    /// A result of other code, whose fingerprint this is: it may be shown as such, and is never mixed with fresh ones.
    Stale(String, Outcome),
    /// Nothing.
    Missing,
}

/// The fingerprint of the code that results of this program come from; see `build.rs`.
pub const CODE: &str = env!("MCSA_CODE");

/// What a checkpoint begins with; the fingerprint follows.
const CHECKPOINT: &str = "mcsa checkpoint ";

/// A folder of results: `<experiment>/<job id>.jsonl`, the job on the first line, a row on each that follows, and on the
/// last how it ended.
///
/// Files are written beside their place and moved there, so that a file that exists is whole.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
    code: String,
}

#[derive(Serialize, Deserialize)]
struct Head {
    code: String,
    job: Job,
}

#[derive(Deserialize)]
struct Coded {
    code: String,
}

#[derive(Serialize, Deserialize)]
struct Tail {
    ended: Ended,
}

fn failed(path: &Path, what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("cannot {what} {}: {error}", path.display()))
}

impl Store {
    /// The results of this code kept in `folder`, which is made when the first is written.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self::of_code(folder, CODE)
    }

    /// The same as code of another fingerprint would see it.
    pub fn of_code(folder: impl Into<PathBuf>, code: &str) -> Self {
        Self { folder: folder.into(), code: code.to_owned() }
    }

    /// The folder of an experiment.
    pub fn folder(&self, experiment: &str) -> PathBuf {
        self.folder.join(experiment)
    }

    fn path(&self, job: &Job, ending: &str) -> PathBuf {
        self.folder(&job.experiment).join(format!("{}.{ending}", job.id()))
    }

    /// Whether this code has run the job; looks at the first line alone.
    pub fn holds(&self, job: &Job) -> bool {
        use std::io::{BufRead, BufReader};
        let Ok(file) = fs::File::open(self.path(job, "jsonl")) else { return false };
        let mut head = String::new();
        let read = BufReader::new(file).read_line(&mut head);
        read.is_ok() && serde_json::from_str::<Coded>(&head).is_ok_and(|head| head.code == self.code)
    }

    /// Drops what is kept of a job.
    pub fn forget(&self, job: &Job) {
        for ending in ["jsonl", "checkpoint"] {
            // What is not there need not be removed; what cannot be is overwritten later, with its error told then.
            let _ = fs::remove_file(self.path(job, ending));
        }
    }

    /// Keeps the rows of a job, and drops its checkpoint.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn keep(&self, job: &Job, rows: &[Row], ended: &Ended) -> Result<(), Error> {
        let path = self.path(job, "jsonl");
        let line = |value: &dyn ErasedJson| value.line().map_err(|error| failed(&path, "write", &error));
        let mut text = line(&Head { code: self.code.clone(), job: job.clone() })?;
        for row in rows {
            text.push_str(&line(row)?);
        }
        text.push_str(&line(&Tail { ended: ended.clone() })?);
        write_whole(&path, text.as_bytes())?;
        self.sweep(job);
        Ok(())
    }

    /// Removes the checkpoint of a job, and what a process killed while it wrote one left beside it. What is not removed
    /// costs only its space: the result is found first.
    fn sweep(&self, job: &Job) {
        let checkpoint = format!("{}.checkpoint", job.id());
        let entries = fs::read_dir(self.folder(&job.experiment)).into_iter().flatten().flatten();
        for entry in entries {
            if entry.file_name().to_string_lossy().starts_with(&checkpoint) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// What is kept of a job.
    ///
    /// # Errors
    /// If the file is malformed (the message names the line), or holds another job.
    pub fn kept(&self, job: &Job) -> Result<Kept, Error> {
        let path = self.path(job, "jsonl");
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Kept::Missing),
            read => read.map_err(|error| failed(&path, "read", &error))?,
        };
        let malformed = |line: usize, error: &dyn std::fmt::Display| {
            failed(&path, "read", &format!("line {}: {error}; delete it to run the job again", line + 1))
        };
        let lines: Vec<&str> = text.lines().collect();
        let [head, rows @ .., tail] = lines.as_slice() else {
            return Err(malformed(lines.len(), &"too few lines"));
        };
        let head: Head = serde_json::from_str(head).map_err(|error| malformed(0, &error))?;
        if head.job != *job {
            return Err(failed(&path, "use", &"it holds another job; delete it to run this one again"));
        }
        let read =
            |(k, line): (usize, &&str)| serde_json::from_str(line).map_err(|error| malformed(k + 1, &error));
        let rows: Vec<Row> = rows.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        let Tail { ended } =
            serde_json::from_str(tail).map_err(|error| malformed(lines.len() - 1, &error))?;
        let outcome = Outcome { job: head.job, rows, ended };
        Ok(if head.code == self.code { Kept::Fresh(outcome) } else { Kept::Stale(head.code, outcome) })
    }

    /// Keeps a checkpoint, replacing the last one.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn keep_checkpoint<T: Serialize>(&self, job: &Job, checkpoint: &T) -> Result<(), Error> {
        let path = self.path(job, "checkpoint");
        let text = serde_json::to_string(checkpoint).map_err(|error| failed(&path, "write", &error))?;
        write_whole(&path, format!("{CHECKPOINT}{}\n{text}", self.code).as_bytes())
    }

    /// The checkpoint of a job, if this code kept one: other code's is of no use.
    ///
    /// # Errors
    /// If the file is there and cannot be read.
    pub fn checkpoint<T: DeserializeOwned>(&self, job: &Job) -> Result<Option<T>, Error> {
        let path = self.path(job, "checkpoint");
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| failed(&path, "read", &error))?,
        };
        let refuse = |error: &dyn std::fmt::Display| {
            failed(&path, "read", &format!("{error}; delete it to start the job again"))
        };
        let headed = text.strip_prefix(CHECKPOINT).and_then(|rest| rest.split_once('\n'));
        let Some((code, body)) = headed else { return Err(refuse(&"it is no checkpoint, or cut short")) };
        if code != self.code {
            return Ok(None);
        }
        let read = serde_json::from_str(body).map(Some);
        read.map_err(|error| refuse(&error))
    }
}

/// Anything that can be a line of a file.
trait ErasedJson {
    fn line(&self) -> serde_json::Result<String>;
}

impl<T: Serialize> ErasedJson for T {
    fn line(&self) -> serde_json::Result<String> {
        serde_json::to_string(self).map(|text| text + "\n")
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
