//! The verb `claims`: prints the verdict on each claim from existing results.

use std::io::Write;

use clap::Args;

use super::{Exit, Selection};
use crate::claims::{Claim, Verdict};
use crate::report::{ExperimentSection, Tally};

/// Print the verdict of the results on each claim. Runs no jobs: use `figures`.
///
/// A claim that fails is a finding, not a failure of the program.
#[derive(Debug, Clone, Args)]
pub struct Claims {
    #[command(flatten)]
    selection: Selection,
}

impl Claims {
    /// Runs the verb.
    pub fn run(&self, out: &mut impl Write) -> Result<(), Exit> {
        let entries = self.selection.entries()?;
        let cards = self.selection.cards(&entries)?;
        for card in &cards {
            let experiment = &card.results.experiment;
            match experiment.is_exhibit() {
                true => writeln!(out, "{}: computed", experiment.id)?,
                false => {
                    let replicates = mcsa_core::counted(card.results.replicates(), "replicate");
                    writeln!(out, "{}: {replicates}", experiment.id)?;
                }
            }
            if !card.comparisons.is_empty() {
                writeln!(out, "  {}", card.tally())?;
            }
            for (Claim { citation, sentence, .. }, finding) in &card.findings {
                writeln!(out, "  {:20} {sentence} ({citation})", finding.verdict.name())?;
                let number =
                    if finding.number.is_nan() { String::new() } else { format!("{:.4}: ", finding.number) };
                writeln!(out, "  {:20} {number}{}", "", finding.reason)?;
            }
        }
        summary(&cards, out)
    }
}

/// Prints the total numbers of claims and of explorations by verdict, then the order and agreement of cells.
pub(super) fn summary(cards: &[ExperimentSection], out: &mut impl Write) -> Result<(), Exit> {
    for (title, is_of_paper) in [("claims", true), ("explorations", false)] {
        let found = cards.iter().flat_map(|card| &card.findings);
        let found = found.filter(|(claim, _)| claim.is_of_paper() == is_of_paper);
        let (count, words) = Verdict::told(found.map(|(_, finding)| finding.verdict));
        if count > 0 {
            writeln!(out, "{title}: {words}")?;
        }
    }
    writeln!(out, "tables: {}", Tally::of(cards.iter().flat_map(|card| &card.comparisons)))?;
    Ok(())
}
