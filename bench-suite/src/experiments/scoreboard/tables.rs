//! Tables of errors at equal evaluations, of wins, of failures, of warnings, and of the dimension at which each method stops.

use std::collections::BTreeSet;

use super::{Board, Cell, K_HAT, LADDERS, R_HAT, Run, Runs, STOPPED, median};
use crate::catalog::Case;
use crate::look;
use crate::results::Results;
use crate::tables::{Sheet, rate};

/// Mark of the method with the least error.
const WINNER: &str = "★";
/// Errors of the means, in standard deviations, below which an answer is good, and fair.
const GOOD: f64 = 0.1;
const FAIR: f64 = 0.3;

/// Errors by case and method at the largest budget; wins, failures and times by method.
pub(crate) fn tables(results: &Results) -> Vec<Sheet> {
    of_board(&Board::of(results)).into()
}

fn of_board(board: &Board<'_>) -> [Sheet; 3] {
    [table(board, "answer_error"), methods(&[board]), runs(board)]
}

/// Errors of the log evidence, then the tables of every scoreboard.
pub(crate) fn evidence_tables(results: &Results) -> Vec<Sheet> {
    let board = Board::of(results);
    let first = Sheet {
        name: "evidence".to_owned(),
        title: "Error of log Z from 2000 weighted draws".to_owned(),
        note: "Medians over replicates, in nats. ★: the least error within the budget.".to_owned(),
        ..table(&board, "evidence_error")
    };
    [vec![first], of_board(&board).into()].concat()
}

/// Largest dimension of each method on each kind of target, then the tables of every scoreboard.
pub(crate) fn dimension_tables(results: &Results) -> Vec<Sheet> {
    let board = Board::of(results);
    [vec![reach(&board)], of_board(&board).into()].concat()
}

/// Wrong answers and warnings by method, then the tables of every scoreboard.
pub(crate) fn warning_tables(results: &Results) -> Vec<Sheet> {
    let board = Board::of(results);
    let row = |method: &&'static str| {
        let runs = |planted| board.at_last(method, planted);
        let share = |all: &[(&Case, Run<'_>)], is_it: fn(&Run<'_>) -> bool| {
            rate(all.iter().filter(|(_, run)| is_it(run)).count(), all.len(), 0)
        };
        let (planted, good) = (runs(true), runs(false));
        vec![
            look::entrant(method).1.to_owned(),
            match *method {
                "fit" => "verdict".to_owned(),
                "nuts" => format!("R-hat < {R_HAT}"),
                _ => format!("k-hat < {K_HAT}"),
            },
            share(&planted, |run| run.is_wrong()),
            share(&planted, |run| run.is_wrong_but_told_good()),
            share(&good, |run| run.is_wrong_but_told_good()),
            share(&good, |run| !run.is_wrong() && !run.is_told_good()),
        ]
    };
    let head = [
        "Method",
        "Told",
        "Planted: wrong",
        "Planted: wrong, told good",
        "Good targets: wrong, told good",
        "Good targets: right, told bad",
    ];
    let first = Sheet {
        name: "warnings".to_owned(),
        title: "Wrong answers, and what users are told".to_owned(),
        head: head.map(str::to_owned).into(),
        rows: board.methods.iter().map(row).collect(),
        note: "Runs at the largest budget, with exact 90 % intervals. An answer is wrong if a mean is off by more than 0.3 standard deviations \
               or a standard deviation by more than a factor 1.3, and always where there is no integral or no variance."
            .to_owned(),
    };
    [vec![first], of_board(&board).into()].concat()
}

