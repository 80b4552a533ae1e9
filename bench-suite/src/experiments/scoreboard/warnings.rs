//! Wrong answers, and what their methods told.

use std::collections::BTreeMap;

use super::board::{Board, Cell, Run};
use crate::catalog::Case;
use crate::claims::{Check, Finding, Verdict};
use crate::interval::{binomial, bootstrap};
use crate::look;
use crate::results::Results;
use crate::tables::Sheet;

/// Largest error of a mean in standard deviations, and of a log standard deviation, of an answer that is not wrong: log 1.3.
const LIMITS: (f64, f64) = (0.3, 0.262_364_264_467_491_06);
/// k-hat and R-hat below which a user is told that the draws can be used.
const K_HAT: f64 = 0.7;
const R_HAT: f64 = 1.01;
/// Level of intervals.
const LEVEL: f64 = 0.9;

/// True if the answer is wrong; every answer is if the target has no moments.
fn is_wrong(run: &Run<'_>) -> bool {
    !(run.value("answer_error") <= LIMITS.0 && run.value("spread_error") <= LIMITS.1)
}

/// True if the user is told that the draws can be used.
fn is_told_good(run: &Run<'_>) -> bool {
    let verdict = run.value("yes");
    !run.has_failed()
        && match verdict.is_nan() {
            false => verdict == 1.0,
            true => run.value("k_hat") < K_HAT || run.value("r_hat") < R_HAT,
        }
}

/// Runs at the largest budget that count, by method; all, on planted failures alone, or on good targets alone.
fn runs<'b, 'r>(board: &'b Board<'r>, method: &str, planted: bool) -> Vec<(&'b Case, Run<'r>)> {
    let last = board.budgets.last().copied().unwrap_or(0);
    let is_it =
        |cell: &&Cell<'r>| cell.budget == last && cell.method == method && cell.case.is_planted() == planted;
    board.cells.iter().filter(is_it).flat_map(|cell| cell.runs.iter().map(|run| (cell.case, *run))).collect()
}

/// Wrong answers and warnings by method, then the tables of every scoreboard.
pub(crate) fn warning_tables(results: &Results) -> Vec<Sheet> {
    let board = Board::of(results);
    let rate = |count: usize, of: usize| match of {
        0 => "–".to_owned(),
        of => {
            let [low, high] = binomial(count, of, LEVEL).map(|end| 100.0 * end);
            format!("{count} of {of}: {:.0} % [{low:.0}, {high:.0}]", 100.0 * count as f64 / of as f64)
        }
    };
    let row = |method: &&'static str| {
        let (planted, good) = (runs(&board, method, true), runs(&board, method, false));
        let count = |all: &[(&Case, Run<'_>)], is_it: &dyn Fn(&Run<'_>) -> bool| {
            all.iter().filter(|(_, run)| is_it(run)).count()
        };
        let passed = |run: &Run<'_>| is_wrong(run) && is_told_good(run);
        let refused = |run: &Run<'_>| !is_wrong(run) && !is_told_good(run);
        vec![
            look::entrant(method).1.to_owned(),
            match *method {
                "fit" => "verdict".to_owned(),
                "nuts" => format!("R-hat < {R_HAT}"),
                _ => format!("k-hat < {K_HAT}"),
            },
            rate(count(&planted, &is_wrong), planted.len()),
            rate(count(&planted, &passed), planted.len()),
            rate(count(&good, &passed), good.len()),
            rate(count(&good, &refused), good.len()),
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
    let mut sheets = vec![Sheet {
        name: "warnings".to_owned(),
        title: "Wrong answers, and what users are told".to_owned(),
        head: head.map(str::to_owned).into(),
        rows: board.methods.iter().map(row).collect(),
        note: "Runs at the largest budget, with exact 90 % intervals. An answer is wrong if a mean is off by more than 0.3 standard deviations \
               or a standard deviation by more than a factor 1.3, and always where there is no integral or no variance."
            .to_owned(),
    }];
    sheets.extend(super::tables(results));
    sheets
}

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 2] = [
    ("verdict_against_r_hat", |results| passes_fewer(results, "nuts")),
    ("verdict_against_k_hat", |results| passes_fewer(results, "moments-student-t")),
];

/// The claim that `fit` lets fewer wrong answers pass than another method, paired by target and replicate.
fn passes_fewer(results: &Results, other: &str) -> Finding {
    let board = Board::of(results);
    let passes = |method: &str| -> BTreeMap<(String, u64), f64> {
        let of = |(case, run): (&Case, Run<'_>)| {
            let passes = is_wrong(&run) && is_told_good(&run);
            ((case.title(), run.replicate), if passes { 1.0 } else { 0.0 })
        };
        runs(&board, method, true).into_iter().map(of).collect()
    };
    let (ours, theirs) = (passes("fit"), passes(other));
    let differences: Vec<f64> = ours.iter().filter_map(|(key, ours)| Some(theirs.get(key)? - ours)).collect();
    let Some(interval) = bootstrap(&differences, LEVEL) else { return Finding::too_little("no runs") };
    let verdict = match () {
        () if interval.low > 0.0 => Verdict::Agree,
        () if interval.high < 0.0 => Verdict::Disagree,
        () => Verdict::TooLittle,
    };
    let name = look::entrant(other).1;
    let reason = format!(
        "rate of wrong answers that {name} passes less that of mcsa::fit, of {} pairs of runs: 90 % interval {:.3} to {:.3} (claimed: > 0)",
        differences.len(),
        interval.low,
        interval.high
    );
    Finding { verdict, number: interval.value, threshold: 0.0, reason }
}

#[cfg(test)]
mod tests {
    use crate::claims::Verdict::{Agree, Disagree, TooLittle};
    use crate::claims::tests::checks;
    use crate::experiment::PresetName;

    /// Every answer is wrong; `fit` says `yes`, R-hat and k-hat are given.
    fn found(yes: f64, r_hat: f64, k_hat: f64) -> Vec<crate::claims::Verdict> {
        checks("ours/scoreboard-planted", PresetName::Default, |task, _, _| {
            let told = match task.method().kind() {
                "fit" => ("yes", yes),
                "nuts" => ("r_hat", r_hat),
                _ => ("k_hat", k_hat),
            };
            vec![("answer_error", 9.0), ("spread_error", 0.0), ("failed", 0.0), told]
        })
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        assert_eq!(found(0.0, 1.0, 0.1), [Agree; 2]);
        assert_eq!(found(1.0, 1.5, 0.9), [Disagree; 2]);
        assert_eq!(found(0.0, 1.5, 0.1), [TooLittle, Agree]);
    }

    /// A run that fails tells so, and a run without a verdict or a diagnostic tells nothing good.
    #[test]
    fn a_failure_is_no_false_yes() {
        let verdicts = checks("ours/scoreboard-planted", PresetName::Default, |task, _, _| {
            let failed = if task.method().kind() == "fit" { 1.0 } else { 0.0 };
            vec![("failed", failed), ("yes", 1.0), ("r_hat", 1.0), ("k_hat", 0.0)]
        });
        assert_eq!(verdicts, [Agree; 2]);
    }
}
