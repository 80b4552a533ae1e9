//! Errors against cost over all targets and on each, and performance profiles.

use mcsa_plot::{Axis, Color, Figure, Layer, Marker, Panel, Style};

use super::board::{Board, Cell, Run, median};
use crate::catalog::Case;
use crate::figures::FigureFile;
use crate::figures::curves::status;
use crate::look;
use crate::results::Results;

/// Range of errors that is drawn; larger ones and failures lie on its upper end.
const ERRORS: (f64, f64) = (0.005, 10.0);
/// Largest ratio to the least error of a performance profile.
const RATIO: f64 = 100.0;

/// Errors over all targets, performance profiles, errors against evaluations, errors against seconds.
pub(crate) fn figures(results: &Results) -> Vec<FigureFile> {
    let board = Board::of(results);
    let stored = match board.cases.iter().any(|case| !board.stored(&case.title()).is_empty()) {
        true => " Black: other packages, stored; their seconds are without compilation, from another run.",
        false => "",
    };
    let words = format!(
        "Medians over replicates of the largest error of a mean, in standard deviations; at the upper edge: failures, and larger errors.{stored}"
    );
    let evaluations = |cell: &Cell<'_>| cell.evaluations();
    let seconds = |cell: &Cell<'_>| cell.median("seconds");
    vec![
        overview(&board, results),
        profiles(&board, results),
        costs(
            &board,
            "evaluations",
            "Evaluations",
            &evaluations,
            format!("{words} A gradient with its density is one evaluation.{}", status(results)),
        ),
        costs(&board, "seconds", "Seconds", &seconds, format!("{words}{}", status(results))),
    ]
}

/// Markers of the methods of other packages.
const MARKERS: [Marker; 7] = [
    Marker::Ring,
    Marker::Triangle,
    Marker::Plus,
    Marker::Wedge,
    Marker::Diamond,
    Marker::Square,
    Marker::Circle,
];

/// Style of a method of another package: black, with a marker of its own.
fn anchor(place: usize) -> Style {
    Style { color: Color(0, 0, 0), marker: MARKERS[place % MARKERS.len()], ..Style::series(0) }.sized(3.6)
}

fn clamped(error: f64) -> f64 {
    if error.is_nan() { f64::NAN } else { error.clamp(ERRORS.0, ERRORS.1) }
}

/// Title of a panel: a data set of `posteriordb` without its folder, which breaks between model and data.
fn title(case: &Case) -> String {
    let title = case.title();
    match title.strip_prefix("posteriordb/").and_then(|name| name.split_once('-')) {
        Some((data, model)) => format!("{model} ({data})"),
        None => title,
    }
}

/// Medians over all targets by method and budget: errors against evaluations and against seconds, and shares of failures.
pub(super) fn overview(board: &Board<'_>, results: &Results) -> FigureFile {
    let errors = || Axis::log("Error of the means, sd").spanning(0.9 * ERRORS.0, 1.1 * ERRORS.1);
    let mut panels = vec![
        Panel::new(Axis::log("Evaluations"), errors()),
        Panel::new(Axis::log("Seconds"), errors()),
        Panel::new(Axis::log("Budget"), Axis::linear("Share of failures").spanning(0.0, 1.0)),
    ];
    for method in &board.methods {
        let mut curves = [(); 3].map(|()| (Vec::new(), Vec::new()));
        for budget in &board.budgets {
            let is_it = |cell: &&Cell<'_>| cell.method == *method && cell.budget == *budget;
            let cells: Vec<&Cell<'_>> = board.cells.iter().filter(is_it).collect();
            let errors = cells.iter().map(|cell| cell.median("answer_error"));
            let error = clamped(median(errors.filter(|error| !error.is_nan())));
            let runs: usize = cells.iter().map(|cell| cell.runs.len()).sum();
            let failures: usize = cells.iter().map(|cell| cell.failures()).sum();
            let points = [
                (median(cells.iter().map(|cell| cell.evaluations())), error),
                (median(cells.iter().map(|cell| cell.median("seconds"))), error),
                (*budget as f64, failures as f64 / runs as f64),
            ];
            for ((x, y), point) in curves.iter_mut().zip(points).filter(|_| runs > 0) {
                x.push(point.0);
                y.push(point.1);
            }
        }
        let (_, name, style) = look::entrant(method);
        let drawn = panels.into_iter().zip(curves).map(|(panel, (x, y))| {
            panel
                .with(Layer::line(x.clone(), y.clone()).styled(style))
                .with(Layer::points(x, y).styled(style).named(name))
        });
        panels = drawn.collect();
    }
    let caption = format!(
        "Medians over all targets with known moments of the largest error of a mean, in standard deviations, and the share of runs that fail. A \
         gradient with its density is one evaluation. At the upper edge: failures on half of the targets, and larger errors.{}",
        status(results)
    );
    let figure = Figure::new(panels).as_multiples(3).shaped(0.8).captioned(caption);
    FigureFile::new("overview", Figure { shares_x: false, shares_y: false, ..figure })
}

