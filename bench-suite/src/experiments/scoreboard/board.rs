//! Runs by case, method and budget.

use std::collections::BTreeSet;

use crate::anchors::Anchor;
use crate::catalog::{Case, Target};
use crate::look;
use crate::results::Results;
use crate::store::Row;
use crate::task::Task;
use mcsa_diagnostics::quantile;

/// Excess over its budget up to which a run counts as one within it.
const EXCESS: f64 = 1.25;

/// All runs of an experiment.
pub(crate) struct Board<'r> {
    /// The cases, in the order of the file.
    pub(crate) cases: Vec<&'r Case>,
    /// Kinds of the methods, in the order of legends.
    pub(crate) methods: Vec<&'static str>,
    /// The budgets, increasing.
    pub(crate) budgets: Vec<u64>,
    /// Runs by case, method and budget.
    pub(crate) cells: Vec<Cell<'r>>,
    anchors: Vec<Anchor>,
}

/// Stored runs of a method of another package on one case.
pub(crate) struct Stored<'b> {
    pub(crate) name: String,
    pub(crate) rows: Vec<&'b Anchor>,
}

/// Replicates of one method on one case within one budget.
pub(crate) struct Cell<'r> {
    pub(crate) case: &'r Case,
    pub(crate) method: &'static str,
    pub(crate) budget: u64,
    pub(crate) runs: Vec<Run<'r>>,
}

/// One run.
#[derive(Clone, Copy)]
pub(crate) struct Run<'r> {
    pub(crate) replicate: u64,
    row: &'r Row,
}

impl Run<'_> {
    /// A metric; infinite for an error of a run that has failed.
    pub(crate) fn value(&self, metric: &str) -> f64 {
        let absent = if self.has_failed() { f64::INFINITY } else { f64::NAN };
        self.row.values.get(metric).copied().unwrap_or(absent)
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.row.values.get("failed") != Some(&0.0)
    }

    /// Evaluations with or without a gradient.
    pub(crate) fn evaluations(&self) -> f64 {
        ["p_evaluations", "p_gradients"].iter().filter_map(|name| self.row.values.get(*name)).sum()
    }
}

/// Median with infinities; NaN if there is no value or one is NaN.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    match values.iter().any(|value| value.is_nan()) || values.is_empty() {
        true => f64::NAN,
        // Interpolation between infinities would be NaN.
        false if values.iter().any(|value| value.is_infinite()) => {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        }
        false => quantile(&mut values, 0.5),
    }
}

impl Cell<'_> {
    /// Median of a metric over replicates.
    pub(crate) fn median(&self, metric: &str) -> f64 {
        median(self.runs.iter().map(|run| run.value(metric)))
    }

    /// Median number of evaluations.
    pub(crate) fn evaluations(&self) -> f64 {
        median(self.runs.iter().map(Run::evaluations))
    }

    /// True if the runs kept to their budget.
    pub(crate) fn is_within(&self) -> bool {
        self.evaluations() <= EXCESS * self.budget as f64
    }

    pub(crate) fn failures(&self) -> usize {
        self.runs.iter().filter(|run| run.has_failed()).count()
    }
}

impl Stored<'_> {
    /// Median of a metric over runs.
    pub(crate) fn median(&self, metric: &str) -> f64 {
        median(self.rows.iter().map(|row| row.value(metric)))
    }

    /// Median number of evaluations.
    pub(crate) fn evaluations(&self) -> f64 {
        median(self.rows.iter().map(|row| row.evaluations()))
    }

    pub(crate) fn failures(&self) -> usize {
        self.rows.iter().filter(|row| row.value("failed") != 0.0).count()
    }
}

impl<'r> Board<'r> {
    pub(crate) fn of(results: &'r Results) -> Self {
        let mut board = Board {
            cases: Vec::new(),
            methods: Vec::new(),
            budgets: Vec::new(),
            cells: Vec::new(),
            anchors: Anchor::stored().unwrap_or_default(),
        };
        let mut budgets = BTreeSet::new();
        for outcome in &results.outcomes {
            let (Task::Benchmark(task), Target::Case { case }) =
                (&outcome.job.task, outcome.job.task.target())
            else {
                continue;
            };
            let method = task.method.kind();
            if !board.cases.contains(&case) {
                board.cases.push(case);
            }
            if !board.methods.contains(&method) {
                board.methods.push(method);
            }
            for row in &outcome.rows {
                budgets.insert(row.step);
                let run = Run { replicate: outcome.job.replicate, row };
                let is_it = |cell: &&mut Cell<'r>| {
                    cell.budget == row.step && cell.method == method && cell.case == case
                };
                match board.cells.iter_mut().find(is_it) {
                    Some(cell) => cell.runs.push(run),
                    None => board.cells.push(Cell { case, method, budget: row.step, runs: vec![run] }),
                }
            }
        }
        board.methods.sort_by_key(|kind| look::entrant(kind).0);
        board.budgets = budgets.into_iter().collect();
        board
    }

    pub(crate) fn cell(&self, case: &Case, method: &str, budget: u64) -> Option<&Cell<'r>> {
        let is_it = |cell: &&Cell<'r>| cell.budget == budget && cell.method == method && cell.case == case;
        self.cells.iter().find(is_it)
    }

    /// Method with the least median of a metric on a case, of those within the budget.
    pub(crate) fn winner(&self, case: &Case, budget: u64, metric: &str) -> Option<&'static str> {
        let here = self.cells.iter().filter(|cell| cell.budget == budget && cell.case == case);
        let ranked = here.filter(|cell| cell.is_within()).map(|cell| (cell.median(metric), cell.method));
        let finite = ranked.filter(|(error, _)| error.is_finite());
        finite.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, method)| method)
    }

    /// Stored runs on a case, by package and method.
    pub(crate) fn stored(&self, title: &str) -> Vec<Stored<'_>> {
        let mut all: Vec<Stored<'_>> = Vec::new();
        for row in self.anchors.iter().filter(|row| row.case == title) {
            match all.iter_mut().find(|stored| stored.name == row.name()) {
                Some(stored) => stored.rows.push(row),
                None => all.push(Stored { name: row.name(), rows: vec![row] }),
            }
        }
        all
    }

    /// Place of a method of another package among all that are stored.
    pub(crate) fn package(&self, name: &str) -> usize {
        let names: BTreeSet<String> = self.anchors.iter().map(Anchor::name).collect();
        names.iter().position(|known| known == name).unwrap_or_default()
    }

    /// The cells of a method on a case, by budget.
    pub(crate) fn curve(&self, case: &Case, method: &str) -> Vec<&Cell<'r>> {
        let mut cells: Vec<&Cell<'r>> =
            self.cells.iter().filter(|cell| cell.method == method && cell.case == case).collect();
        cells.sort_by_key(|cell| cell.budget);
        cells
    }
}
