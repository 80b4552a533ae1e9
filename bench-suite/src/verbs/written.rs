//! The verbs `references`, `rates` and `anchors`: they write files that this program, or packages in other languages, read.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use mcsa::posterior::{RULE, Rates, Way};
use mcsa_core::Error;
use mcsa_data::Catalogue;
use rayon::prelude::*;
use serde::Deserialize;

use super::{Exit, check_outputs};
use crate::catalog::{Case, HEAD, LongRun, Truth};
use crate::experiment::{Experiment, PresetName};
use crate::experiments::rates;
use crate::grid::{Placed, grid};
use crate::registry::REGISTRY;
use crate::results::Results;
use crate::store::{Store, check_folder, write_whole};
use crate::text;

/// Targets on which settings of the scoreboards are chosen.
const TRIAL: &str = include_str!("../../examples/scoreboard-trial.toml");

/// The cases of an experiment, each as often as a task has it.
fn cases(experiment: &Experiment) -> Result<Vec<Case>, Error> {
    let tasks = experiment.presets.values().map(|preset| experiment.tasks(preset));
    let tasks = tasks.collect::<Result<Vec<_>, _>>()?;
    Ok(tasks.iter().flatten().filter_map(|task| task.target().case().cloned()).collect())
}

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
    pub fn run(&self, out: &mut impl Write) -> Result<(), Exit> {
        let catalogue = Catalogue::found(None);
        let mut all = cases(&Experiment::parse("scoreboard-trial.toml", TRIAL)?)?;
        for entry in &REGISTRY {
            all.extend(cases(&entry.experiment()?)?);
        }
        let mut distinct: Vec<Case> = Vec::new();
        for case in all {
            if !distinct.contains(&case) {
                distinct.push(case);
            }
        }
        if let Some(title) =
            self.only.iter().find(|title| distinct.iter().all(|case| case.title() != **title))
        {
            return Err(Exit::Usage(Error::invalid(format!("--only {title:?}: no case has this title"))));
        }
        check_outputs(&[("--file", Some(&self.file))])?;
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
        let (lines, runs): (Vec<Vec<String>>, Vec<Result<(), Error>>) = distinct.par_iter().map(run).unzip();
        let lines = lines.concat();
        let text = format!("{HEAD}\n{}\n", lines.join("\n"));
        write_whole(&self.file, text.as_bytes())?;
        writeln!(out, "{}: moments of {} coordinates", self.file.display(), lines.len())?;
        runs.into_iter().collect::<Result<(), Error>>()?;
        Ok(())
    }
}

/// Write the error rates of the verdict on a fit, from the stored results of the experiments fit-verdict and fit-verdict-density, into the source that quotes them.
#[derive(Debug, Clone, Args)]
pub struct WriteRates {
    /// Amount of computation of the results.
    #[arg(long, value_enum, default_value = "default")]
    preset: PresetName,

    /// Amount of computation of the results by the log density alone; by default that of `--preset`.
    #[arg(long, value_enum, value_name = "PRESET")]
    density_preset: Option<PresetName>,
    /// Folder that contains results/.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// The file.
    #[arg(long, default_value = "mcsa/src/posterior/verdict/measured.rs")]
    file: PathBuf,
}

impl WriteRates {
    /// Runs the verb.
    pub fn run(&self, out: &mut impl Write) -> Result<(), Exit> {
        check_outputs(&[("--file", Some(&self.file))])?;
        let with = self.measured("ours/fit-verdict", self.preset)?;
        let without =
            self.measured("ours/fit-verdict-density", self.density_preset.unwrap_or(self.preset))?;
        let all = [Way::Gradient, Way::Density, Way::Chains].map(|way| rates(&with, &without, way));
        write_whole(&self.file, text(&all).as_bytes())?;
        writeln!(out, "{}: rates of rule {}", self.file.display(), RULE.number)?;
        Ok(())
    }

    fn measured(&self, id: &str, preset: PresetName) -> Result<Results, Error> {
        let known = REGISTRY.iter().find(|entry| entry.file.ends_with(&format!("{id}.toml")));
        let entry = known.ok_or_else(|| Error::invalid(format!("no experiment {id}")))?;
        let (store, catalogue) = (Store::new(self.out.join("results")), Catalogue::found(None));
        let results = Results::gather(entry.experiment()?, preset, &store, &catalogue)?;
        if results.is_stale || results.missing > 0 {
            let advice = format!("run `cargo xtask figures {id} --preset {}` first", preset.name());
            return Err(Error::invalid(format!("results are missing or of an older version: {advice}")));
        }
        Ok(results)
    }
}

