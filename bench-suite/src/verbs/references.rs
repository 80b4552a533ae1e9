//! The verb `references`: writes the stored moments of the cases that have no closed form.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use mcsa_core::Error;
use mcsa_data::Catalogue;
use rayon::prelude::*;

use super::Exit;
use crate::catalog::{Case, HEAD, LongRun, Target, Truth};
use crate::registry::REGISTRY;

/// Compute the moments of all cases of the verdict that have no closed form, by long runs of the No-U-Turn sampler, and store them.
#[derive(Debug, Clone, Args)]
pub struct References {
    /// The file.
    #[arg(long, default_value = "bench-suite/references/moments.csv")]
    file: PathBuf,
}

impl References {
    /// Runs the verb.
    ///
    /// # Errors
    /// If a case cannot be built, or the file cannot be written.
    pub fn run(&self, out: &mut impl Write) -> Result<(), Exit> {
        let catalogue = Catalogue::found(None);
        let mut cases: Vec<Case> = Vec::new();
        for entry in &REGISTRY {
            let experiment = entry.experiment()?;
            for preset in experiment.presets.values() {
                for task in experiment.tasks(preset)? {
                    if let Target::Case { case } = task.target()
                        && !cases.contains(case)
                    {
                        cases.push(case.clone());
                    }
                }
            }
        }
        let lines = |case: &Case| {
            let built = case.posterior(&catalogue)?;
            let is_known = case.is_planted() || built.truth != Truth::None;
            match is_known {
                true => Ok(Vec::new()),
                false => LongRun::lines(&case.title(), case.kind(), &*built.posterior),
            }
        };
        let lines: Vec<Vec<String>> = cases.par_iter().map(lines).collect::<Result<_, Error>>()?;
        let lines = lines.concat();
        let text = format!("{HEAD}\n{}\n", lines.join("\n"));
        let place = |error: std::io::Error| Error::invalid(format!("{}: {error}", self.file.display()));
        std::fs::write(&self.file, text).map_err(place)?;
        writeln!(out, "{}: moments of {} coordinates", self.file.display(), lines.len())?;
        Ok(())
    }
}
