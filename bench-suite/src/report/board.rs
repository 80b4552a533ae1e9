//! HTML page of the scoreboard: methods over all targets, then target by target.

use super::html::{details, escape};
use super::section::{ExperimentSection, rows};
use crate::experiments::{Board, methods, reach, winners};
use crate::tables::Sheet;

/// Experiment on targets of growing dimension.
const LADDER: &str = "ours/scoreboard-ladder";

/// Title of an experiment without the word before the colon.
fn short(title: &str) -> &str {
    title.split_once(": ").map_or(title, |(_, rest)| rest)
}

/// True if an experiment has runs within budgets.
pub(super) fn has_runs(cards: &[ExperimentSection]) -> bool {
    cards.iter().any(|card| card.results.experiment.benchmarks.is_some())
}

/// Body of the page; `None` if no experiment has runs within budgets.
pub(super) fn body(cards: &[ExperimentSection]) -> Option<String> {
    let cards: Vec<&ExperimentSection> =
        cards.iter().filter(|card| card.results.experiment.benchmarks.is_some()).collect();
    if cards.is_empty() {
        return None;
    }
    let boards: Vec<Board<'_>> = cards.iter().map(|card| Board::of(&card.results)).collect();
    let named: Vec<(&str, &Board<'_>)> =
        cards.iter().map(|card| short(&card.results.experiment.title)).zip(&boards).collect();
    let mut sheets = vec![methods(&boards.iter().collect::<Vec<_>>()), winners(&named)];
    let dimensions = cards.iter().zip(&boards).filter(|(card, _)| card.results.experiment.id == LADDER);
    sheets.extend(dimensions.map(|(_, board)| reach(board)));
    let sheet = |sheet: &Sheet| {
        format!(
            "<h3>{}</h3>\n{}<p class=\"note\">{}</p>\n",
            escape(&sheet.title),
            rows(sheet),
            escape(&sheet.note)
        )
    };
    let mut text = format!(
        "<header>\n<p class=\"over\">Markov chain score ascent</p>\n<h1>Scoreboard</h1>\n<p class=\"lead\">Methods of approximate inference on \
         targets whose moments are known, within equal numbers of evaluations of the target. Starts, warm-up and weighted draws count; \
         failures count as infinite errors.</p>\n{}</header>\n",
        sheets.iter().map(sheet).collect::<String>()
    );
    cards.iter().for_each(|card| text.push_str(&section(card)));
    Some(text)
}

/// Tables of errors and claims, performance profiles; the figures and the table of single targets can be opened.
fn section(card: &ExperimentSection) -> String {
    let experiment = &card.results.experiment;
    let mut text = format!(
        "<section id=\"{}\">\n<h2>{}</h2>\n{}",
        escape(&experiment.id),
        escape(&experiment.title),
        card.state()
    );
    let is_first =
        |name: &str| ["-overview", "-profiles", "-ladder"].iter().any(|ending| name.ends_with(ending));
    let (first, later): (Vec<_>, Vec<_>) = card.drawings.iter().partition(|(name, _)| is_first(name));
    let (runs, sheets): (Vec<_>, Vec<_>) = card.sheets.iter().partition(|sheet| sheet.name == "runs");
    sheets.iter().filter(|sheet| sheet.name != "methods").for_each(|sheet| text.push_str(&card.sheet(sheet)));
    first.iter().for_each(|drawing| text.push_str(&card.plate(drawing)));
    text.push_str(&card.claims());
    later.iter().for_each(|drawing| text.push_str(&card.plate(drawing)));
    runs.iter().for_each(|sheet| text.push_str(&details(&escape(&sheet.title), &card.sheet(sheet))));
    text + "</section>\n"
}
