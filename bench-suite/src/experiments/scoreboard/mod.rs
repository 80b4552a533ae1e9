//! Scoreboard: errors of methods of inference at equal numbers of evaluations, with tables of wins, of failures, of warnings, and of the
//! dimension at which each method stops.

mod figures;

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::Case;
use crate::claims::{Check, Checked, Finding};
use crate::look;
use crate::published::Anchor;
use crate::results::Results;
use crate::store::Row;
use crate::tables::{Table, distinct, in_groups, median, or_dash, rate};

pub(crate) use figures::{dimension_figures, figures};

/// Targets of the ladder of dimension: kind and title.
const LADDERS: [(&str, &str); 4] = [
    ("wishart", "Gaussian"),
    ("student", "Student t, 5 degrees"),
    ("bananas", "Pairs of bananas"),
    ("synthetic-rows", "Logistic, SYNTHETIC rows"),
];
/// Median error of the means, in standard deviations, above which a method has stopped.
const STOPPED: f64 = 0.3;
/// Excess over its budget up to which a run counts as one within it.
const EXCESS: f64 = 1.25;
/// Largest error of a mean in standard deviations, and of a log standard deviation, of an answer that is not wrong: log 1.3.
const LIMITS: (f64, f64) = (0.3, 0.262_364_264_467_491_06);
/// k-hat and R-hat below which draws count as usable.
const K_HAT: f64 = 0.7;
const R_HAT: f64 = 1.01;
/// A 1-Wasserstein distance, in standard deviations of the posterior, averaged over coordinates.
const DISTANCE: f64 = 0.05;

/// All runs of an experiment.
pub(crate) struct Scoreboard<'r> {
    pub(crate) cases: Vec<&'r Case>,
    /// Kinds of the methods, in the order of legends.
    pub(crate) methods: Vec<&'static str>,
    pub(crate) budgets: Vec<u64>,
    cells: Vec<Cell<'r>>,
    /// Runs of other packages, with their rows.
    anchors: Vec<(Anchor, Row)>,
}

/// Replicates of one method on one case within one budget.
pub(crate) struct Cell<'r> {
    case: &'r Case,
    method: &'static str,
    budget: u64,
    pub(super) runs: Runs<'r>,
}

pub(crate) struct Runs<'r>(Vec<Run<'r>>);

#[derive(Clone, Copy)]
struct Run<'r> {
    replicate: u64,
    row: &'r Row,
}

impl Run<'_> {
    /// A metric; infinite for an error of a run that has failed.
    fn value(&self, metric: &str) -> f64 {
        let absent = if self.has_failed() { f64::INFINITY } else { f64::NAN };
        self.row.values.get(metric).copied().unwrap_or(absent)
    }

    fn has_failed(&self) -> bool {
        self.row.values.get("failed") != Some(&0.0)
    }

    /// True if the answer is wrong; every answer is if the target has no moments.
    fn is_wrong(&self) -> bool {
        !(self.value("answer_error") <= LIMITS.0 && self.value("spread_error") <= LIMITS.1)
    }

    /// True if the diagnostic of the method is that of usable draws.
    fn looks_good(&self) -> bool {
        let verdict = self.value("yes");
        !self.has_failed()
            && match verdict.is_nan() {
                false => verdict == 1.0,
                true => self.value("k_hat") < K_HAT || self.value("r_hat") < R_HAT,
            }
    }

    fn is_wrong_but_looks_good(&self) -> bool {
        self.is_wrong() && self.looks_good()
    }
}

/// Evaluations of a target with or without a gradient.
pub(super) fn evaluations(row: &Row) -> f64 {
    ["p_evaluations", "p_gradients"].iter().filter_map(|name| row.values.get(*name)).sum()
}

impl Runs<'_> {
    fn median(&self, metric: &str) -> f64 {
        median(self.0.iter().map(|run| run.value(metric)))
    }

    fn evaluations(&self) -> f64 {
        median(self.0.iter().map(|run| evaluations(run.row)))
    }

    pub(super) fn failures(&self) -> usize {
        self.0.iter().filter(|run| run.has_failed()).count()
    }
}

impl Cell<'_> {
    pub(super) fn is_within(&self) -> bool {
        self.runs.evaluations() <= EXCESS * self.budget as f64
    }
}

