//! Scoreboard: errors of methods of inference at equal numbers of evaluations.

mod figures;
mod tables;

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::Case;
use crate::claims::{Check, Checked, Finding};
use crate::look;
use crate::published::Anchor;
use crate::results::Results;
use crate::store::Row;
use crate::tables::{distinct, in_groups, median};

pub(crate) use figures::{dimension_figures, figures};
pub(crate) use tables::{dimension_tables, evidence_tables, methods, reach, tables, warning_tables, winners};

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
    /// The cases, in the order of the file.
    pub(crate) cases: Vec<&'r Case>,
    /// Kinds of the methods, in the order of legends.
    pub(crate) methods: Vec<&'static str>,
    /// The budgets, increasing.
    pub(crate) budgets: Vec<u64>,
    /// Runs by case, method and budget.
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

/// Runs of one method on one case.
pub(crate) struct Runs<'r>(Vec<Run<'r>>);

/// One run.
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
    /// Median of a metric over replicates.
    fn median(&self, metric: &str) -> f64 {
        median(self.0.iter().map(|run| run.value(metric)))
    }

    /// Median number of evaluations.
    fn evaluations(&self) -> f64 {
        median(self.0.iter().map(|run| evaluations(run.row)))
    }

    pub(super) fn failures(&self) -> usize {
        self.0.iter().filter(|run| run.has_failed()).count()
    }
}

impl Cell<'_> {
    /// True if the runs kept to their budget.
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
        methods.sort_by_key(|kind| look::entrant(kind).0);
        let stored = Anchor::stored().unwrap_or_default();
        Self {
            cases: distinct(all().map(|(_, case)| case)),
            methods,
            budgets: cells.iter().map(|cell| cell.budget).collect::<BTreeSet<_>>().into_iter().collect(),
            cells,
            anchors: stored.into_iter().map(|anchor| (anchor.clone(), anchor.row())).collect(),
        }
    }

    /// The largest budget.
    fn last(&self) -> u64 {
        self.budgets.last().copied().unwrap_or(0)
    }

    /// Cells of a method within a budget.
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

    /// Stored runs on a case, by package and method.
    fn stored(&self, case: &Case) -> Vec<(String, Runs<'_>)> {
        let title = case.title();
        let here = self.anchors.iter().filter(|(anchor, _)| anchor.case == title);
        let runs = here.map(|(anchor, row)| (anchor.name(), Run { replicate: 0, row }));
        in_groups(runs).into_iter().map(|(name, runs)| (name, Runs(runs))).collect()
    }

    /// The cells of a method on a case, by budget.
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

/// Checks of the claims on evaluations to a distance.
pub(super) const REACHED: [(&str, Check); 2] = [
    ("sooner_than_pathfinder", |results| sooner(results, "moments-student-t", "pathfinder")),
    ("sooner_than_nuts", |results| sooner(results, "moments-student-t", "nuts")),
];
/// Checks of the claims on warnings.
pub(super) const WARNINGS: [(&str, Check); 2] = [
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
        look::entrant(ours).1,
        look::entrant(theirs).1,
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
        look::entrant(other).1,
        differences.len()
    );
    Ok(Finding::mean_above(&differences, 0.0, what))
}
