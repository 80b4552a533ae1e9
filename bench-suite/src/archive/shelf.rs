//! Folder of archived experiments.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use mcsa_core::Error;
use rayon::prelude::*;

use super::kept::day;
use super::{Kept, Origin, file};
use crate::experiment::Experiment;
use crate::plan::plan;
use crate::store::{CODE, LONGEST, Store, write_whole};
use crate::task::Job;
use mcsa_data::Catalogue;

/// A folder of archived experiments.
#[derive(Debug, Clone)]
pub struct Archive {
    folder: PathBuf,
}

/// Counts of an addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Added {
    /// Results that were not archived before.
    pub new: usize,
    /// Results that replaced those of other code.
    pub renewed: usize,
    /// Results that left the archive because no preset has their jobs any more.
    pub dropped: usize,
    /// Results in the archive now.
    pub all: usize,
}

impl std::fmt::Display for Added {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { new, renewed, dropped, all } = self;
        write!(f, "{new} results added to the archive, {renewed} renewed, {dropped} dropped, {all} there")
    }
}

impl Archive {
    /// Archive in a folder, which is created by the first addition.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Archive of the repository, `bench-suite/results`.
    pub fn of_repository() -> Self {
        Self::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("results"))
    }

    /// File of an experiment.
    pub fn path(&self, experiment: &str) -> PathBuf {
        self.folder.join(format!("{experiment}.z"))
    }

    /// Archived results of an experiment by the ids of their jobs; none if there is no file.
    ///
    /// # Errors
    /// If the file cannot be used; the message names it with the reason.
    pub fn read(&self, experiment: &str) -> Result<BTreeMap<String, Kept>, Error> {
        let path = self.path(experiment);
        let failed = |reason: String| Error::invalid(format!("cannot use {}: {reason}", path.display()));
        match mcsa_core::file::read(&path, LONGEST) {
            Ok(bytes) => file::read(&bytes).map_err(failed),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// Adds the stored results of jobs of an experiment. A result of this code replaces one of other code; where the store has
    /// only results of other code, the newest is added unless the job is archived already. Unusable files are left out.
    ///
    /// Results of jobs that no preset has any more are dropped, unless data are absent, without which it is not known.
    ///
    /// # Errors
    /// If the experiment cannot be planned, or its file not be read or written.
    pub fn add(
        &self,
        experiment: &Experiment,
        jobs: &[Job],
        store: &Store,
        catalogue: &Catalogue,
    ) -> Result<Added, Error> {
        let (mut all, others) = (self.read(&experiment.id)?, store.others(&experiment.id));
        let found = |job: &Job| {
            if let Some(kept) = kept(store, CODE, job) {
                return Some((job.id(), kept));
            }
            others.of(job).find_map(|code| kept(store, code, job)).map(|kept| (job.id(), kept))
        };
        let mut added = Added::default();
        for (id, kept) in jobs.par_iter().filter_map(found).collect::<Vec<_>>() {
            match all.get(&id) {
                None => added.new += 1,
                Some(known) if known.origin.code != kept.origin.code && !kept.origin.is_stale() => {
                    added.renewed += 1;
                }
                Some(_) => continue,
            }
            all.insert(id, kept);
        }
        let (mut planned, mut is_whole) = (BTreeSet::new(), true);
        for preset in experiment.presets.keys() {
            let plan = plan(experiment, *preset, catalogue)?;
            is_whole &= plan.absent.is_empty();
            planned.extend(plan.jobs.iter().map(Job::id));
        }
        if is_whole {
            let before = all.len();
            all.retain(|id, _| planned.contains(id));
            added.dropped = before - all.len();
        }
        added.all = all.len();
        if added.new + added.renewed + added.dropped > 0 {
            let path = self.path(&experiment.id);
            let failed = |reason| Error::invalid(format!("cannot write {}: {reason}", path.display()));
            let bytes = file::write(&all).map_err(failed)?;
            write_whole(&path, &bytes)?;
        }
        Ok(added)
    }
}

/// Stored result of a job by code with a given fingerprint.
fn kept(store: &Store, code: &str, job: &Job) -> Option<Kept> {
    let outcome = store.by_code(code, job).ok()??;
    let written = fs::metadata(store.path_by(code, job)).and_then(|data| data.modified()).ok()?;
    let unit = outcome.unit.unwrap_or_else(|| "-".to_owned());
    let origin = Origin { code: code.to_owned(), date: day(written), unit };
    Some(Kept { origin, rows: outcome.rows, ended: outcome.ended })
}
