//! HTML page of the scoreboard: methods over all targets, then target by target.

use super::html::{details, escape};
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
    text.extend(sections.into_iter().map(html));
    Some(text)
}

/// Tables of errors and claims, performance profiles; the figures and the table of single targets can be opened.
fn html(section: &ExperimentSection) -> String {
    let experiment = &section.results.experiment;
    let mut text = format!(
        "<section id=\"{}\">\n<h2>{}</h2>\n{}",
        escape(&experiment.id),
        escape(&experiment.title),
        section.state()
    );
    let is_first =
        |name: &str| ["-overview", "-profiles", "-ladder"].iter().any(|ending| name.ends_with(ending));
    let (first, later): (Vec<_>, Vec<_>) = section.drawings.iter().partition(|(name, _)| is_first(name));
    let (runs, tables): (Vec<_>, Vec<_>) = section.tables.iter().partition(|table| table.name == "runs");
    let tables = tables.into_iter().filter(|table| table.name != "methods");
    text.extend(tables.map(|table| section.table(table)));
    text.extend(first.into_iter().map(|drawing| section.figure(drawing)));
    text.push_str(&section.claims());
    text.extend(later.into_iter().map(|drawing| section.figure(drawing)));
    text.extend(runs.into_iter().map(|table| details(&escape(&table.title), &section.table(table))));
    text + "</section>\n"
}
