//! Store of results on disk: `<experiment>/<job id>.<code>.jsonl`.
//!
//! The file name contains the fingerprint of the code, so results of several versions can coexist. Every file is written to a
//! temporary file and renamed, and carries a checksum: a file that is incomplete, or of another job, is detected when it is
//! read.

mod format;
mod row;

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use mcsa_core::numeric::Backend;
use mcsa_core::{Error, file};
use serde::{Serialize, de::DeserializeOwned};

use crate::interrupt::warn;
use crate::task::Job;

pub(crate) use format::{Head, Reason, lines, read_lines};
pub use row::{Ended, Outcome, Row};
pub(crate) use row::{Number, numbers};

/// Fingerprint of all code of this program that computes results; results that depend on `mcsa::fit` carry it. See `build.rs`.
pub const CODE: &str = env!("MCSA_CODE");

/// Fingerprint that a result of this job carries. Unless the job depends on `mcsa::fit`, the fingerprint leaves out the code of
/// that call.
pub fn code_of(job: &Job) -> &'static str {
    if job.task.has_call() { CODE } else { env!("MCSA_CODE_BELOW") }
}

/// A folder of results.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
    /// Fingerprint of other code.
    other: Option<String>,
    /// Vector units by which jobs were computed before, by job id: those of their checkpoints.
    units: Arc<Mutex<HashMap<String, String>>>,
}

/// Results of code other than the store's.
#[derive(Debug, Clone, Default)]
pub struct Others {
    /// Fingerprint of the store, if its code is other than this program's.
    own: Option<String>,
    /// By job id: fingerprints, each with the time of its file.
    codes: HashMap<String, Vec<(String, Option<SystemTime>)>>,
}

impl Store {
    /// Store of results of this code in `folder`, which is created by the first write.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), other: None, units: Arc::default() }
    }

    /// Store of results of code with another fingerprint.
    pub fn of_code(folder: impl Into<PathBuf>, code: &str) -> Self {
        Self { other: Some(code.to_owned()), ..Self::new(folder) }
    }

    fn code<'a>(&'a self, job: &Job) -> &'a str {
        self.other.as_deref().unwrap_or_else(|| code_of(job))
    }

    /// Folder of an experiment.
    pub fn folder(&self, experiment: &str) -> PathBuf {
        self.folder.join(experiment)
    }

    /// File of a job's result.
    pub fn result_path(&self, job: &Job) -> PathBuf {
        self.path_by(self.code(job), job)
    }

    /// File of a job's result by code with a given fingerprint.
    pub fn path_by(&self, code: &str, job: &Job) -> PathBuf {
        self.path(job, code, "jsonl")
    }

    /// File of a job's checkpoint.
    pub fn checkpoint_path(&self, job: &Job) -> PathBuf {
        self.path(job, self.code(job), "checkpoint")
    }

    fn path(&self, job: &Job, code: &str, ending: &str) -> PathBuf {
        self.folder(&job.experiment).join(format!("{}.{code}.{ending}", job.id()))
    }

    /// Returns true if there is a complete result of this code. Reads the whole file.
    pub fn holds(&self, job: &Job) -> bool {
        matches!(self.fresh(job), Ok(Some(_)))
    }

    /// Removes result and checkpoint of a job by this code.
    pub fn remove(&self, job: &Job) {
        for path in [self.result_path(job), self.checkpoint_path(job)] {
            // A file may not exist; one that cannot be removed is overwritten later, and an error is reported then.
            let _ = fs::remove_file(path);
        }
    }

    /// Stores the rows of a job, and removes its checkpoint.
    ///
    /// # Errors
    /// If the file cannot be written; the message names the job.
    pub fn save(&self, job: &Job, rows: &[Row], ended: &Ended) -> Result<(), Error> {
        let path = self.result_path(job);
        let place = |error: Error| error.within(format!("{}: the result is lost", job.title()));
        rows.iter().try_for_each(Row::check).map_err(place)?;
        let text = format::result(self.code(job), &self.units_of(job), job, rows, ended);
        let text = text.map_err(|error| place(failed(&path, "write", &error)))?;
        write_whole(&path, text.as_bytes()).map_err(place)?;
        // A checkpoint that cannot be removed only costs space: the result is found first.
        let _ = fs::remove_file(self.checkpoint_path(job));
        Ok(())
    }

    /// Result by this code, if there is one.
    pub fn fresh(&self, job: &Job) -> Result<Option<Outcome>, Error> {
        self.by_code(self.code(job), job)
    }

    /// Result by code with a given fingerprint, if there is one.
    pub fn by_code(&self, code: &str, job: &Job) -> Result<Option<Outcome>, Error> {
        let path = self.path_by(code, job);
        let Some(bytes) = read(&path)? else { return Ok(None) };
        let outcome = format::read_result(&bytes, code, job);
        outcome.map(Some).map_err(|reason| failed(&path, "use", &reason))
    }

    /// Results by other code in the folder of an experiment, by file name.
    pub fn others(&self, experiment: &str) -> Others {
        let mut others = Others { own: self.other.clone(), ..Others::default() };
        for entry in fs::read_dir(self.folder(experiment)).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(stem) = name.strip_suffix(".jsonl") else { continue };
            let Some((id, code)) = stem.split_once('.') else { continue };
            let time = entry.metadata().and_then(|data| data.modified()).ok();
            others.codes.entry(id.to_owned()).or_default().push((code.to_owned(), time));
        }
        others.codes.values_mut().for_each(|codes| codes.sort_by(|a, b| (b.1, &b.0).cmp(&(a.1, &a.0))));
        others
    }

    /// Renames an unusable result of a job, so that the job can be run again; returns the new name.
    ///
    /// If another process has replaced it by a good one in the meantime, that one gets its name back.
    pub fn set_aside(&self, job: &Job) -> Result<PathBuf, Error> {
        let path = self.result_path(job);
        let aside = set_aside(&path)?;
        if let Ok(Some(bytes)) = read(&aside)
            && format::read_result(&bytes, self.code(job), job).is_ok()
        {
            fs::rename(&aside, &path).map_err(|error| failed(&aside, "rename", &error))?;
        }
        Ok(aside)
    }

    /// Stores a checkpoint in a file of any name. After an error only an interruption would lose work.
    pub(crate) fn write_checkpoint<T: Serialize>(
        &self,
        path: &Path,
        job: &Job,
        state: &T,
    ) -> Result<(), Error> {
        format::write_checkpoint(path, self.code(job), &self.units_of(job), job, state)
    }

    /// Checkpoint of a job in a file of any name, if there is one.
    pub(crate) fn read_checkpoint<T: DeserializeOwned>(
        &self,
        path: &Path,
        job: &Job,
    ) -> Result<Option<T>, Error> {
        let found = format::read_checkpoint(path, self.code(job), job)?;
        Ok(found.map(|(state, unit)| {
            self.units.lock().unwrap_or_else(PoisonError::into_inner).insert(job.id(), unit);
            state
        }))
    }

    /// Checkpoint of a job by this code, if there is one. An unusable checkpoint is set aside with a message, and the job
    /// begins anew.
    pub fn checkpoint<T: DeserializeOwned>(&self, job: &Job) -> Result<Option<T>, Error> {
        let path = self.checkpoint_path(job);
        self.read_checkpoint(&path, job).or_else(|error| {
            let aside = set_aside(&path)?;
            warn(&format!("{error}; renamed to {}, and the job begins anew", aside.display()));
            Ok(None)
        })
    }

    /// Vector units by which a job was computed: this machine's, and those of its checkpoint.
    fn units_of(&self, job: &Job) -> String {
        let units = self.units.lock().unwrap_or_else(PoisonError::into_inner);
        let before = units.get(&job.id()).map(String::as_str).unwrap_or_default();
        let all: BTreeSet<&str> =
            before.split('+').filter(|unit| !unit.is_empty()).chain([vector_unit()]).collect();
        all.into_iter().collect::<Vec<_>>().join("+")
    }
}