/// Source of the constants: with a gradient, by the log density alone, and by chains.
fn text(rates: &[Rates; 3]) -> String {
    let constant = |name: &str, words: &str, rates: &Rates| {
        let Rates { rule, way, planted, false_yes, at_most, hidden, hidden_yes, right, false_no } = rates;
        format!(
            "\n/// Rates of the verdict as measured{words}.\n\
             pub const {name}: Rates = Rates {{\n    rule: {rule},\n    way: Way::{way:?},\n    planted: {planted},\n    \
             false_yes: {false_yes},\n    at_most: {at_most:.4},\n    hidden: {hidden},\n    hidden_yes: {hidden_yes},\n    \
             right: {right},\n    false_no: {false_no},\n}};\n"
        )
    };
    format!(
        "//! Measured error rates of the verdict, written by `mcsa-bench rates` from the results of the experiments `ours/fit-verdict` and\n\
         //! `ours/fit-verdict-density`.\n\nuse crate::posterior::{{Rates, Way}};\n{}{}{}",
        constant("MEASURED", ", with a gradient", &rates[0]),
        constant("MEASURED_BY_DENSITY", ", by the log density alone", &rates[1]),
        constant("MEASURED_BY_CHAINS", " of answers by chains", &rates[2])
    )
}

/// Write the cases that packages in other languages are run on, one file of JSON each: data, test points with their densities, moments and quantiles.
#[derive(Debug, Clone, Args)]
pub struct Anchors {
    /// The list of cases.
    #[arg(long, value_name = "FILE", default_value = "bench-suite/anchors/cases.toml")]
    cases: PathBuf,
    /// Titles of the cases to write; all, if there is none.
    #[arg(long, value_name = "TITLE")]
    only: Vec<String>,
    /// Folder for the files.
    #[arg(long, value_name = "DIR", default_value = "target/anchors/cases")]
    out: PathBuf,
    /// Folder of imported data sets; default: the one that MCSA_DATA names, else `data`.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    #[serde(deserialize_with = "grid")]
    case: Vec<Placed<Case>>,
}

impl Anchors {
    /// Runs the verb.
    pub fn run(&self, out: &mut impl Write) -> Result<(), Exit> {
        let place = |error: String| Error::invalid(error).within(self.cases.display().to_string());
        let listed: Cases =
            toml::from_str(&text::read(&self.cases)?).map_err(|error| place(error.to_string()))?;
        let catalogue = Catalogue::found(self.data.clone());
        if let Some(title) =
            self.only.iter().find(|title| listed.case.iter().all(|it| it.value.title() != **title))
        {
            return Err(place(format!("no case is called {title:?}")).into());
        }
        check_folder(&self.out)?;
        for (number, Placed { value: case, .. }) in listed.case.into_iter().enumerate() {
            if !self.only.is_empty() && !self.only.contains(&case.title()) {
                continue;
            }
            let written = case.exported(&catalogue)?;
            let file = self.out.join(format!("{number:02}-{}.json", case.kind()));
            write_whole(&file, written.to_string().as_bytes())?;
            writeln!(out, "{}: {}", file.display(), case.title())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa::posterior::{MEASURED, MEASURED_BY_CHAINS, MEASURED_BY_DENSITY};

    /// The committed file is what the verb writes for its own numbers.
    #[test]
    fn the_source_is_what_is_written() {
        let rates = [MEASURED, MEASURED_BY_DENSITY, MEASURED_BY_CHAINS];
        let committed = include_str!("../../../mcsa/src/posterior/verdict/measured.rs");
        assert_eq!(text(&rates), committed);
        let others = rates.map(|rates| Rates { planted: rates.planted + 1, ..rates });
        assert_ne!(text(&others), committed);
    }

    /// Settings are chosen on targets that no scoreboard has.
    #[test]
    fn trial_targets_are_in_no_scoreboard() {
        let trial = Experiment::parse("scoreboard-trial.toml", TRIAL).unwrap();
        let tried = cases(&trial).unwrap();
        assert!(trial.presets.contains_key(&PresetName::Default) && !tried.is_empty());
        for entry in REGISTRY.iter().filter(|entry| entry.file.contains("scoreboard-")) {
            let seen = cases(&entry.experiment().unwrap()).unwrap();
            assert!(!seen.is_empty() && tried.iter().all(|case| !seen.contains(case)), "{}", entry.file);
        }
    }
}
