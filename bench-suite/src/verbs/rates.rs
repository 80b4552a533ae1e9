//! The verb `rates`: writes the measured error rates of the verdict into the program that quotes them.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use mcsa_core::Error;

use super::{Exit, Selection};
use crate::experiment::PresetName;
use crate::experiments::{Rates, rates};
use crate::interval::binomial;
use crate::registry::REGISTRY;
use crate::results::Results;

/// Write the error rates of the verdict on a fit, from the stored results of the experiment fit-verdict, into the source that quotes them.
#[derive(Debug, Clone, Args)]
pub struct WriteRates {
    /// Amount of computation of the results.
    #[arg(long, value_enum, default_value = "default")]
    preset: PresetName,
    /// Folder that contains results/.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// The file.
    #[arg(long, default_value = "mcsa/src/fit/measured.rs")]
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
        let known = REGISTRY.iter().find(|entry| entry.file.ends_with("fit-verdict.toml"));
        let Some(entry) = known else { return Err(Error::invalid("no experiment fit-verdict").into()) };
        let results =
            Results::gather(entry.experiment()?, self.preset, &selection.store(), &selection.catalogue())?;
        if results.is_stale || results.missing > 0 {
            let advice =
                format!("run `cargo xtask figures fit-verdict --preset {}` first", self.preset.name());
            return Err(Error::invalid(format!("results are missing or of other code: {advice}")).into());
        }
        let place = |error: std::io::Error| Error::invalid(format!("{}: {error}", self.file.display()));
        std::fs::write(&self.file, text(&rates(&results), mcsa::fit::RULE)).map_err(place)?;
        writeln!(out, "{}: rates of rule {}", self.file.display(), mcsa::fit::RULE)?;
        Ok(())
    }
}

/// Source of the constant.
fn text(rates: &Rates, rule: u32) -> String {
    let Rates { planted, false_yes, hidden, hidden_yes, right, false_no, .. } = rates;
    let most = binomial(*false_yes, *planted, 0.9)[1];
    format!(
        "//! Measured error rates of the verdict, written by `mcsa-bench rates` from the results of the experiment `fit-verdict`.\n\n\
         use super::Rates;\n\n\
         /// Rates of the verdict as measured.\n\
         pub const MEASURED: Rates = Rates {{\n    rule: {rule},\n    planted: {planted},\n    false_yes: {false_yes},\n    \
         at_most: {most:.4},\n    hidden: {hidden},\n    hidden_yes: {hidden_yes},\n    right: {right},\n    false_no: {false_no},\n}};\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa::fit::MEASURED;

    /// The committed file is what the verb writes for its own numbers.
    #[test]
    fn the_source_is_what_is_written() {
        let rates = Rates {
            planted: MEASURED.planted,
            false_yes: MEASURED.false_yes,
            hidden: MEASURED.hidden,
            hidden_yes: MEASURED.hidden_yes,
            right: MEASURED.right,
            false_no: MEASURED.false_no,
            ..Rates::default()
        };
        let committed = include_str!("../../../mcsa/src/fit/measured.rs");
        assert_eq!(text(&rates, MEASURED.rule), committed);
        assert_ne!(text(&Rates { planted: rates.planted + 1, ..rates }, MEASURED.rule), committed);
    }
}
