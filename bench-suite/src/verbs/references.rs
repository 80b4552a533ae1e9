//! The verb `references`: writes the stored moments, quantiles and evidences of the cases that have no closed form.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use mcsa_core::Error;
use mcsa_data::Catalogue;
use rayon::prelude::*;

use super::{Exit, check_outputs};
use crate::catalog::{Case, HEAD, LongRun, Target, Truth};
use crate::experiment::Experiment;
use crate::registry::REGISTRY;
use crate::store::write_whole;

/// Targets on which settings of the scoreboards are chosen.
const TRIAL: &str = include_str!("../../examples/scoreboard-trial.toml");

/// Compute and store moments and quantiles of the cases that have no closed form, by long runs of the No-U-Turn sampler.
#[derive(Debug, Clone, Args)]
pub struct References {
    /// The file of the moments.
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
        check_outputs(&[("--file", Some(&self.file))])?;
        let catalogue = Catalogue::found(None);
        let mut cases = Vec::new();
        let mut experiments = vec![Experiment::parse("scoreboard-trial.toml", TRIAL)?];
        for entry in &REGISTRY {
            experiments.push(entry.experiment()?);
        }
        for experiment in experiments {
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
                false => LongRun::lines(case, &*built.posterior),
            }
        };
        // A case whose run is too short keeps its stored lines.
        let run = |case: &Case| match lines(case) {
            Ok(lines) => (lines, Ok(())),
            Err(error) => (LongRun::stored_lines(&case.title()), Err(error)),
        };
        let (lines, runs): (Vec<Vec<String>>, Vec<Result<(), Error>>) = cases.par_iter().map(run).unzip();
        let lines = lines.concat();
        let text = format!("{HEAD}\n{}\n", lines.join("\n"));
        write_whole(&self.file, text.as_bytes())?;
        writeln!(out, "{}: moments of {} coordinates", self.file.display(), lines.len())?;
        runs.into_iter().collect::<Result<(), Error>>()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::PresetName;

    /// Settings are chosen on targets that no scoreboard has.
    #[test]
    fn trial_targets_are_in_no_scoreboard() {
        let cases = |experiment: &Experiment| -> Vec<Case> {
            let tasks = experiment.presets.values().flat_map(|preset| experiment.tasks(preset).unwrap());
            tasks
                .filter_map(|task| match task.target() {
                    Target::Case { case } => Some(case.clone()),
                    _ => None,
                })
                .collect()
        };
        let trial = Experiment::parse("scoreboard-trial.toml", TRIAL).unwrap();
        assert!(trial.presets.contains_key(&PresetName::Default) && !cases(&trial).is_empty());
        for entry in REGISTRY.iter().filter(|entry| entry.file.contains("scoreboard-")) {
            let seen = cases(&entry.experiment().unwrap());
            assert!(
                !seen.is_empty() && cases(&trial).iter().all(|case| !seen.contains(case)),
                "{}",
                entry.file
            );
        }
    }
}
