//! Tables of errors at equal evaluations, of wins, and of failures.

use super::board::{Board, median};
use crate::look;
use crate::results::Results;
use crate::tables::Sheet;

/// Mark of the method with the least error.
const WINNER: &str = "★";

/// Errors by case and method at the largest budget; wins, failures and times by method.
pub(crate) fn tables(results: &Results) -> Vec<Sheet> {
    let board = Board::of(results);
    vec![errors(&board), methods(&board)]
}

/// A number with two digits; a word for failures.
pub(super) fn short(value: f64) -> String {
    match value {
        value if value.is_nan() => "–".to_owned(),
        value if value.is_infinite() => "fails".to_owned(),
        value if value >= 99.5 => format!("{value:.0e}"),
        value if value >= 9.95 => format!("{value:.0}"),
        value if value >= 0.995 => format!("{value:.1}"),
        value if value >= 0.0995 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

fn errors(board: &Board<'_>) -> Sheet {
    let budget = board.budgets.last().copied().unwrap_or(0);
    let head: Vec<String> = std::iter::once("Target".to_owned())
        .chain(board.methods.iter().map(|kind| look::entrant(kind).1.to_owned()))
        .collect();
    let row = |case: &&crate::catalog::Case| {
        let winner = board.winner(case, budget, "answer_error");
        let cell = |method: &&'static str| {
            let Some(cell) = board.cell(case, method, budget) else { return "·".to_owned() };
            let text = short(cell.median("answer_error"));
            match () {
                () if winner == Some(method) => format!("{WINNER} {text}"),
                () if !cell.is_within() => format!("({text})"),
                () => text,
            }
        };
        std::iter::once(case.title()).chain(board.methods.iter().map(cell)).collect()
    };
    Sheet {
        name: "errors",
        title: format!("Error of the means within {budget} evaluations"),
        rows: board.cases.iter().map(row).collect(),
        head,
        note: format!(
            "Medians over replicates of the largest error of a mean, in standard deviations of the posterior. {WINNER}: the least error. In \
             brackets: more than a quarter over the budget, out of competition. Fails: more than half of the runs end without a \
             finite answer."
        ),
    }
}

fn methods(board: &Board<'_>) -> Sheet {
    let mut head = vec!["Method".to_owned()];
    head.extend(board.budgets.iter().map(|budget| format!("Least error at {budget}")));
    let last = board.budgets.last().copied().unwrap_or(0);
    head.extend(["Failures, %", "Error below 0.1, %", "Seconds, median", "Gradients, %"].map(str::to_owned));
    let row = |method: &&'static str| {
        let mut row = vec![look::entrant(method).1.to_owned()];
        for budget in &board.budgets {
            let wins =
                board.cases.iter().filter(|case| board.winner(case, *budget, "answer_error") == Some(method));
            row.push(wins.count().to_string());
        }
        let cells = || board.cells.iter().filter(|cell| cell.method == *method);
        let share = |count: usize, of: usize| {
            if of == 0 { "–".to_owned() } else { format!("{:.0}", 100.0 * count as f64 / of as f64) }
        };
        let runs: usize = cells().map(|cell| cell.runs.len()).sum();
        row.push(share(cells().map(super::board::Cell::failures).sum(), runs));
        let at_last = || cells().filter(|cell| cell.budget == last).flat_map(|cell| &cell.runs);
        let good = at_last().filter(|run| run.value("answer_error") < 0.1).count();
        row.push(share(good, at_last().count()));
        row.push(short(median(at_last().map(|run| run.value("seconds")))));
        let sum = |name: &str| at_last().map(|run| run.value(name)).sum::<f64>();
        let (gradients, densities) = (sum("p_gradients"), sum("p_evaluations"));
        row.push(format!("{:.0}", 100.0 * gradients / (gradients + densities)));
        row
    };
    Sheet {
        name: "methods",
        title: "Methods over all targets".to_owned(),
        rows: board.methods.iter().map(row).collect(),
        head,
        note: format!(
            "Least error: number of targets on which the median error of the method is the least of all within the budget. Failures: of runs \
             within all budgets. The last three columns: runs within {last} evaluations; gradients, each with its density, as a \
             share of all evaluations."
        ),
    }
}