/// A panel for each case, a line for each method, a point for each budget.
fn costs(
    board: &Board<'_>,
    name: &str,
    label: &str,
    cost: &dyn Fn(&Cell<'_>) -> f64,
    caption: String,
) -> FigureFile {
    let panel = |case: &&Case| {
        let y = Axis::log("Error of the means, sd").spanning(0.9 * ERRORS.0, 1.1 * ERRORS.1);
        let mut panel = Panel::new(Axis::log(label), y).titled(title(case));
        for method in &board.methods {
            let cells = board.curve(case, method);
            let (_, name, style) = look::entrant(method);
            let x: Vec<f64> = cells.iter().map(|cell| cost(cell)).collect();
            let y: Vec<f64> = cells.iter().map(|cell| clamped(cell.median("answer_error"))).collect();
            panel = panel
                .with(Layer::line(x.clone(), y.clone()).styled(style))
                .with(Layer::points(x, y).styled(style).named(name));
        }
        for stored in board.stored(&case.title()) {
            let x = match label {
                "Seconds" => stored.median("seconds"),
                _ => stored.evaluations(),
            };
            let mark = Layer::points([x], [clamped(stored.median("answer_error"))]);
            panel = panel.with(
                mark.styled(anchor(board.package(&stored.name))).named(format!("{} (stored)", stored.name)),
            );
        }
        panel
    };
    // Where no moments are known, there is no error.
    let is_known = |case: &&&Case| {
        let mut cells = board.cells.iter().filter(|cell| cell.case == **case);
        cells.any(|cell| !cell.median("answer_error").is_nan())
    };
    let mut panels: Vec<Panel> = board.cases.iter().filter(is_known).map(panel).collect();
    if panels.is_empty() {
        panels.push(Panel::new(Axis::log(label), Axis::log("Error of the means, sd")));
    }
    let figure = Figure::new(panels).as_multiples(3).shaped(0.75);
    FigureFile::new(name, figure.captioned(caption))
}

/// Share of runs whose error is at most a multiple of the least median error on their target, a panel for each budget.
fn profiles(board: &Board<'_>, results: &Results) -> FigureFile {
    let panel = |budget: &u64| {
        let x = Axis::log("Error, as a multiple of the least").spanning(1.0, RATIO);
        let y = Axis::linear("Share of runs").spanning(0.0, 1.0);
        let mut panel = Panel::new(x, y).titled(format!("{budget} evaluations"));
        let competes = |method: &&&str| {
            let mut cells =
                board.cells.iter().filter(|cell| cell.method == **method && cell.budget == *budget);
            cells.any(Cell::is_within)
        };
        for method in board.methods.iter().filter(competes) {
            let ratio = |case: &&Case| {
                let least = board.winner(case, *budget, "answer_error")?;
                let least = board.cell(case, least, *budget)?.median("answer_error");
                let cell = board.cell(case, method, *budget)?;
                let of = |run: &Run<'_>| match cell.is_within() {
                    true => run.value("answer_error") / least,
                    false => f64::INFINITY,
                };
                Some(cell.runs.iter().map(of).collect::<Vec<f64>>())
            };
            let mut ratios: Vec<f64> = board.cases.iter().filter_map(ratio).flatten().collect();
            ratios.sort_by(f64::total_cmp);
            let (mut x, mut y) = (Vec::new(), Vec::new());
            let at = |ratio: f64| {
                ratios.iter().filter(|known| **known <= ratio).count() as f64 / ratios.len() as f64
            };
            if !ratios.is_empty() {
                for k in 0..=120 {
                    let ratio = RATIO.powf(f64::from(k) / 120.0);
                    x.push(ratio);
                    y.push(at(ratio));
                }
            }
            let (_, name, style) = look::entrant(method);
            panel = panel.with(Layer::line(x, y).styled(style).named(name));
        }
        panel
    };
    let mut panels: Vec<Panel> = board.budgets.iter().map(panel).collect();
    if panels.is_empty() {
        panels
            .push(Panel::new(Axis::log("Error, as a multiple of the least"), Axis::linear("Share of runs")));
    }
    let caption = format!(
        "Performance profiles: share of the runs on all targets whose error is at most a multiple of the least median error on that target at \
         equal evaluations. Runs that fail or exceed their budget by more than a quarter never count.{}",
        status(results)
    );
    let figure = Figure::new(panels).as_multiples(3).shaped(0.8);
    FigureFile::new("profiles", figure.captioned(caption))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::anchors::Anchor;

    #[test]
    fn stored_methods_have_markers_of_their_own() {
        let names: BTreeSet<String> = Anchor::stored().unwrap().iter().map(Anchor::name).collect();
        let markers: BTreeSet<String> = MARKERS.iter().map(|marker| format!("{marker:?}")).collect();
        assert!(names.len() <= MARKERS.len() && markers.len() == MARKERS.len(), "{names:?}");
    }
}
