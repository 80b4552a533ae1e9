//! HTML page of the scoreboard: methods over all targets, then each experiment.

use super::html::escape;
use super::section::{ExperimentSection, rows};
use crate::experiments::{Scoreboard, methods, reach, winners};
use crate::tables::Table;

/// Experiment on targets of growing dimension.
const LADDER: &str = "ours/scoreboard-ladder";

/// Title of an experiment without the word before the colon.
fn short(title: &str) -> &str {
    title.split_once(": ").map_or(title, |(_, rest)| rest)
}

/// Experiments with runs within budgets.
pub(super) fn with_runs(sections: &[ExperimentSection]) -> impl Iterator<Item = &ExperimentSection> {
    sections.iter().filter(|section| section.results.experiment.benchmarks.is_some())
}

/// Body of the page; `None` if no experiment has runs within budgets.
pub(super) fn body(sections: &[ExperimentSection]) -> Option<String> {
    let sections: Vec<&ExperimentSection> = with_runs(sections).collect();
    if sections.is_empty() {
        return None;
    }
    let boards: Vec<Scoreboard<'_>> =
        sections.iter().map(|section| Scoreboard::of(&section.results)).collect();
    let experiments = || sections.iter().map(|section| &section.results.experiment).zip(&boards);
    let named: Vec<_> = experiments().map(|(experiment, board)| (short(&experiment.title), board)).collect();
    let mut tables = vec![methods(&boards.iter().collect::<Vec<_>>()), winners(&named)];
    tables.extend(
        experiments().filter(|(experiment, _)| experiment.id == LADDER).map(|(_, board)| reach(board)),
    );
    let table = |table: &Table| {
        let (title, note) = (escape(&table.title), escape(&table.note));
        format!("<h3>{title}</h3>\n{}<p class=\"note\">{note}</p>\n", rows(table))
    };
    let mut text = format!(
        "<header>\n<p class=\"over\">Markov chain score ascent</p>\n<h1>Scoreboard</h1>\n<p class=\"lead\">Methods of approximate inference on \
         targets whose moments are known, within equal numbers of evaluations of the target. Starts, warm-up and weighted draws count; \
         failures count as infinite errors.</p>\n{}</header>\n",
        tables.iter().map(table).collect::<String>()
    );
    text.extend(sections.into_iter().map(ExperimentSection::html));
    Some(text)
}
