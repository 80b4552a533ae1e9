//! The verb `references`: writes the stored moments, quantiles and evidences of the cases that have no closed form.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use mcsa_core::Error;
use mcsa_data::Catalogue;
use rayon::prelude::*;

use super::Exit;
use crate::catalog::{Case, EVIDENCE_HEAD, HEAD, LongRun, Target, Truth, evidence_line, stored_evidence};
use crate::experiment::Experiment;
use crate::registry::REGISTRY;

/// Targets on which settings of the scoreboards are chosen.
const TRIAL: &str = include_str!("../../examples/scoreboard-trial.toml");
/// Largest grid of a Cox process for which a long run is affordable.
const GRID: usize = 16;

/// Compute and store moments and quantiles of the cases that have no closed form, by long runs of the No-U-Turn sampler, and the
/// evidence of Cox processes, by annealed importance sampling.
#[derive(Debug, Clone, Args)]
pub struct References {
    /// The file of the moments; that of the evidences, `evidence.csv`, is beside it.
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
        let mut cases = vec![Case::CoxProcess { grid: GRID, centred: false, points: None }];
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
            let is_large = matches!(case, Case::CoxProcess { grid, .. } if *grid > GRID);
            match is_known || is_large {
                true => Ok(Vec::new()),
                false => LongRun::lines(case, &*built.posterior),
            }
        };
        let evidence = |case: &Case| -> Result<Option<String>, Error> {
            let title = case.title();
            if !is_made(case) {
                return Ok(stored_evidence(&title).map(str::to_owned));
            }
            case.cox_process()?.map(|target| evidence_line(&title, target)).transpose()
        };
        // A case whose run is too short keeps its stored lines.
        let run = |case: &Case| match lines(case) {
            Ok(lines) => (lines, Ok(())),
            Err(error) => (LongRun::stored_lines(&case.title()), Err(error)),
        };
        let evidences: Vec<String> =
            cases.iter().filter_map(|case| evidence(case).transpose()).collect::<Result<_, Error>>()?;
        let (lines, runs): (Vec<Vec<String>>, Vec<Result<(), Error>>) = cases.par_iter().map(run).unzip();
        let lines = lines.concat();
        let text = format!("{HEAD}\n{}\n", lines.join("\n"));
        let write = |file: &Path, text: String| {
            std::fs::write(file, text).map_err(|error| Error::invalid(format!("{}: {error}", file.display())))
        };
        write(&self.file, text)?;
        let file = self.file.with_file_name("evidence.csv");
        write(&file, format!("{EVIDENCE_HEAD}\n{}\n", evidences.join("\n")))?;
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
