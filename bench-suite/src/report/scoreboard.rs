//! Tables of the scoreboard over all experiments with runs within budgets.

use std::path::{Path, PathBuf};

use mcsa_core::Error;
use serde::{Deserialize, Serialize};

use super::html::escape;
use super::section::{ExperimentSection, marked, rows};
use crate::experiments::{Scoreboard, methods, reach, winners};
use crate::store::write_whole;
use crate::tables::Table;

/// Experiment on targets of growing dimension.
const LADDER: &str = "ours/scoreboard-ladder";

/// Title of an experiment without the word before the colon.
fn short(title: &str) -> &str {
    title.split_once(": ").map_or(title, |(_, rest)| rest)
}

/// The tables, and the experiments that they are of.
#[derive(Default, Serialize, Deserialize)]
struct Kept {
    experiments: Vec<String>,
    html: String,
}

fn path(folder: &Path) -> PathBuf {
    folder.join("parts/over-scoreboards.json")
}

fn read(folder: &Path) -> Kept {
    let text = std::fs::read_to_string(path(folder)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// The tables that are kept in the folder of a report; empty if there are none.
pub(super) fn kept(folder: &Path) -> String {
    read(folder).html
}

/// Keeps the tables over these experiments, unless those that are there are over others too.
pub(super) fn keep(folder: &Path, sections: &[ExperimentSection]) -> Result<(), Error> {
    let with_runs = sections.iter().map(|section| &section.results);
    let with_runs =
        with_runs.filter(|results| results.experiment.benchmarks.is_some() && !results.outcomes.is_empty());
    let boards: Vec<_> = with_runs.map(|results| (&results.experiment, Scoreboard::of(results))).collect();
    let experiments: Vec<String> = boards.iter().map(|(experiment, _)| experiment.id.clone()).collect();
    if boards.is_empty() || read(folder).experiments.iter().any(|id| !experiments.contains(id)) {
        return Ok(());
    }
    let named: Vec<_> = boards.iter().map(|(experiment, board)| (short(&experiment.title), board)).collect();
    let mut tables =
        vec![methods(&boards.iter().map(|(_, board)| board).collect::<Vec<_>>()), winners(&named)];
    let ladders = boards.iter().filter(|(experiment, _)| experiment.id == LADDER);
    tables.extend(ladders.map(|(_, board)| reach(board)));
    let table = |table: &Table| {
        let (title, note) = (escape(&table.title), marked(&table.note));
        format!("<h3>{title}</h3>\n{}<p class=\"note\">{note}</p>\n", rows(table))
    };
    let html = format!(
        "<p>Methods of approximate inference on targets whose moments are known, within equal numbers of evaluations of the target. Starts, \
         warm-up and weighted draws count; failures count as infinite errors. Budgets are short for NUTS, which spends most of them in its \
         warm-up.</p>\n{}",
        tables.iter().map(table).collect::<String>()
    );
    let text = serde_json::to_string(&Kept { experiments, html });
    let text = text.map_err(|error| Error::invalid(format!("scoreboard: {error}")))?;
    write_whole(&path(folder), text.as_bytes())
}
