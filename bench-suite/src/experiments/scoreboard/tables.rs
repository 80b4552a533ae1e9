//! Tables of errors at equal evaluations, of wins, and of failures.

use std::collections::BTreeSet;

use super::board::{Board, Cell, median};
use crate::catalog::Case;
use crate::look;
use crate::results::Results;
use crate::tables::Sheet;

/// Mark of the method with the least error.
const WINNER: &str = "★";
/// Errors of the means, in standard deviations, below which an answer is good, and fair.
const GOOD: f64 = 0.1;
const FAIR: f64 = 0.3;

/// Errors by case and method at the largest budget; wins, failures and times by method.
pub(crate) fn tables(results: &Results) -> Vec<Sheet> {
    let board = Board::of(results);
    vec![table(&board, "answer_error"), methods(&[&board]), runs(&board)]
}

/// Errors of the log evidence, then the tables of every scoreboard.
pub(crate) fn evidence_tables(results: &Results) -> Vec<Sheet> {
    let board = Board::of(results);
    let mut sheets = vec![Sheet {
        name: "evidence".to_owned(),
        title: "Error of log Z from 2000 weighted draws".to_owned(),
        note: "Medians over replicates, in nats. ★: the least error within the budget.".to_owned(),
        ..table(&board, "evidence_error")
    }];
    sheets.extend(tables(results));
    sheets
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

/// Medians of a metric by case and method at the largest budget.
fn table(board: &Board<'_>, metric: &str) -> Sheet {
    let budget = board.budgets.last().copied().unwrap_or(0);
    let head: Vec<String> = std::iter::once("Target".to_owned())
        .chain(board.methods.iter().map(|kind| look::entrant(kind).1.to_owned()))
        .collect();
    let row = |case: &&Case| {
        let winner = board.winner(case, budget, metric);
        let cell = |method: &&'static str| {
            let Some(cell) = board.cell(case, method, budget) else { return "·".to_owned() };
            let text = short(cell.median(metric));
            match () {
                () if winner == Some(method) => format!("{WINNER} {text}"),
                () if !cell.is_within() => format!("({text})"),
                () => text,
            }
        };
        std::iter::once(case.title()).chain(board.methods.iter().map(cell)).collect()
    };
    Sheet {
        name: "errors".to_owned(),
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

/// Wins, failures, accuracy and time of each method over all targets of some boards, and the stored runs of other packages.
pub(crate) fn methods(boards: &[&Board<'_>]) -> Sheet {
    let budgets: BTreeSet<u64> = boards.iter().flat_map(|board| &board.budgets).copied().collect();
    let mut kinds: Vec<&'static str> = boards.iter().flat_map(|board| &board.methods).copied().collect();
    kinds.sort_by_key(|kind| look::entrant(kind).0);
    kinds.dedup();
    let row = |method: &&'static str| {
        let mut row = vec![look::entrant(method).1.to_owned()];
        for budget in &budgets {
            let wins = |board: &&Board<'_>| {
                let is_won = |case: &&&Case| board.winner(case, *budget, "answer_error") == Some(method);
                board.cases.iter().filter(is_won).count()
            };
            row.push(boards.iter().map(wins).sum::<usize>().to_string());
        }
        let cells = || boards.iter().flat_map(|board| &board.cells).filter(|cell| cell.method == *method);
        let runs: usize = cells().map(|cell| cell.runs.len()).sum();
        let at_last = || {
            let of = |board: &&Board<'_>| board.budgets.last().copied();
            let ends = boards.iter().flat_map(move |board| {
                board
                    .cells
                    .iter()
                    .filter(move |cell| Some(cell.budget) == of(board) && cell.method == *method)
            });
            ends.flat_map(|cell| &cell.runs).filter(|run| !run.value("answer_error").is_nan())
        };
        let good = |limit: f64| at_last().filter(|run| run.value("answer_error") < limit).count();
        row.push(share(good(GOOD), at_last().count()));
        row.push(share(good(FAIR), at_last().count()));
        row.push(share(cells().map(Cell::failures).sum(), runs));
        row.push(short(median(at_last().map(|run| run.value("seconds")))));
        row
    };
    let mut head = vec!["Method".to_owned()];
    head.extend(budgets.iter().map(|budget| format!("Least error at {budget}")));
    head.extend([
        format!("Error below {GOOD}"),
        format!("Error below {FAIR}"),
        "Failures".to_owned(),
        "Seconds".to_owned(),
    ]);
    let targets: usize = boards.iter().map(|board| board.cases.len()).sum();
    Sheet {
        name: "methods".to_owned(),
        title: "Methods over all targets".to_owned(),
        rows: kinds.iter().map(row).collect(),
        head,
        note: format!(
            "Least error: number of the {targets} targets on which the median error of the means by the method is the least of all within \
             a number of evaluations. Error: share of the runs within the largest budget of their board whose largest error of a mean is below \
             {GOOD} or {FAIR} standard deviations. Failures: runs within any budget that end with an error or without a finite answer. Seconds: medians of those \
             runs, on one processor."
        ),
    }
}

/// Targets won by each method on each board, within its largest budget.
pub(crate) fn winners(boards: &[(&str, &Board<'_>)]) -> Sheet {
    let mut kinds: Vec<&'static str> = boards.iter().flat_map(|(_, board)| &board.methods).copied().collect();
    kinds.sort_by_key(|kind| look::entrant(kind).0);
    kinds.dedup();
    let last = |board: &Board<'_>| board.budgets.last().copied().unwrap_or(0);
    let winners = |(_, board): &(&str, &Board<'_>)| -> Vec<Option<&str>> {
        board.cases.iter().map(|case| board.winner(case, last(board), "answer_error")).collect()
    };
    let won: Vec<_> = boards.iter().map(winners).collect();
    let row = |method: &&'static str| {
        let count = |(won, (_, board)): (&Vec<Option<&str>>, &(&str, &Board<'_>))| match board
            .methods
            .contains(method)
        {
            false => "·".to_owned(),
            true => won.iter().filter(|won| **won == Some(*method)).count().to_string(),
        };
        std::iter::once(look::entrant(method).1.to_owned())
            .chain(won.iter().zip(boards).map(count))
            .collect::<Vec<_>>()
    };
    let mut rows: Vec<Vec<String>> = kinds.iter().map(row).collect();
    let targets = won.iter().map(|won| won.iter().flatten().count().to_string());
    rows.push(std::iter::once("Targets".to_owned()).chain(targets).collect());
    let failures = |(_, board): &(&str, &Board<'_>)| {
        let runs: usize = board.cells.iter().map(|cell| cell.runs.len()).sum();
        share(board.cells.iter().map(Cell::failures).sum(), runs)
    };
    rows.push(std::iter::once("Failures".to_owned()).chain(boards.iter().map(failures)).collect());
    let name = |(name, board): &(&str, &Board<'_>)| format!("{name}, within {}", last(board));
    Sheet {
        name: "winners".to_owned(),
        title: "Targets won".to_owned(),
        head: std::iter::once("Method".to_owned()).chain(boards.iter().map(name)).collect(),
        rows,
        note: "Number of targets with known moments on which the median error of the means by the method is the least within the largest budget \
               that was run; a dot: the method is not run there. Failures: share of all runs of the board."
            .to_owned(),
    }
}

fn share(count: usize, of: usize) -> String {
    match of {
        0 => "–".to_owned(),
        of => format!("{:.0} %", 100.0 * count as f64 / of as f64),
    }
}

/// A row for each method on each target within each budget, and for each stored method.
fn runs(board: &Board<'_>) -> Sheet {
    let head = [
        "Target",
        "Method",
        "Budget",
        "Densities",
        "Gradients",
        "Error of means, sd",
        "Median over coordinates",
        "Error of log sds",
        "Wasserstein, sd",
        "Error of log Z",
        "k-hat",
        "ESS per draw",
        "R-hat",
        "Seconds",
        "Failures",
    ];
    let row = |cell: &Cell<'_>| {
        let of = |metric: &str| short(cell.median(metric));
        let mut row =
            vec![cell.case.title(), look::entrant(cell.method).1.to_owned(), cell.budget.to_string()];
        row.extend(["p_evaluations", "p_gradients"].map(|metric| format!("{:.0}", cell.median(metric))));
        row.extend(
            ["answer_error", "answer_median", "spread_error", "wasserstein", "evidence_error"].map(of),
        );
        row.extend(["k_hat", "sample_share", "r_hat", "seconds"].map(of));
        row.push(format!("{} of {}", cell.failures(), cell.runs.len()));
        row
    };
    let mut rows = Vec::new();
    for case in &board.cases {
        let mut cells: Vec<&Cell<'_>> = board.cells.iter().filter(|cell| cell.case == *case).collect();
        cells.sort_by_key(|cell| (look::entrant(cell.method).0, cell.budget));
        rows.extend(cells.into_iter().map(row));
        rows.extend(board.stored(&case.title()).iter().map(|stored| {
            let of = |metric: &str| short(stored.median(metric));
            let mut row = vec![case.title(), format!("{} (stored)", stored.name), "–".to_owned()];
            row.extend(["evaluations", "gradients"].map(|column| format!("{:.0}", stored.median(column))));
            row.push(of("answer_error"));
            row.push("–".to_owned());
            row.extend(["spread_error", "wasserstein", "log_z_error", "k_hat"].map(of));
            row.extend(["–".to_owned(), "–".to_owned(), of("seconds")]);
            row.push(format!("{} of {}", stored.failures(), stored.rows.len()));
            row
        }));
    }
    Sheet {
        name: "runs".to_owned(),
        title: "Target by target".to_owned(),
        head: head.map(str::to_owned).into(),
        rows,
        note: "Medians over replicates. Densities are evaluations without a gradient, gradients are with their density. Rows of other \
               packages were made elsewhere and are stored; their budgets and their seconds are their own."
            .to_owned(),
    }
}
