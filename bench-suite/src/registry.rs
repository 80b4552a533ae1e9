//! Experiments with their figures, tables and claims: those of the repository, and those in files of the user.

use std::borrow::Cow;
use std::path::Path;

use mcsa_core::Error;

use crate::claims::{Claim, claims};
use crate::experiment::Experiment;
use crate::experiments::CHECKS;
pub use crate::experiments::REGISTRY;
use crate::figures::{self, FigureFile};
use crate::published::cells;
use crate::results::Results;
use crate::tables::{self, Table};
use crate::text;

/// An experiment with its figures, tables and claims.
#[derive(Clone)]
pub struct Entry {
    /// Name of the file.
    pub file: Cow<'static, str>,
    /// Text of the file.
    pub text: Cow<'static, str>,
    /// Figures, from results alone.
    pub figures: fn(&Results) -> Vec<FigureFile>,
    /// Tables, in addition to the one of published cells.
    pub tables: fn(&Results) -> Vec<Table>,
}

impl Entry {
    /// Reads an experiment from a file of the user, with the standard figures and tables.
    ///
    /// # Errors
    /// If the file cannot be read, is not an experiment, has one of our names, or is an exhibit; the message names the file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let entry = Self {
            file: Cow::Owned(path.display().to_string()),
            text: Cow::Owned(text::read(path)?),
            figures: figures::from_file,
            tables: tables::from_file,
        };
        let experiment = entry.experiment()?;
        entry.claims(&experiment)?;
        let invalid = |reason: String| Err(Error::invalid(reason).within(&*entry.file));
        for ours in &REGISTRY {
            let ours = ours.experiment()?;
            let names = std::iter::once(&experiment.id).chain(&experiment.also);
            if let Some(name) = names.into_iter().find(|name| ours.is_called(name)) {
                return invalid(format!("{name:?} is the name of an experiment of the repository"));
            }
        }
        if experiment.is_exhibit() {
            return invalid(
                "an [exhibit] is drawn by code of the repository: a section of jobs is needed".into(),
            );
        }
        if let Some(published) = &experiment.published
            && cells(&published.table)?.is_empty()
        {
            return invalid(format!(
                "published.table = {:?}: no cells of this table are known",
                published.table
            ));
        }
        Ok(entry)
    }

    /// True if the experiment is in a file of the user.
    pub fn is_of_user(&self) -> bool {
        matches!(self.text, Cow::Owned(_))
    }

    /// Figures: those of the file, then those in Rust; the standard ones if there are none.
    pub fn figures(&self, results: &Results) -> Vec<FigureFile> {
        let drawn = results.experiment.figures.iter().filter_map(|figure| figure.figure(results));
        drawn.chain((self.figures)(results)).collect()
    }

    /// Tables: those of the file, then those in Rust.
    pub fn tables(&self, results: &Results) -> Vec<Table> {
        let written = results.experiment.tables.iter().map(|table| table.table(results));
        written.chain((self.tables)(results)).collect()
    }

    /// Parses the experiment.
    pub fn experiment(&self) -> Result<Experiment, Error> {
        Experiment::parse(&self.file, &self.text)
    }

    /// The claims that its results are checked against.
    pub fn claims(&self, experiment: &Experiment) -> Result<Vec<Claim>, Error> {
        claims(&self.file, &self.text, experiment, if self.is_of_user() { &[] } else { &CHECKS })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn an_experiment_is_called_as_its_file_and_has_every_preset() {
        let mut names = HashSet::new();
        for entry in &REGISTRY {
            let experiment = entry.experiment().unwrap();
            assert_eq!(format!("papers/{}.toml", experiment.id), entry.file);
            assert!(experiment.is_exhibit() || experiment.presets.len() == 3, "{}", experiment.id);
            assert_eq!(experiment.ignored(&entry.text), None, "{}", experiment.id);
            let all = std::iter::once(experiment.id).chain(experiment.also);
            all.for_each(|name| assert!(names.insert(name.clone()), "{name} is called so twice"));
        }
    }

    /// Every check in Rust is named by a claim of some experiment, and no two have one name.
    #[test]
    fn every_check_has_its_claim() {
        let mut names = HashSet::new();
        for (name, _) in CHECKS.iter().copied().flatten() {
            let named = format!("check = {name:?}");
            assert!(REGISTRY.iter().any(|entry| entry.text.contains(&named)), "{name}");
            assert!(names.insert(name), "two checks are called {name}");
        }
    }
}
