//! Tests of the board: medians, winners, budgets, tables.

use super::board::{Board, median};
use super::{dimension_tables, methods, tables, winners};
use crate::experiment::PresetName;
use crate::experiments::REGISTRY;
use crate::results::Results;
use crate::task::Task;

fn results(id: &str, rows: impl Fn(&Task, u64, u64) -> Vec<(&'static str, f64)>) -> Results {
    let entry = REGISTRY.iter().find(|entry| entry.file.ends_with(&format!("{id}.toml"))).unwrap();
    Results::synthetic(entry.experiment().unwrap(), PresetName::Default, rows)
}

/// NUTS is the most accurate and exceeds its budget, a Student t is second, the first replicate of Pathfinder fails.
fn rows(task: &Task, replicate: u64, budget: u64) -> Vec<(&'static str, f64)> {
    let (error, cost) = match task.method().kind() {
        "nuts" => (0.01, 2.0),
        "moments-student-t" => (0.02, 1.0),
        _ => (0.5, 1.0),
    };
    if task.method().kind() == "pathfinder" && replicate == 0 {
        return vec![("failed", 1.0), ("answer_error", f64::INFINITY)];
    }
    vec![("failed", 0.0), ("answer_error", error), ("p_evaluations", cost * budget as f64), ("seconds", 1.0)]
}

#[test]
fn the_winner_keeps_to_its_budget() {
    let results = results("ours/scoreboard-zoo", rows);
    let board = Board::of(&results);
    let last = *board.budgets.last().unwrap();
    for case in &board.cases {
        assert_eq!(board.winner(case, last, "answer_error"), Some("moments-student-t"));
        assert!(!board.cell(case, "nuts", last).unwrap().is_within());
        assert_eq!(board.cell(case, "pathfinder", last).unwrap().failures(), 1);
    }
    let errors = &tables(&results)[0];
    assert!(errors.rows.iter().flatten().any(|cell| cell == "★ 0.020"), "{:?}", errors.rows);
    assert!(errors.rows.iter().flatten().any(|cell| cell == "(0.010)"), "{:?}", errors.rows);
    let all = methods(&[&board]);
    let row = all.rows.iter().find(|row| row[0] == "moments, Student t").unwrap();
    assert_eq!(row[board.budgets.len()], board.cases.len().to_string());
    let won = winners(&[("zoo", &board)]);
    let of = |name: &str| won.rows.iter().find(|row| row[0] == name).unwrap()[1].as_str();
    let wins = &*row[board.budgets.len()];
    assert_eq!((of("Targets"), of("moments, Student t"), of("NUTS")), (wins, wins, "0"));
}

#[test]
fn a_method_stops_where_its_error_grows() {
    let results = results("ours/scoreboard-ladder", |task, _, budget| {
        let dim = match task {
            Task::Benchmark(benchmark) => benchmark.case().and_then(crate::catalog::Case::dim).unwrap_or(0),
            _ => 0,
        };
        let error = if dim > 20 && task.method().kind() == "nuts" { 0.9 } else { 0.1 };
        vec![("failed", 0.0), ("answer_error", error), ("p_evaluations", budget as f64)]
    });
    let dimensions = &dimension_tables(&results)[0];
    let row = |name: &str| dimensions.rows.iter().find(|row| row[0] == name).unwrap();
    assert_eq!(row("NUTS")[1], "20 (then 0.90)");
    assert_eq!(row("Pathfinder")[1], "100 or more");
}

/// Interpolation between infinities would be NaN; a value that is not known is not left out.
#[test]
fn medians_know_infinities() {
    assert_eq!(median([f64::INFINITY, 1.0, f64::INFINITY]), f64::INFINITY);
    assert_eq!(median([f64::INFINITY, 1.0, 2.0]), 2.0);
    assert!(median([f64::NAN, 1.0, 2.0]).is_nan() && median([]).is_nan());
}