impl<'r> Scoreboard<'r> {
    pub(crate) fn of(results: &'r Results) -> Self {
        let all = || results.outcomes.iter().filter_map(|one| Some((one, one.job.task.target().case()?)));
        let runs = all().flat_map(|(outcome, case)| {
            let (method, replicate) = (outcome.job.task.method().kind(), outcome.job.replicate);
            outcome.rows.iter().map(move |row| ((row.step, method, case), Run { replicate, row }))
        });
        let cells = in_groups(runs).into_iter();
        let cells: Vec<Cell<'r>> = cells
            .map(|((budget, method, case), runs)| Cell { case, method, budget, runs: Runs(runs) })
            .collect();
        let mut methods = distinct(all().map(|(outcome, _)| outcome.job.task.method().kind()));
        methods.sort_by_key(|kind| look::of(kind).0);
        let stored = Anchor::stored().unwrap_or_default();
        Self {
            cases: distinct(all().map(|(_, case)| case)),
            methods,
            budgets: cells.iter().map(|cell| cell.budget).collect::<BTreeSet<_>>().into_iter().collect(),
            cells,
            anchors: stored.into_iter().map(|anchor| (anchor.clone(), anchor.row())).collect(),
        }
    }

    fn last(&self) -> u64 {
        self.budgets.last().copied().unwrap_or(0)
    }

    fn within(&self, method: &str, budget: u64) -> impl Iterator<Item = &Cell<'r>> {
        self.cells.iter().filter(move |cell| cell.budget == budget && cell.method == method)
    }

    pub(crate) fn cell(&self, case: &Case, method: &str, budget: u64) -> Option<&Cell<'r>> {
        self.within(method, budget).find(|cell| cell.case == case)
    }

    /// Method with the least median of a metric on a case, of those within the budget.
    pub(crate) fn winner(&self, case: &Case, budget: u64, metric: &str) -> Option<&'static str> {
        let here = self.cells.iter().filter(|cell| cell.budget == budget && cell.case == case);
        let ranked = here.filter(|cell| cell.is_within()).map(|cell| (cell.runs.median(metric), cell.method));
        let finite = ranked.filter(|(error, _)| error.is_finite());
        finite.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, method)| method)
    }

    fn stored(&self, case: &Case) -> Vec<(String, Runs<'_>)> {
        let title = case.title();
        let here = self.anchors.iter().filter(|(anchor, _)| anchor.case == title);
        let runs = here.map(|(anchor, row)| (anchor.name(), Run { replicate: 0, row }));
        in_groups(runs).into_iter().map(|(name, runs)| (name, Runs(runs))).collect()
    }

    fn curve(&self, case: &Case, method: &str) -> Vec<&Cell<'r>> {
        self.budgets.iter().filter_map(|budget| self.cell(case, method, *budget)).collect()
    }

    /// Cells of a method on a kind of target at the largest budget, by dimension.
    fn rungs(&self, kind: &str, method: &str) -> Vec<(usize, &Cell<'r>)> {
        let here = self.within(method, self.last()).filter(|cell| cell.case.kind() == kind);
        let mut found: Vec<(usize, &Cell<'r>)> =
            here.filter_map(|cell| Some((cell.case.dim()?, cell))).collect();
        found.sort_by_key(|(dim, _)| *dim);
        found
    }

    /// Runs of a method at the largest budget, on planted failures alone or on good targets alone.
    fn at_last(&self, method: &str, planted: bool) -> Vec<(&'r Case, Run<'r>)> {
        let cells = self.within(method, self.last()).filter(|cell| cell.case.is_planted() == planted);
        cells.flat_map(|cell| cell.runs.0.iter().map(|run| (cell.case, *run))).collect()
    }
}

pub(super) const CHECKS: [(&str, Check); 4] = [
    ("sooner_than_pathfinder", |results| sooner(results, "moments-student-t", "pathfinder")),
    ("sooner_than_nuts", |results| sooner(results, "moments-student-t", "nuts")),
    ("verdict_against_r_hat", |results| passes_fewer(results, "nuts")),
    ("verdict_against_k_hat", |results| passes_fewer(results, "moments-student-t")),
];