impl Others {
    /// Fingerprints of code with a result of a job, newest first.
    pub fn of(&self, job: &Job) -> impl Iterator<Item = &str> {
        let codes = self.codes.get(&job.id()).into_iter().flatten();
        let own = self.own.as_deref().unwrap_or_else(|| code_of(job));
        codes.map(|(code, _)| code.as_str()).filter(move |code| *code != own)
    }
}

impl Outcome {
    /// Returns true if it was computed by code other than this program's, which has not confirmed it.
    pub fn is_stale(&self) -> bool {
        self.confirmed.as_ref().unwrap_or(&self.code) != code_of(&self.job)
    }
}

/// Vector unit of this machine: results of one unit are bit-identical.
pub(crate) fn vector_unit() -> &'static str {
    match Backend::best() {
        Backend::Avx512 => "avx512",
        Backend::Avx2 => "avx2",
        Backend::Portable => std::env::consts::ARCH,
    }
}

/// Contents of a file; `None` if it does not exist.
fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let read_once = || file::read(path, LONGEST);
    let mut read = read_once();
    // A network file system says so of a file that another host has just replaced.
    for _ in 0..3 {
        if !read.as_ref().is_err_and(|error| error.kind() == ErrorKind::StaleNetworkFileHandle) {
            break;
        }
        read = read_once();
    }
    match read {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path, "read", &error)),
    }
}

/// Error that names the failed operation and the file.
fn failed(path: &Path, what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("cannot {what} {}: {error}", path.display()))
}

/// Writes a file by [`mcsa_core::file::write`].
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    file::write(path, bytes).map_err(|error| failed(path, "write", &error))
}

/// Creates a folder and checks that files can be written in it.
pub fn check_folder(folder: &Path) -> Result<(), Error> {
    file::check_folder(folder).map_err(|error| failed(folder, "write files in", &error))
}

/// Largest size of a stored file in bytes. Ten million numbers, as in the checkpoint of a large fit, have 200 MB.
pub(crate) const LONGEST: u64 = 1 << 30;

/// Random number of this process: distinguishes hosts and containers with equal names and process ids.
static CHANCE: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("process"));

/// Unique name of this process: host, process id, random number.
pub(crate) fn writer() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = host.or_else(|| std::env::var("HOSTNAME").or_else(|_| std::env::var("COMPUTERNAME")).ok());
    let host = host.unwrap_or_default();
    let letters: String = host.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
    format!("{letters}-{}-{:016x}", std::process::id(), *CHANCE)
}

/// Renames an unusable file and returns the new name: the file is kept, and does not block a new one.
fn set_aside(path: &Path) -> Result<PathBuf, Error> {
    let name = path.file_name().unwrap_or(OsStr::new("file")).to_string_lossy();
    let others = [String::new()].into_iter().chain((2_u32..).map(|k| k.to_string()));
    let mut others = others.map(|k| path.with_file_name(format!("{name}.bad{k}")));
    let free = others.find(|other| !other.exists()).unwrap_or_else(|| path.with_extension("bad"));
    match fs::rename(path, &free) {
        // Another process has renamed it already.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(free),
        renamed => renamed.map(|()| free.clone()).map_err(|error| failed(path, "rename", &error)),
    }
}
