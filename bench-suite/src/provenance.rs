//! Where results come from: what is told beside them.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use mcsa::Error;
use serde::{Deserialize, Serialize};

use crate::experiment::{Experiment, PresetName};
use crate::runner::Ran;
use crate::store::{CODE, Store, write_whole};

/// One run of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// When it ended, in seconds since 1970.
    pub time: u64,
    /// The preset.
    pub preset: PresetName,
    /// Jobs that were run then.
    pub jobs: usize,
    /// Threads they ran on.
    pub threads: usize,
    /// Wall seconds of the whole run, other experiments included.
    pub seconds: f64,
    /// The seed of the experiment.
    pub seed: u64,
    /// The fingerprint of the code.
    pub code: String,
    /// The commit, if there is a repository.
    pub commit: Option<String>,
    /// Whether files differed from the commit.
    pub dirty: Option<bool>,
    /// The compiler.
    pub rustc: String,
    /// The processor.
    pub processor: String,
    /// How many cores it shows.
    pub cores: usize,
}

impl Provenance {
    /// Of a run of this program, now.
    pub fn of(experiment: &Experiment, preset: PresetName, jobs: usize, ran: &Ran) -> Self {
        #[expect(clippy::disallowed_methods, reason = "a manifest tells when a run was made")]
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Self {
            time,
            preset,
            jobs,
            threads: ran.threads,
            seconds: ran.seconds,
            seed: experiment.seed,
            code: CODE.to_owned(),
            commit: git(&["rev-parse", "HEAD"]),
            dirty: git(&["status", "--porcelain", "--untracked-files=no"]).map(|text| !text.is_empty()),
            rustc: env!("MCSA_RUSTC").to_owned(),
            processor: processor(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// Adds it to the manifest of an experiment, and freezes the experiment's file beside.
    ///
    /// # Errors
    /// If the disk refuses, or the manifest is malformed.
    pub fn keep(&self, store: &Store, id: &str, text: &str) -> Result<(), Error> {
        let mut all = Self::all(store, id)?;
        all.push(self.clone());
        let path = store.folder(id).join("manifest.json");
        let malformed = |error: serde_json::Error| Error::invalid(format!("{}: {error}", path.display()));
        let json = serde_json::to_string_pretty(&all).map_err(malformed)?;
        write_whole(&path, json.as_bytes())?;
        write_whole(&store.folder(id).join("experiment.toml"), text.as_bytes())
    }

    /// All runs of an experiment, oldest first.
    ///
    /// # Errors
    /// If the manifest is malformed.
    pub fn all(store: &Store, id: &str) -> Result<Vec<Self>, Error> {
        let path = store.folder(id).join("manifest.json");
        let Ok(text) = fs::read_to_string(&path) else { return Ok(Vec::new()) };
        serde_json::from_str(&text).map_err(|error| Error::invalid(format!("{}: {error}", path.display())))
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