/// The claim that one method is within the distance at a smaller budget than another more often than at a larger one, paired by target
/// and replicate.
fn sooner(results: &Results, ours: &str, theirs: &str) -> Checked {
    let board = Scoreboard::of(results);
    let (mut signs, mut both) = (Vec::new(), [0; 3]);
    for case in &board.cases {
        let curves = [ours, theirs].map(|method| board.curve(case, method));
        let Some(first) = curves[0].first() else { continue };
        for run in first.runs.0.iter().filter(|_| !curves[1].is_empty()) {
            // The least budget at which the replicate is within the distance.
            let is_near =
                |other: &Run<'_>| other.replicate == run.replicate && other.value("wasserstein") <= DISTANCE;
            let reached = |cells: &Vec<&Cell<'_>>| {
                let near = cells.iter().find(|cell| cell.runs.0.iter().any(is_near));
                near.map_or(u64::MAX, |cell| cell.budget)
            };
            let [a, b] = curves.each_ref().map(reached);
            both[usize::from(a >= b) + usize::from(a > b)] += 1;
            signs.push(f64::from(i8::from(b > a) - i8::from(a > b)));
        }
    }
    let what = format!(
        "share of runs in which {} is within {DISTANCE} standard deviations at a smaller budget than {}, less that of a larger one: {} sooner, {} \
         at the same budget or never, {} later",
        look::of(ours).1,
        look::of(theirs).1,
        both[0],
        both[1],
        both[2],
    );
    Ok(Finding::mean_above(&signs, 0.0, what))
}

/// The claim that `fit` lets fewer wrong answers pass than another method, paired by target and replicate.
fn passes_fewer(results: &Results, other: &str) -> Checked {
    let board = Scoreboard::of(results);
    let passes = |method: &str| -> BTreeMap<(String, u64), f64> {
        let of = |(case, run): (&Case, Run<'_>)| {
            ((case.title(), run.replicate), f64::from(u8::from(run.is_wrong_but_looks_good())))
        };
        board.at_last(method, true).into_iter().map(of).collect()
    };
    let (ours, theirs) = (passes("fit"), passes(other));
    let differences: Vec<f64> = ours.iter().filter_map(|(key, ours)| Some(theirs.get(key)? - ours)).collect();
    let what = format!(
        "rate of wrong answers that {} passes less that of mcsa::fit, of {} pairs of runs",
        look::of(other).1,
        differences.len()
    );
    Ok(Finding::mean_above(&differences, 0.0, what))
}

const WINNER: &str = "★";
/// Errors of the means, in standard deviations, below which an answer is good, and fair.
const GOOD: f64 = 0.1;
const FAIR: f64 = 0.3;

/// Errors by case and method at the largest budget; wins, failures and times by method.
pub(crate) fn tables(results: &Results) -> Vec<Table> {
    let board = Scoreboard::of(results);
    vec![errors(&board, "answer_error"), methods(&[&board]), runs(&board)]
}

/// A table, then those of every scoreboard.
pub(crate) fn with(first: fn(&Scoreboard<'_>) -> Table, results: &Results) -> Vec<Table> {
    std::iter::once(first(&Scoreboard::of(results))).chain(tables(results)).collect()
}

pub(crate) fn evidence(board: &Scoreboard<'_>) -> Table {
    Table {
        name: "evidence".to_owned(),
        title: "Error of log Z from 2000 weighted draws".to_owned(),
        note: "Medians over replicates, in nats. ★: the least error within the budget.".to_owned(),
        ..errors(board, "evidence_error")
    }
}

pub(crate) fn warnings(board: &Scoreboard<'_>) -> Table {
    let row = |method: &&'static str| {
        let share = |all: &[(&Case, Run<'_>)], is_it: fn(&Run<'_>) -> bool| {
            rate(all.iter().filter(|(_, run)| is_it(run)).count(), all.len(), 0)
        };
        let (planted, good) = (board.at_last(method, true), board.at_last(method, false));
        vec![
            look::of(method).1.to_owned(),
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

fn row_of(name: &str, cells: impl IntoIterator<Item = String>) -> Vec<String> {
    std::iter::once(name.to_owned()).chain(cells).collect()
}

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
    let row = |method: &&'static str| row_of(look::of(method).1, LADDERS.map(|(kind, _)| cell(kind, method)));
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
        head: row_of("Target", board.methods.iter().map(|kind| look::of(kind).1.to_owned())),
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
    kinds.sort_by_key(|kind| look::of(kind).0);
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
        row_of(look::of(method).1, budgets.iter().map(wins).chain(ends))
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
        row_of(look::of(method).1, won.iter().zip(boards).map(count))
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
        cells.sort_by_key(|cell| (look::of(cell.method).0, cell.budget));
        let name = |cell: &Cell<'_>| look::of(cell.method).1.to_owned();
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
