//! The verb `references`: writes the stored moments and quantiles of the cases that have no closed form.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use mcsa_core::Error;
use mcsa_data::Catalogue;
use rayon::prelude::*;

use super::Exit;
use crate::catalog::{Case, HEAD, LongRun, Target, Truth};
use crate::registry::REGISTRY;

/// Data sets of regressions with a horseshoe prior, whether or not an experiment has them.
const HORSESHOES: [&str; 3] = ["heart_cleveland", "pima", "german_credit_numeric"];
/// Largest grid of a Cox process for which a long run is affordable.
const GRID: usize = 16;

/// Compute and store moments and quantiles of the cases that have no closed form, by long runs of the No-U-Turn sampler.
#[derive(Debug, Clone, Args)]
pub struct References {
    /// The file.
    #[arg(long, default_value = "bench-suite/references/moments.csv")]
    file: PathBuf,
    /// Titles of the cases to compute; the others keep their stored lines. All, if there is none.
    #[arg(long, value_name = "TITLE")]
    only: Vec<String>,
}

impl References {
    /// Runs the verb.
    ///
    /// # Errors
    /// If a case cannot be built, or the file cannot be written.
    pub fn run(&self, out: &mut impl Write) -> Result<(), Exit> {
        let catalogue = Catalogue::found(None);
        let mut cases = HORSESHOES.map(|data| Case::HorseshoeRows { data: data.to_owned() }).to_vec();
        cases.push(Case::RadonCounties);
        cases.push(Case::CoxProcess { grid: GRID, centred: false, points: None });
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
        let is_made = |case: &Case| self.only.is_empty() || self.only.contains(&case.title());
        let lines = |case: &Case| {
            if !is_made(case) {
                return Ok(LongRun::stored_lines(&case.title()));
            }
            let built = case.posterior(&catalogue)?;
            let is_known = case.is_planted() || built.truth != Truth::None;
            match is_known {
                true => Ok(Vec::new()),
                false => LongRun::lines(&case.title(), case.kind(), &*built.posterior),
            }
        };
        let runs: Vec<Result<Vec<String>, Error>> = cases.par_iter().map(lines).collect();
        let lines = runs.iter().flatten().flatten().map(String::as_str).collect::<Vec<_>>();
        let text = format!("{HEAD}\n{}\n", lines.join("\n"));
        let place = |error: std::io::Error| Error::invalid(format!("{}: {error}", self.file.display()));
        std::fs::write(&self.file, text).map_err(place)?;
        writeln!(out, "{}: moments of {} coordinates", self.file.display(), lines.len())?;
        // The other runs are stored even if one was too short.
        runs.into_iter().collect::<Result<Vec<_>, Error>>()?;
        Ok(())
    }
}
