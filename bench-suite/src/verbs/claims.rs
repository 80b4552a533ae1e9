//! The verb `claims`.

use std::io::Write;

use clap::Args;

use super::{Exit, Selection};

/// Print what results say of each claim. Runs nothing: `figures` does.
///
/// That a claim fails is a finding, not a failure of the program.
#[derive(Debug, Clone, Args)]
pub struct Claims {
    #[command(flatten)]
    selection: Selection,
}

impl Claims {
    /// Does it.
    ///
    /// # Errors
    /// If an experiment is unknown or results cannot be read.
    pub fn run(&self, out: &mut impl Write) -> Result<(), Exit> {
        let entries = self.selection.entries()?;
        for card in self.selection.cards(&entries)? {
            let experiment = &card.evidence.experiment;
            match experiment.is_exhibit() {
                true => writeln!(out, "{}: computed", experiment.id)?,
                false => writeln!(out, "{}: {} replicates", experiment.id, card.evidence.replicates())?,
            }
            for (citation, sentence, finding) in &card.findings {
                writeln!(out, "  {:20} {sentence} ({citation})", finding.verdict.name())?;
                let number =
                    if finding.number.is_nan() { String::new() } else { format!("{:.4}: ", finding.number) };
                writeln!(out, "  {:20} {number}{}", "", finding.reason)?;
            }
        }
        Ok(())
    }
}
