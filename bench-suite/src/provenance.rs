//! Provenance of results: the runs, code and machines that computed them.
//!
//! Each process that runs jobs of an experiment writes its own file in the folder `manifest` of the experiment: a line at the
//! start, a line for each job that begins and for each that ended, and a line at the end. Lines are only appended.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use mcsa_core::Error;
use serde::{Deserialize, Serialize};

use crate::experiment::{Experiment, PresetName};
use crate::shard::Shard;
use crate::store::{CODE, Finished, Journal, Store, is_gone, vector_unit, write_whole, writer};

/// A run of an experiment by one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Start time, in seconds since 1970.
    pub time: u64,
    /// The preset.
    pub preset: PresetName,
    /// Number of jobs to run.
    pub planned: usize,
    /// Part of the jobs, if the process runs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Number of threads.
    pub threads: usize,
    /// The seed of the experiment.
    pub seed: u64,
    /// Fingerprint of the code.
    pub code: String,
    /// Git commit, if there is a repository.
    pub commit: Option<String>,
    /// True if files differed from the commit.
    pub dirty: Option<bool>,
    /// Version of the compiler.
    pub rustc: String,
    /// Name of the processor.
    pub processor: String,
    /// Number of cores that the system reports.
    pub cores: usize,
    /// Vector unit of the processor.
    #[serde(default)]
    pub unit: String,
    /// Host, process, and a number that is unique to the process.
    pub writer: String,
}

/// Record of one run, read from its manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// First line of the manifest.
    pub start: Provenance,
    /// Ids of jobs that began and have not ended.
    pub begun: BTreeSet<String>,
    /// Jobs that ended, in order.
    pub finished: Vec<Finished>,
    /// Error messages of jobs that failed.
    pub errors: Vec<String>,
    /// Seconds from the start to the last line.
    pub seconds: f64,
    /// True if the run reached its end; otherwise it was interrupted or killed, or is still running.
    pub is_ended: bool,
}

/// A line of a manifest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Start(Box<Provenance>),
    Begun(String),
    Finished(Finished),
    Error { after: f64, reason: String },
    End { after: f64 },
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

    /// Begins a manifest of an experiment in a journal, and saves a copy of the experiment's file next to the results.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn begin(&self, journal: &Journal, store: &Store, id: &str, text: &str) -> Result<(), Error> {
        journal.begin(id, &self.path(store, id), &Line::Start(Box::new(self.clone())))?;
        write_whole(&store.folder(id).join("experiment.toml"), text.as_bytes())
    }

    fn path(&self, store: &Store, id: &str) -> PathBuf {
        store.folder(id).join("manifest").join(format!("{}-{}.jsonl", self.time, self.writer))
    }
}

impl Run {
    /// Ends the manifest of an experiment and records its errors there. A failure to write them is ignored.
    pub fn end(journal: &Journal, id: &str, errors: &[Error]) {
        let after = journal.seconds();
        let reasons = errors.iter().map(Error::to_string);
        for reason in reasons.filter(|reason| reason.starts_with(&format!("{id}, "))) {
            let _ = journal.add(id, &Line::Error { after, reason });
        }
        let _ = journal.add(id, &Line::End { after });
    }

    /// All runs of an experiment, oldest first, and warnings about unreadable manifests.
    pub fn all(store: &Store, id: &str) -> (Vec<Self>, Vec<String>) {
        let (mut runs, mut warnings) = (Vec::new(), Vec::new());
        let entries = fs::read_dir(store.folder(id).join("manifest")).into_iter().flatten().flatten();
        for path in
            entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
        {
            let lines = match fs::read(&path) {
                Ok(bytes) => bytes,
                Err(error) => {
                    warnings.push(format!("cannot read {}: {error}", path.display()));
                    continue;
                }
            };
            let mut run: Option<Self> = None;
            for (k, line) in
                lines.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty())
            {
                let said = match (serde_json::from_slice(line), &mut run) {
                    (Ok(Line::Start(start)), None) => {
                        run = Some(Self::started(*start));
                        continue;
                    }
                    (Ok(line), Some(run)) => {
                        run.add(line);
                        continue;
                    }
                    (Ok(_), None) => "the line before it that tells of the start is missing".to_owned(),
                    (Err(error), _) => error.to_string(),
                };
                warnings.push(format!("{}, line {}, is left out: {said}", path.display(), k + 1));
            }
            runs.extend(run);
        }
        runs.sort_by(|a, b| (a.start.time, &a.start.writer).cmp(&(b.start.time, &b.start.writer)));
        warnings.sort();
        (runs, warnings)
    }

    /// Returns true if the process of the run is alive. Of a process of another host nothing is known but its files: it counts as
    /// alive if it has added to its manifest, or saved a checkpoint of a job that it began, within the last two minutes.
    pub fn is_alive(&self, store: &Store, id: &str) -> bool {
        if self.is_ended {
            return false;
        }
        if let Some(is_gone) = is_gone(&self.start.writer) {
            return !is_gone;
        }
        let checkpoints = self.begun.iter().map(|job| store.checkpoint_of(id, job));
        checkpoints.chain([self.start.path(store, id)]).any(|path| is_fresh(&path))
    }

    fn started(start: Provenance) -> Self {
        let (begun, finished) = (BTreeSet::new(), Vec::new());
        Self { start, begun, finished, errors: Vec::new(), seconds: 0.0, is_ended: false }
    }

    fn add(&mut self, line: Line) {
        match line {
            Line::Start(_) => {}
            Line::Begun(job) => drop(self.begun.insert(job)),
            Line::Finished(finished) => {
                self.begun.remove(&finished.job);
                self.seconds = self.seconds.max(finished.after);
                self.finished.push(finished);
            }
            Line::Error { after, reason } => {
                self.seconds = self.seconds.max(after);
                self.errors.push(reason);
            }
            Line::End { after } => (self.seconds, self.is_ended) = (after, true),
        }
    }
}

/// Seconds after which a process that writes nothing counts as gone: six times the time between checkpoints.
const QUIET: u64 = 120;

fn is_fresh(path: &Path) -> bool {
    let time = fs::metadata(path).and_then(|data| data.modified()).ok();
    // A time in the future is that of a host whose clock is ahead.
    time.is_some_and(|time| time.elapsed().map_or(true, |age| age.as_secs() < QUIET))
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
