//! The verb `rates`: writes the measured error rates of the verdict into the program that quotes them.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use mcsa_core::Error;

use super::{Exit, Selection, check_outputs};
use crate::experiment::PresetName;
use crate::experiments::{Rates, rates};
use crate::interval::binomial;
use crate::registry::REGISTRY;
use crate::results::Results;
use crate::store::write_whole;

/// Write the error rates of the verdict on a fit, from the stored results of the experiments fit-verdict and fit-verdict-density, into the source that quotes them.
#[derive(Debug, Clone, Args)]
pub struct WriteRates {
    /// Amount of computation of the results.
    #[arg(long, value_enum, default_value = "default")]
    preset: PresetName,
    /// Folder that contains results/.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// The file.
    #[arg(long, default_value = "mcsa/src/posterior/measured.rs")]
    file: PathBuf,
}

impl WriteRates {
    /// Runs the verb.
    ///
    /// # Errors
    /// If results are missing or of other code, or the file cannot be written.
    pub fn run(&self, out: &mut impl Write) -> Result<(), Exit> {
        let selection = Selection {
            ids: Vec::new(),
            preset: self.preset,
            out: self.out.clone(),
            archive: false,
            data: None,
        };
        check_outputs(&[("--file", Some(&self.file))])?;
        let both = [
            self.measured(&selection, "ours/fit-verdict")?,
            self.measured(&selection, "ours/fit-verdict-density")?,
        ];
        write_whole(&self.file, text(&both, mcsa::posterior::RULE).as_bytes())?;
        writeln!(out, "{}: rates of rule {}", self.file.display(), mcsa::posterior::RULE)?;
        Ok(())
    }

    /// The rates of one experiment.
    fn measured(&self, selection: &Selection, id: &str) -> Result<Rates, Error> {
        let known = REGISTRY.iter().find(|entry| entry.file.ends_with(&format!("{id}.toml")));
        let entry = known.ok_or_else(|| Error::invalid(format!("no experiment {id}")))?;
        let results =
            Results::gather(entry.experiment()?, self.preset, &selection.store(), &selection.catalogue())?;
        if results.is_stale || results.missing > 0 {
            let advice = format!("run `cargo xtask figures {id} --preset {}` first", self.preset.name());
            return Err(Error::invalid(format!("results are missing or of other code: {advice}")));
        }
        Ok(rates(&results))
    }
}

/// Source of the constants: with a gradient, and by the log density alone.
fn text(rates: &[Rates; 2], rule: u32) -> String {
    let constant = |name: &str, words: &str, gradient: bool, rates: &Rates| {
        let Rates { planted, false_yes, hidden, hidden_yes, right, false_no, .. } = rates;
        let most = binomial(*false_yes, *planted, 0.9)[1];
        format!(
            "\n/// Rates of the verdict as measured{words}.\n\
             pub const {name}: Rates = Rates {{\n    rule: {rule},\n    gradient: {gradient},\n    planted: {planted},\n    \
             false_yes: {false_yes},\n    at_most: {most:.4},\n    hidden: {hidden},\n    hidden_yes: {hidden_yes},\n    \
             right: {right},\n    false_no: {false_no},\n}};\n"
        )
    };
    format!(
        "//! Measured error rates of the verdict, written by `mcsa-bench rates` from the results of the experiments `ours/fit-verdict` and\n\
         //! `ours/fit-verdict-density`.\n\nuse super::Rates;\n{}{}",
        constant("MEASURED", ", with a gradient", true, &rates[0]),
        constant("MEASURED_BY_DENSITY", ", by the log density alone", false, &rates[1])
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa::posterior::{MEASURED, MEASURED_BY_DENSITY};

    /// The committed file is what the verb writes for its own numbers.
    #[test]
    fn the_source_is_what_is_written() {
        let rates = [MEASURED, MEASURED_BY_DENSITY].map(|measured| Rates {
            planted: measured.planted,
            false_yes: measured.false_yes,
            hidden: measured.hidden,
            hidden_yes: measured.hidden_yes,
            right: measured.right,
            false_no: measured.false_no,
            ..Rates::default()
        });
        let committed = include_str!("../../../mcsa/src/posterior/measured.rs");
        assert_eq!(text(&rates, MEASURED.rule), committed);
        let others = rates.map(|rates| Rates { planted: rates.planted + 1, ..rates });
        assert_ne!(text(&others, MEASURED.rule), committed);
    }
}
