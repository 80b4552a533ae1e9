//! Evaluations to a given 1-Wasserstein distance.

use super::board::{Board, Cell};
use crate::claims::{Check, Finding, Verdict};
use crate::interval::bootstrap;
use crate::look;
use crate::results::Results;

/// The distance, in standard deviations of the posterior, averaged over coordinates.
const DISTANCE: f64 = 0.05;
/// Level of the interval.
const LEVEL: f64 = 0.9;

/// Checks of the claims.
pub(crate) const REACHED: [(&str, Check); 2] = [
    ("sooner_than_pathfinder", |results| sooner(results, "moments-student-t", "pathfinder")),
    ("sooner_than_nuts", |results| sooner(results, "moments-student-t", "nuts")),
];

/// Least budget at which a replicate is within the distance; `None` if it never is.
fn budget(cells: &[&Cell<'_>], replicate: u64) -> Option<u64> {
    let is_near = |cell: &&&Cell<'_>| {
        let mut runs = cell.runs.iter().filter(|run| run.replicate == replicate);
        runs.any(|run| run.value("wasserstein") <= DISTANCE)
    };
    cells.iter().find(is_near).map(|cell| cell.budget)
}

/// The claim that one method is within the distance at a smaller budget than another more often than at a larger one, paired by target
/// and replicate.
fn sooner(results: &Results, ours: &str, theirs: &str) -> Finding {
    let board = Board::of(results);
    let (mut signs, mut both) = (Vec::new(), [0; 3]);
    for case in &board.cases {
        let curves = [ours, theirs].map(|method| board.curve(case, method));
        let Some(first) = curves[0].first() else { continue };
        for run in first.runs.iter().filter(|_| !curves[1].is_empty()) {
            let [a, b] = [0, 1].map(|k| budget(&curves[k], run.replicate).unwrap_or(u64::MAX));
            both[usize::from(a >= b) + usize::from(a > b)] += 1;
            signs.push(f64::from(i8::from(b > a) - i8::from(a > b)));
        }
    }
    let Some(interval) = bootstrap(&signs, LEVEL) else { return Finding::too_little("no runs") };
    let verdict = match () {
        () if interval.low > 0.0 => Verdict::Agree,
        () if interval.high < 0.0 => Verdict::Disagree,
        () => Verdict::TooLittle,
    };
    let reason = format!(
        "share of runs in which {} is within {DISTANCE} standard deviations at a smaller budget than {}, less that of a larger one: {} sooner, {} \
         at the same budget or never, {} later; 90 % interval {:.2} to {:.2} (claimed: > 0)",
        look::entrant(ours).1,
        look::entrant(theirs).1,
        both[0],
        both[1],
        both[2],
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

    /// Running moments are near from the budget `ours` on, all others from `theirs` on.
    fn found(ours: u64, theirs: u64) -> Vec<crate::claims::Verdict> {
        checks("ours/scoreboard-zoo", PresetName::Default, |task, _, budget| {
            let from = if task.method().kind() == "moments-student-t" { ours } else { theirs };
            vec![("wasserstein", if budget >= from { 0.01 } else { 1.0 }), ("failed", 0.0)]
        })
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        assert_eq!(found(1_000, 3_000), [Agree; 2]);
        assert_eq!(found(10_000, 3_000), [Disagree; 2]);
        assert_eq!(found(u64::MAX, 10_000), [Disagree; 2]);
        assert_eq!(found(3_000, 3_000), [TooLittle; 2]);
    }
}
