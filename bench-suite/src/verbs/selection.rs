//! Selection of experiments, preset and folders.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use mcsa_core::{Error, file::sweep};

use super::Exit;
use crate::archive::Archive;
use crate::experiment::{Experiment, PresetName};
use crate::interrupt::warn;
use crate::plan::{Plan, plan};
use crate::provenance::Run;
use crate::registry::{Entry, REGISTRY};
use crate::report::ExperimentSection;
use crate::results::Results;
use crate::store::{Store, check_folder};
use mcsa_data::{Catalogue, did_you_mean};

/// Plan of an experiment.
pub type Planned<'e> = (&'e Entry, Experiment, Plan);

/// Arguments common to `figures` and `claims`.
#[derive(Debug, Clone, Args)]
pub struct Selection {
    /// Only these experiments, by any of their names or by the path of a file of your own, `my_experiment.toml`; by default all
    /// of the repository. `figures --list` shows their names.
    #[arg(value_name = "ID|FILE")]
    pub ids: Vec<String>,
    /// Amount of computation.
    #[arg(long, value_enum, default_value = "default")]
    pub preset: PresetName,
    /// Folder that contains results/ and report/.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// Use the archived results of the repository, `bench-suite/results/`, in place of those of `--out`, and run nothing. Results of
    /// an older version are marked; cells of published tables are compared with the longest archived fits of any preset.
    #[arg(long)]
    pub archive: bool,
    /// Folder of imported data sets; by default the one that MCSA_DATA names, else `data`.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

impl Selection {
    /// Selected experiments: those of the repository, then those in files of the user.
    pub fn entries(&self) -> Result<Vec<Entry>, Exit> {
        let (files, ids): (Vec<&String>, Vec<&String>) =
            self.ids.iter().partition(|id| id.ends_with(".toml"));
        let mut entries = if ids.is_empty() && !files.is_empty() { Vec::new() } else { known(&ids)? };
        let mut names = BTreeSet::new();
        for file in files {
            let entry = Entry::read(Path::new(file)).map_err(Exit::Usage)?;
            let experiment = entry.experiment()?;
            if self.archive {
                let reason = "the archive is of the experiments of the repository: leave out --archive";
                return Err(Exit::Usage(Error::invalid(reason).within(file)));
            }
            if let Some(key) = experiment.ignored(&entry.text) {
                let reason = format!("{key}: its kind has no such setting");
                return Err(Exit::Usage(Error::invalid(reason).within(file)));
            }
            experiment.preset(self.preset).map_err(|error| Exit::Usage(error.within(file)))?;
            if !names.insert(experiment.id.clone()) {
                let reason = format!("{:?} is the name of another given file", experiment.id);
                return Err(Exit::Usage(Error::invalid(reason).within(file)));
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    /// Store of results.
    pub fn store(&self) -> Store {
        Store::new(self.out.join("results"))
    }

    /// Catalogue of data sets.
    pub fn catalogue(&self) -> Catalogue {
        Catalogue::found(self.data.clone())
    }

    /// Folder of the report.
    pub fn report(&self) -> PathBuf {
        self.out.join("report")
    }

    /// Experiments with their jobs at the preset.
    pub fn plans<'e>(&self, entries: &'e [Entry]) -> Result<Vec<Planned<'e>>, Error> {
        let catalogue = self.catalogue();
        let planned = |entry: &'e Entry| {
            let experiment = entry.experiment()?;
            let plan = plan(&experiment, self.preset, &catalogue)?;
            Ok::<_, Error>((entry, experiment, plan))
        };
        entries.iter().map(planned).collect()
    }

    /// Checks that results and report can be written, before anything is run.
    pub fn check_out(&self) -> Result<(), Error> {
        for folder in [self.out.join("results"), self.report()] {
            let advice = "make room on its disk, or name another folder with --out; nothing was run";
            check_folder(&folder).map_err(|error| Error::invalid(format!("{error}; {advice}")))?;
            sweep(&folder);
        }
        Ok(())
    }

    /// Results of the experiments, with drawn figures and checked claims. Unusable files are reported on the standard error
    /// stream and left out.
    pub fn cards(&self, entries: &[Entry]) -> Result<Vec<ExperimentSection>, Error> {
        let (store, catalogue) = (self.store(), self.catalogue());
        let card = |entry: &Entry| {
            let experiment = entry.experiment()?;
            if self.archive {
                return self.archived(entry, experiment, &Archive::of_repository());
            }
            let (runs, lines) = Run::all(&store, &experiment.id);
            let mut results = Results::gather(experiment, self.preset, &store, &catalogue)?;
            results.bad.iter().chain(&lines).for_each(|reason| warn(reason));
            results.bad.extend(lines);
            ExperimentSection::new(entry, results, None, runs)
        };
        entries.iter().map(card).collect()
    }

    /// ExperimentSection of archived results: claims and cells are those of the preset `paper`, where it has enough.
    fn archived(
        &self,
        entry: &Entry,
        experiment: Experiment,
        archive: &Archive,
    ) -> Result<ExperimentSection, Error> {
        let catalogue = self.catalogue().of_archive();
        let gather = |preset| Results::archived(experiment.clone(), preset, archive, &catalogue);
        let has_paper = experiment.presets.contains_key(&PresetName::Paper);
        let longer = (has_paper && self.preset != PresetName::Paper).then(|| gather(PresetName::Paper));
        ExperimentSection::new(entry, gather(self.preset)?, longer.transpose()?, Vec::new())
    }
}

/// Experiments of the repository with these names; all if there are none.
fn known(ids: &[&String]) -> Result<Vec<Entry>, Exit> {
    let mut chosen = Vec::new();
    for entry in &REGISTRY {
        let experiment = entry.experiment()?;
        if ids.is_empty() || ids.iter().any(|id| experiment.is_called(id)) {
            chosen.push((experiment, entry.clone()));
        }
    }
    match ids.iter().find(|id| !chosen.iter().any(|(known, _)| known.is_called(id))) {
        Some(id) => {
            let names = REGISTRY.iter().map(|entry| entry.experiment().map(|experiment| experiment.id));
            let names = names.collect::<Result<Vec<_>, _>>()?;
            let meant = did_you_mean(id, names.iter().map(String::as_str));
            let reason = format!("no experiment {id:?}; {meant}`figures --list` shows those there are");
            Err(Exit::Usage(Error::invalid(reason)))
        }
        None => Ok(chosen.into_iter().map(|(_, entry)| entry).collect()),
    }
}
