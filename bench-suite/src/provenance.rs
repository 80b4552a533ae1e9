//! Provenance of results: the runs, code and machines that computed them.
//!
//! Each process that runs jobs of an experiment writes its own file in the folder `manifest` of the experiment: a line at the
//! start, a line for each job that ended, and a line at the end. Lines are only appended.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use mcsa_core::Error;
use serde::{Deserialize, Serialize};

use crate::experiment::{Experiment, PresetName};
use crate::interrupt::warn;
use crate::jobs::now;
use crate::store::{CODE, LONGEST, Store, vector_unit, write_whole, writer};
use crate::task::Job;

/// A run of an experiment by one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Start time, in seconds since 1970.
    pub time: u64,
    /// The preset.
    pub preset: PresetName,
    /// Number of jobs to run.
    pub planned: usize,
    /// Part of the jobs, `K/N`, if the process runs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    pub(crate) threads: usize,
    pub(crate) seed: u64,
    pub(crate) code: String,
    pub(crate) commit: Option<String>,
    /// True if files differed from the commit.
    pub(crate) dirty: Option<bool>,
    pub(crate) rustc: String,
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) unit: String,
    /// Host, process, and a number that is unique to the process.
    pub(crate) writer: String,
}

/// Record of one run, read from its manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// First line of the manifest.
    pub start: Provenance,
    /// Number of jobs that ended with a result.
    pub jobs: usize,
    /// Error messages of jobs that failed.
    pub errors: Vec<String>,
    /// Seconds from the start to the last line.
    pub seconds: f64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Start(Box<Provenance>),
    Job { id: String, after: f64 },
    Error { reason: String, after: f64 },
    End { after: f64 },
}

/// Manifests that this process writes, one for each experiment. A process that is killed loses only the line it is writing.
#[derive(Debug)]
pub struct Journal {
    start: Instant,
    /// Path and file of each manifest, by experiment.
    files: Mutex<HashMap<String, (PathBuf, fs::File)>>,
}

impl Provenance {
    /// Provenance of a run of this program that begins now.
    pub fn of(experiment: &Experiment, preset: PresetName, planned: usize, threads: usize) -> Self {
        #[expect(clippy::disallowed_methods, reason = "a manifest tells when a run was made")]
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Self {
            time,
            preset,
            planned,
            shard: None,
            threads,
            seed: experiment.seed,
            code: CODE.to_owned(),
            commit: git(&["rev-parse", "HEAD"]),
            dirty: git(&["status", "--porcelain", "--untracked-files=no"]).map(|text| !text.is_empty()),
            rustc: env!("MCSA_RUSTC").to_owned(),
            processor: processor(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            unit: vector_unit().to_owned(),
            writer: writer(),
        }
    }
}

impl Default for Journal {
    fn default() -> Self {
        Self { start: now(), files: Mutex::default() }
    }
}

impl Journal {
    /// Begins the manifest of an experiment, and saves a copy of the experiment's file next to the results.
    pub fn begin(&self, start: &Provenance, store: &Store, id: &str, text: &str) -> Result<(), Error> {
        let path = store.folder(id).join("manifest").join(format!("{}-{}.jsonl", start.time, start.writer));
        let open = || {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            let mut file = fs::OpenOptions::new().append(true).create_new(true).open(&path)?;
            file.write_all(line(&Line::Start(Box::new(start.clone())))?.as_bytes())?;
            file.sync_all()?;
            Ok(file)
        };
        let failed = |error: io::Error| Error::invalid(format!("cannot write {}: {error}", path.display()));
        let file = open().map_err(failed)?;
        self.files().insert(id.to_owned(), (path, file));
        write_whole(&store.folder(id).join("experiment.toml"), text.as_bytes())
    }

    /// Adds a job that ended with a result.
    pub fn ended(&self, job: &Job) {
        self.add(&job.experiment, &Line::Job { id: job.id(), after: self.seconds() });
    }

    /// Ends the manifest of an experiment with those of the errors that are its own.
    pub fn end(&self, id: &str, errors: &[Error]) {
        let after = self.seconds();
        let reasons = errors.iter().map(Error::to_string);
        for reason in reasons.filter(|reason| reason.starts_with(&format!("{id}, "))) {
            self.add(id, &Line::Error { reason, after });
        }
        self.add(id, &Line::End { after });
    }

    /// Appends a line. A manifest that cannot be written ends with a warning; no result depends on it.
    fn add(&self, id: &str, value: &Line) {
        let mut files = self.files();
        let Some((path, file)) = files.get_mut(id) else { return };
        if let Err(error) = line(value).and_then(|line| file.write_all(line.as_bytes())) {
            warn(&format!("cannot add to {}: {error}", path.display()));
            files.remove(id);
        }
    }

    fn files(&self) -> MutexGuard<'_, HashMap<String, (PathBuf, fs::File)>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

fn line(value: &Line) -> io::Result<String> {
    Ok(serde_json::to_string(value)? + "\n")
}

impl Run {
    /// All runs of an experiment, oldest first, and warnings about unreadable manifests.
    pub fn all(store: &Store, id: &str) -> (Vec<Self>, Vec<String>) {
        let (mut runs, mut warnings) = (Vec::new(), Vec::new());
        let entries = fs::read_dir(store.folder(id).join("manifest")).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        for path in paths.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")) {
            let lines = mcsa_core::file::read(&path, LONGEST).unwrap_or_else(|error| {
                warnings.push(format!("cannot read {}: {error}", path.display()));
                Vec::new()
            });
            let (lines, mut run) = (lines.split(|byte| *byte == b'\n').zip(1..), None::<Self>);
            for (line, number) in lines.filter(|(line, _)| !line.is_empty()) {
                let said = match (serde_json::from_slice(line), &mut run) {
                    (Ok(Line::Start(start)), None) => {
                        run = Some(Self { start: *start, jobs: 0, errors: Vec::new(), seconds: 0.0 });
                        continue;
                    }
                    (Ok(line), Some(run)) => {
                        run.add(line);
                        continue;
                    }
                    (Ok(_), None) => "the line before it that tells of the start is missing".to_owned(),
                    (Err(error), _) => error.to_string(),
                };
                warnings.push(format!("{}, line {number}, is left out: {said}", path.display()));
            }
            runs.extend(run);
        }
        runs.sort_by(|a, b| (a.start.time, &a.start.writer).cmp(&(b.start.time, &b.start.writer)));
        warnings.sort();
        (runs, warnings)
    }

    fn add(&mut self, line: Line) {
        match line {
            Line::Start(_) => {}
            Line::Job { after, .. } => (self.jobs, self.seconds) = (self.jobs + 1, self.seconds.max(after)),
            Line::Error { after, reason } => {
                self.seconds = self.seconds.max(after);
                self.errors.push(reason);
            }
            Line::End { after } => self.seconds = after,
        }
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn processor() -> String {
    let text = fs::read_to_string(Path::new("/proc/cpuinfo")).unwrap_or_default();
    let name =
        text.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(": "));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.to_owned())
}