/// A number with two digits; a word for failures.
fn short(value: f64) -> String {
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

/// Largest dimension of each method on each kind of target.
pub(crate) fn reach(board: &Board<'_>) -> Sheet {
    let row = |method: &&'static str| {
        let mut row = vec![look::entrant(method).1.to_owned()];
        for (kind, _) in LADDERS {
            let rungs = board.rungs(kind, method);
            let works = |(_, cell): &&(usize, &Cell<'_>)| cell.runs.median("answer_error") <= STOPPED;
            let reached = rungs.iter().take_while(works).last();
            let next = rungs.iter().find(|rung| !works(rung));
            row.push(match (reached, next) {
                _ if rungs.is_empty() => "·".to_owned(),
                (None, _) => format!("below {}", rungs[0].0),
                (Some((dim, _)), None) => format!("{dim} or more"),
                (Some((dim, _)), Some((_, cell))) => {
                    format!("{dim} (then {})", short(cell.runs.median("answer_error")))
                }
            });
        }
        row
    };
    let head = std::iter::once("Method").chain(LADDERS.map(|(_, title)| title));
    Sheet {
        name: "dimensions".to_owned(),
        title: format!("Largest dimension within {} evaluations", board.last()),
        head: head.map(str::to_owned).collect(),
        rows: board.methods.iter().map(row).collect(),
        note: format!(
            "Largest dimension up to which the median of the largest error of a mean is at most {STOPPED} standard deviations, and the error \
             in the next dimension that was run."
        ),
    }
}

/// Medians of a metric by case and method at the largest budget.
fn table(board: &Board<'_>, metric: &str) -> Sheet {
    let budget = board.last();
    let head: Vec<String> = std::iter::once("Target".to_owned())
        .chain(board.methods.iter().map(|kind| look::entrant(kind).1.to_owned()))
        .collect();
    let row = |case: &&Case| {
        let winner = board.winner(case, budget, metric);
        let cell = |method: &&'static str| {
            let Some(cell) = board.cell(case, method, budget) else { return "·".to_owned() };
            let text = short(cell.runs.median(metric));
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

/// Kinds of the methods of several boards, in the order of legends.
fn kinds<'b>(boards: impl Iterator<Item = &'b Board<'b>>) -> Vec<&'static str> {
    let mut kinds: Vec<&'static str> = boards.flat_map(|board| &board.methods).copied().collect();
    kinds.sort_by_key(|kind| look::entrant(kind).0);
    kinds.dedup();
    kinds
}

/// Wins, failures, accuracy and time of each method over all targets of some boards, and the stored runs of other packages.
pub(crate) fn methods(boards: &[&Board<'_>]) -> Sheet {
    let budgets: BTreeSet<u64> = boards.iter().flat_map(|board| &board.budgets).copied().collect();
    let row = |method: &'static str| {
        let mut row = vec![look::entrant(method).1.to_owned()];
        for budget in &budgets {
            let wins = |board: &&Board<'_>| {
                let is_won = |case: &&&Case| board.winner(case, *budget, "answer_error") == Some(method);
                board.cases.iter().filter(is_won).count()
            };
            row.push(boards.iter().map(wins).sum::<usize>().to_string());
        }
        let cells = || boards.iter().flat_map(|board| &board.cells).filter(|cell| cell.method == method);
        let runs: usize = cells().map(|cell| cell.runs.0.len()).sum();
        let ends = boards.iter().flat_map(|board| board.within(method, board.last()));
        let ends: Vec<&Run<'_>> =
            ends.flat_map(|cell| &cell.runs.0).filter(|run| !run.value("answer_error").is_nan()).collect();
        let good = |limit: f64| ends.iter().filter(|run| run.value("answer_error") < limit).count();
        row.push(share(good(GOOD), ends.len()));
        row.push(share(good(FAIR), ends.len()));
        row.push(share(cells().map(|cell| cell.runs.failures()).sum(), runs));
        row.push(short(median(ends.iter().map(|run| run.value("seconds")))));
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
        rows: kinds(boards.iter().copied()).into_iter().map(row).collect(),
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
    let winners = |(_, board): &(&str, &Board<'_>)| -> Vec<Option<&str>> {
        board.cases.iter().map(|case| board.winner(case, board.last(), "answer_error")).collect()
    };
    let won: Vec<_> = boards.iter().map(winners).collect();
    let row = |method: &'static str| {
        let count = |(won, (_, board)): (&Vec<Option<&str>>, &(&str, &Board<'_>))| match board
            .methods
            .contains(&method)
        {
            false => "·".to_owned(),
            true => won.iter().filter(|won| **won == Some(method)).count().to_string(),
        };
        std::iter::once(look::entrant(method).1.to_owned()).chain(won.iter().zip(boards).map(count)).collect()
    };
    let mut rows: Vec<Vec<String>> =
        kinds(boards.iter().map(|(_, board)| *board)).into_iter().map(row).collect();
    let targets = won.iter().map(|won| won.iter().flatten().count().to_string());
    rows.push(std::iter::once("Targets".to_owned()).chain(targets).collect());
    let failures = |(_, board): &(&str, &Board<'_>)| {
        let runs: usize = board.cells.iter().map(|cell| cell.runs.0.len()).sum();
        share(board.cells.iter().map(|cell| cell.runs.failures()).sum(), runs)
    };
    rows.push(std::iter::once("Failures".to_owned()).chain(boards.iter().map(failures)).collect());
    let name = |(name, board): &(&str, &Board<'_>)| format!("{name}, within {}", board.last());
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
    const HEAD: [&str; 15] = [
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
    let row = |case: &Case, method: String, budget: String, runs: &Runs<'_>| {
        let mut row = vec![case.title(), method, budget];
        row.extend(["p_evaluations", "p_gradients"].map(|metric| format!("{:.0}", runs.median(metric))));
        let metrics = ["answer_error", "answer_median", "spread_error", "wasserstein", "evidence_error"];
        let metrics = metrics.into_iter().chain(["k_hat", "sample_share", "r_hat", "seconds"]);
        row.extend(metrics.map(|metric| short(runs.median(metric))));
        row.push(format!("{} of {}", runs.failures(), runs.0.len()));
        row
    };
    let mut rows = Vec::new();
    for case in &board.cases {
        let mut cells: Vec<&Cell<'_>> = board.cells.iter().filter(|cell| cell.case == *case).collect();
        cells.sort_by_key(|cell| (look::entrant(cell.method).0, cell.budget));
        let name = |cell: &Cell<'_>| look::entrant(cell.method).1.to_owned();
        rows.extend(cells.iter().map(|cell| row(case, name(cell), cell.budget.to_string(), &cell.runs)));
        let stored = board.stored(case);
        let dash = || "–".to_owned();
        rows.extend(stored.iter().map(|(name, runs)| row(case, format!("{name} (stored)"), dash(), runs)));
    }
    Sheet {
        name: "runs".to_owned(),
        title: "Target by target".to_owned(),
        head: HEAD.map(str::to_owned).into(),
        rows,
        note: "Medians over replicates. Densities are evaluations without a gradient, gradients are with their density. Rows of other \
               packages were made elsewhere and are stored; their budgets and their seconds are their own."
            .to_owned(),
    }
}
