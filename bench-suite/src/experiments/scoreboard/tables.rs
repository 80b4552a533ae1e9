//! Tables of errors at equal evaluations, of wins, of failures, of warnings, and of the dimension at which each method stops.

use std::collections::BTreeSet;

use super::{Cell, K_HAT, LADDERS, R_HAT, Run, Runs, STOPPED, Scoreboard, median};
use crate::catalog::Case;
use crate::look;
use crate::results::Results;
use crate::tables::{Table, or_dash, rate};

/// Mark of the method with the least error.
const WINNER: &str = "★";
/// Errors of the means, in standard deviations, below which an answer is good, and fair.
const GOOD: f64 = 0.1;
const FAIR: f64 = 0.3;

/// Errors by case and method at the largest budget; wins, failures and times by method.
pub(crate) fn tables(results: &Results) -> Vec<Table> {
    with(results, |_| None)
}

/// A table, then those of every scoreboard.
fn with(results: &Results, first: impl Fn(&Scoreboard<'_>) -> Option<Table>) -> Vec<Table> {
    let board = Scoreboard::of(results);
    let all = [errors(&board, "answer_error"), methods(&[&board]), runs(&board)];
    first(&board).into_iter().chain(all).collect()
}

/// Errors of the log evidence, then the tables of every scoreboard.
pub(crate) fn evidence_tables(results: &Results) -> Vec<Table> {
    with(results, |board| {
        Some(Table {
            name: "evidence".to_owned(),
            title: "Error of log Z from 2000 weighted draws".to_owned(),
            note: "Medians over replicates, in nats. ★: the least error within the budget.".to_owned(),
            ..errors(board, "evidence_error")
        })
    })
}

/// Largest dimension of each method on each kind of target, then the tables of every scoreboard.
pub(crate) fn dimension_tables(results: &Results) -> Vec<Table> {
    with(results, |board| Some(reach(board)))
}

/// Wrong answers and warnings by method, then the tables of every scoreboard.
pub(crate) fn warning_tables(results: &Results) -> Vec<Table> {
    with(results, |board| Some(warnings(board)))
}

fn warnings(board: &Scoreboard<'_>) -> Table {
    let row = |method: &&'static str| {
        let share = |all: &[(&Case, Run<'_>)], is_it: fn(&Run<'_>) -> bool| {
            rate(all.iter().filter(|(_, run)| is_it(run)).count(), all.len(), 0)
        };
        let (planted, good) = (board.at_last(method, true), board.at_last(method, false));
        vec![
            look::entrant(method).1.to_owned(),
            match *method {
                "fit" => "verdict".to_owned(),
                "nuts" => format!("R-hat < {R_HAT}"),
                _ => format!("k-hat < {K_HAT}"),
            },
            share(&planted, |run| run.is_wrong()),
            share(&planted, |run| run.is_wrong_but_looks_good()),
            share(&good, |run| run.is_wrong_but_looks_good()),
            share(&good, |run| !run.is_wrong() && !run.looks_good()),
        ]
    };
    Table::new(
        "warnings",
        "Wrong answers, and what users are told",
        "Method | Told | Planted: wrong | Planted: wrong, told good | Good targets: wrong, told good | Good targets: right, told bad",
        board.methods.iter().map(row).collect(),
        "Runs at the largest budget, with exact 90 % intervals. An answer is wrong if a mean is off by more than 0.3 standard deviations \
         or a standard deviation by more than a factor 1.3, and always where there is no integral or no variance.",
    )
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

/// A row after its name.
fn row_of(name: &str, cells: impl IntoIterator<Item = String>) -> Vec<String> {
    std::iter::once(name.to_owned()).chain(cells).collect()
}

/// Largest dimension of each method on each kind of target.
pub(crate) fn reach(board: &Scoreboard<'_>) -> Table {
    let cell = |kind: &str, method: &str| {
        let rungs = board.rungs(kind, method);
        let works = |(_, cell): &&(usize, &Cell<'_>)| cell.runs.median("answer_error") <= STOPPED;
        let reached = rungs.iter().take_while(works).last();
        match (reached, rungs.iter().find(|rung| !works(rung))) {
            _ if rungs.is_empty() => "·".to_owned(),
            (None, _) => format!("below {}", rungs[0].0),
            (Some((dim, _)), None) => format!("{dim} or more"),
            (Some((dim, _)), Some((_, cell))) => {
                format!("{dim} (then {})", short(cell.runs.median("answer_error")))
            }
        }
    };
    let row =
        |method: &&'static str| row_of(look::entrant(method).1, LADDERS.map(|(kind, _)| cell(kind, method)));
    Table {
        name: "dimensions".to_owned(),
        title: format!("Largest dimension within {} evaluations", board.last()),
        head: row_of("Method", LADDERS.map(|(_, title)| title.to_owned())),
        rows: board.methods.iter().map(row).collect(),
        note: format!(
            "Largest dimension up to which the median of the largest error of a mean is at most {STOPPED} standard deviations, and the error \
             in the next dimension that was run."
        ),
    }
}

/// Medians of a metric by case and method at the largest budget.
fn errors(board: &Scoreboard<'_>, metric: &str) -> Table {
    let budget = board.last();
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
        row_of(&case.title(), board.methods.iter().map(cell))
    };
    Table {
        name: "errors".to_owned(),
        title: format!("Error of the means within {budget} evaluations"),
        rows: board.cases.iter().map(row).collect(),
        head: row_of("Target", board.methods.iter().map(|kind| look::entrant(kind).1.to_owned())),
        note: format!(
            "Medians over replicates of the largest error of a mean, in standard deviations of the posterior. {WINNER}: the least error. In \
             brackets: more than a quarter over the budget, out of competition. Fails: more than half of the runs end without a \
             finite answer."
        ),
    }
}

/// Kinds of the methods of several boards, in the order of legends.
fn kinds<'b>(boards: impl Iterator<Item = &'b Scoreboard<'b>>) -> Vec<&'static str> {
    let mut kinds: Vec<&'static str> = boards.flat_map(|board| &board.methods).copied().collect();
    kinds.sort_by_key(|kind| look::entrant(kind).0);
    kinds.dedup();
    kinds
}

/// Wins, failures, accuracy and time of each method over all targets of some boards, and the stored runs of other packages.
pub(crate) fn methods(boards: &[&Scoreboard<'_>]) -> Table {
    let budgets: BTreeSet<u64> = boards.iter().flat_map(|board| &board.budgets).copied().collect();
    let row = |method: &'static str| {
        let wins = |budget: &u64| {
            let cases = boards.iter().flat_map(|board| board.cases.iter().map(move |case| (board, case)));
            let is_won = |(board, case): &(&&Scoreboard<'_>, &&Case)| {
                board.winner(case, *budget, "answer_error") == Some(method)
            };
            cases.filter(is_won).count().to_string()
        };
        let cells = || boards.iter().flat_map(|board| &board.cells).filter(|cell| cell.method == method);
        let runs: usize = cells().map(|cell| cell.runs.0.len()).sum();
        let ends = boards.iter().flat_map(|board| board.within(method, board.last()));
        let ends: Vec<&Run<'_>> =
            ends.flat_map(|cell| &cell.runs.0).filter(|run| !run.value("answer_error").is_nan()).collect();
        let good = |limit: f64| ends.iter().filter(|run| run.value("answer_error") < limit).count();
        let ends = [
            share(good(GOOD), ends.len()),
            share(good(FAIR), ends.len()),
            share(cells().map(|cell| cell.runs.failures()).sum(), runs),
            short(median(ends.iter().map(|run| run.value("seconds")))),
        ];
        row_of(look::entrant(method).1, budgets.iter().map(wins).chain(ends))
    };
    let shares = [GOOD, FAIR].map(|limit| format!("Error below {limit}"));
    let wins = budgets.iter().map(|budget| format!("Least error at {budget}"));
    let targets: usize = boards.iter().map(|board| board.cases.len()).sum();
    Table {
        name: "methods".to_owned(),
        title: "Methods over all targets".to_owned(),
        rows: kinds(boards.iter().copied()).into_iter().map(row).collect(),
        head: row_of("Method", wins.chain(shares).chain(["Failures", "Seconds"].map(str::to_owned))),
        note: format!(
            "Least error: number of the {targets} targets on which the median error of the means by the method is the least of all within \
             a number of evaluations. Error: share of the runs within the largest budget of their board whose largest error of a mean is below \
             {GOOD} or {FAIR} standard deviations. Failures: runs within any budget that end with an error or without a finite answer. Seconds: medians of those \
             runs, on one processor."
        ),
    }
}

/// Targets won by each method on each board, within its largest budget.
pub(crate) fn winners(boards: &[(&str, &Scoreboard<'_>)]) -> Table {
    let winners = |(_, board): &(&str, &Scoreboard<'_>)| -> Vec<Option<&str>> {
        board.cases.iter().map(|case| board.winner(case, board.last(), "answer_error")).collect()
    };
    let won: Vec<_> = boards.iter().map(winners).collect();
    let row = |method: &'static str| {
        let count = |(won, (_, board)): (&Vec<Option<&str>>, &(&str, &Scoreboard<'_>))| {
            let count = won.iter().filter(|won| **won == Some(method)).count();
            if board.methods.contains(&method) { count.to_string() } else { "·".to_owned() }
        };
        row_of(look::entrant(method).1, won.iter().zip(boards).map(count))
    };
    let mut rows: Vec<Vec<String>> =
        kinds(boards.iter().map(|(_, board)| *board)).into_iter().map(row).collect();
    rows.push(row_of("Targets", won.iter().map(|won| won.iter().flatten().count().to_string())));
    let failures = |(_, board): &(&str, &Scoreboard<'_>)| {
        let runs: usize = board.cells.iter().map(|cell| cell.runs.0.len()).sum();
        share(board.cells.iter().map(|cell| cell.runs.failures()).sum(), runs)
    };
    rows.push(row_of("Failures", boards.iter().map(failures)));
    let name = |(name, board): &(&str, &Scoreboard<'_>)| format!("{name}, within {}", board.last());
    Table {
        name: "winners".to_owned(),
        title: "Targets won".to_owned(),
        head: row_of("Method", boards.iter().map(name)),
        rows,
        note: "Number of targets with known moments on which the median error of the means by the method is the least within the largest budget \
               that was run; a dot: the method is not run there. Failures: share of all runs of the board."
            .to_owned(),
    }
}

fn share(count: usize, of: usize) -> String {
    or_dash((of > 0).then(|| format!("{:.0} %", 100.0 * count as f64 / of as f64)))
}

/// A row for each method on each target within each budget, and for each stored method.
fn runs(board: &Scoreboard<'_>) -> Table {
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
        rows.extend(
            stored.iter().map(|(name, runs)| row(case, format!("{name} (stored)"), or_dash(None), runs)),
        );
    }
    Table::new(
        "runs",
        "Target by target",
        "Target | Method | Budget | Densities | Gradients | Error of means, sd | Median over coordinates | Error of log sds | \
         Wasserstein, sd | Error of log Z | k-hat | ESS per draw | R-hat | Seconds | Failures",
        rows,
        "Medians over replicates. Densities are evaluations without a gradient, gradients are with their density. Rows of other \
         packages were made elsewhere and are stored; their budgets and their seconds are their own.",
    )
}
