//! Results on disk: `<experiment>/<job id>.<code>.jsonl`.
//!
//! The name of a file says which code it came from, so results of two versions lie side by side. Every file is written beside
//! its place and moved there, and ends with a checksum: what is not whole, or of another job, is found out when it is read.

mod file;
mod format;
mod journal;
mod row;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use mcsa::Error;
use serde::{Serialize, de::DeserializeOwned};

use crate::notice::warn;
use crate::plan::Job;

use file::failed;
pub use file::{check_folder, write_whole};
pub(crate) use file::{sweep, writer};
pub use journal::{Finished, Journal};
pub use row::{Ended, Kept, Outcome, Row};

/// The fingerprint of the code that results of this program come from; see `build.rs`.
pub const CODE: &str = env!("MCSA_CODE");

/// A folder of results.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
    code: String,
    journal: Option<Arc<Journal>>,
    /// Folders that have been swept, and files of which it has been said that they cannot be written.
    done: Arc<Mutex<HashSet<PathBuf>>>,
}

/// Results of other code than the store's.
#[derive(Debug, Clone, Default)]
pub struct Others {
    /// By job id: codes, each with the time of its file. A result without a code in its name has an empty one.
    codes: HashMap<String, Vec<(String, Option<SystemTime>)>>,
}

impl Store {
    /// The results of this code kept in `folder`, which is made when the first is written.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self::of_code(folder, CODE)
    }

    /// The same as code of another fingerprint would see it.
    pub fn of_code(folder: impl Into<PathBuf>, code: &str) -> Self {
        Self { folder: folder.into(), code: code.to_owned(), journal: None, done: Arc::default() }
    }

    /// The same with a journal, to which every result that is kept adds a line.
    pub fn with_journal(self, journal: &Arc<Journal>) -> Self {
        Self { journal: Some(Arc::clone(journal)), ..self }
    }

    /// The folder of an experiment.
    pub fn folder(&self, experiment: &str) -> PathBuf {
        self.folder.join(experiment)
    }

    /// The file of a job's result.
    pub fn result_path(&self, job: &Job) -> PathBuf {
        self.path(job, &self.code, "jsonl")
    }

    /// The file of a job's checkpoint.
    pub fn checkpoint_path(&self, job: &Job) -> PathBuf {
        self.path(job, &self.code, "checkpoint")
    }

    fn path(&self, job: &Job, code: &str, ending: &str) -> PathBuf {
        self.folder(&job.experiment).join(format!("{}.{code}.{ending}", job.id()))
    }

    /// Whether a whole result of this code is there. Reads all of it.
    pub fn holds(&self, job: &Job) -> bool {
        matches!(self.fresh(job), Ok(Some(_)))
    }

    /// Drops what is kept of a job by this code.
    pub fn forget(&self, job: &Job) {
        for path in [self.result_path(job), self.checkpoint_path(job)] {
            // What is not there need not be removed; what cannot be is overwritten later, with its error told then.
            let _ = fs::remove_file(path);
        }
    }

    /// Keeps the rows of a job, and drops its checkpoint.
    ///
    /// # Errors
    /// If the disk refuses; the message names the job.
    pub fn keep(&self, job: &Job, rows: &[Row], ended: &Ended) -> Result<(), Error> {
        let path = self.result_path(job);
        let place = |error: Error| error.within(format!("{}: the result is lost", job.title()));
        let text = format::result(&self.code, job, rows, ended);
        let text = text.map_err(|error| place(failed(&path, "write", &error)))?;
        write_whole(&path, text.as_bytes()).map_err(place)?;
        // A checkpoint that is not removed costs only its space: the result is found first.
        let _ = fs::remove_file(self.checkpoint_path(job));
        let folder = self.folder(&job.experiment);
        if self.is_first(&folder) {
            sweep(&folder);
        }
        if let Some(journal) = &self.journal {
            let (id, failure) = (job.id(), ended.failure.clone());
            let finished = Finished { job: id, after: journal.seconds(), failure };
            if let Err(error) = journal.add_finished(&job.experiment, finished) {
                let folder = folder.join("manifest");
                self.tell_once(&folder, &format!("cannot add to {}: {error}", folder.display()));
            }
        }
        Ok(())
    }

    /// What is kept of a job: a result of this code, or else the newest whole one of other code.
    ///
    /// # Errors
    /// If the file of this code cannot be used; the message names it and says why.
    pub fn kept(&self, job: &Job) -> Result<Kept, Error> {
        if let Some(outcome) = self.fresh(job)? {
            return Ok(Kept::Fresh(outcome));
        }
        let others = self.others(&job.experiment);
        let mut stale = others.of(job).filter_map(|code| Some((code, self.kept_by(code, job).ok()??)));
        Ok(stale.next().map_or(Kept::Missing, |(code, outcome)| Kept::Stale(code.to_owned(), outcome)))
    }

    /// The result of this code, if there is one.
    ///
    /// # Errors
    /// If the file cannot be used; the message names it and says why.
    pub fn fresh(&self, job: &Job) -> Result<Option<Outcome>, Error> {
        self.kept_by(&self.code, job)
    }

    /// The result of some code, if there is one.
    ///
    /// # Errors
    /// If the file cannot be used; the message names it and says why.
    pub fn kept_by(&self, code: &str, job: &Job) -> Result<Option<Outcome>, Error> {
        let path = self.path(job, code, "jsonl");
        let Some(bytes) = read(&path)? else { return Ok(None) };
        let outcome = format::read_result(&bytes, code, job);
        outcome.map(Some).map_err(|reason| failed(&path, "use", &reason))
    }

    /// Results of other code in the folder of an experiment, by their names.
    pub fn others(&self, experiment: &str) -> Others {
        let mut others = Others::default();
        for entry in fs::read_dir(self.folder(experiment)).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(stem) = name.strip_suffix(".jsonl") else { continue };
            let (id, code) = stem.split_once('.').unwrap_or((stem, ""));
            if code != self.code {
                let time = entry.metadata().and_then(|data| data.modified()).ok();
                others.codes.entry(id.to_owned()).or_default().push((code.to_owned(), time));
            }
        }
        others.codes.values_mut().for_each(|codes| codes.sort_by(|a, b| (b.1, &b.0).cmp(&(a.1, &a.0))));
        others
    }

    /// Gives the result of a job that cannot be used another name, so that the job can be run again; returns that name.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn set_aside(&self, job: &Job) -> Result<PathBuf, Error> {
        file::set_aside(&self.result_path(job))
    }

    /// Keeps a checkpoint, replacing the last one. A job goes on if the disk refuses: it
    /// is healthy, and only an interruption would cost more.
    ///
    /// # Errors
    /// If the disk refuses, or it cannot be written as JSON.
    pub fn keep_checkpoint<T: Serialize>(&self, job: &Job, checkpoint: &T) -> Result<(), Error> {
        let path = self.checkpoint_path(job);
        let text = format::checkpoint(&self.code, job, checkpoint);
        let text = text.map_err(|error| failed(&path, "write", &error))?;
        write_whole(&path, text.as_bytes())
    }

    /// The checkpoint of a job, if this code kept one. One that cannot be used is set aside and told, and the job begins anew.
    ///
    /// # Errors
    /// If such a file cannot be renamed.
    pub fn checkpoint<T: DeserializeOwned>(&self, job: &Job) -> Result<Option<T>, Error> {
        let path = self.checkpoint_path(job);
        let checkpoint = read(&path).and_then(|bytes| {
            let found = bytes.map(|bytes| format::read_checkpoint(&bytes, &self.code, job)).transpose();
            found.map_err(|reason| failed(&path, "use", &reason))
        });
        match checkpoint {
            Ok(checkpoint) => Ok(checkpoint),
            Err(error) => {
                let aside = file::set_aside(&path)?;
                warn(&format!("{error}; renamed to {}, and the job begins anew", aside.display()));
                Ok(None)
            }
        }
    }

    fn tell_once(&self, path: &Path, message: &str) {
        if self.is_first(path) {
            warn(message);
        }
    }

    fn is_first(&self, path: &Path) -> bool {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned())
    }
}

impl Others {
    /// The codes that have a result of a job, the newest first.
    pub fn of(&self, job: &Job) -> impl Iterator<Item = &str> {
        let codes = self.codes.get(&job.id()).into_iter().flatten();
        codes.map(|(code, _)| code.as_str()).filter(|code| !code.is_empty())
    }

    /// Whether there is a result without a code in its name, as earlier versions wrote them.
    pub fn has_unnamed(&self, job: &Job) -> bool {
        self.codes.get(&job.id()).is_some_and(|codes| codes.iter().any(|(code, _)| code.is_empty()))
    }
}

/// The bytes of a file, if it is there.
fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path, "read", &error)),
    }
}
