//! Errors against cost over all targets and on each, performance profiles, and errors against the dimension.

use std::collections::BTreeSet;

use mcsa_plot::{Axis, Color, Figure, Layer, Panel, Style};

use super::{Cell, LADDERS, Run, Runs, STOPPED, Scoreboard, median};
use crate::catalog::Case;
use crate::figures::{FigureFile, or_empty, status};
use crate::look;
use crate::results::Results;

/// Range of errors that is drawn; larger ones and failures lie on its upper end.
const ERRORS: (f64, f64) = (0.005, 10.0);
/// Largest ratio to the least error of a performance profile.
const RATIO: f64 = 100.0;

/// Errors over all targets, performance profiles, errors against evaluations, errors against seconds.
pub(crate) fn figures(results: &Results) -> Vec<FigureFile> {
    let board = Scoreboard::of(results);
    let stored = match board.cases.iter().any(|case| !board.stored(case).is_empty()) {
        true => " Black: other packages, stored; their seconds are without compilation, from another run.",
        false => "",
    };
    let caption = |gradients: &str| {
        format!(
            "Medians over replicates of the largest error of a mean, in standard deviations; at the upper edge: failures, and larger errors.{stored}{gradients}{}",
            status(results)
        )
    };
    let gradients = caption(" A gradient with its density is one evaluation.");
    vec![
        overview(&board, results),
        profiles(&board, results),
        costs(&board, "Evaluations", |runs| runs.evaluations(), gradients),
        costs(&board, "Seconds", |runs| runs.median("seconds"), caption("")),
    ]
}

/// Errors against the dimension, then those of every scoreboard.
pub(crate) fn dimension_figures(results: &Results) -> Vec<FigureFile> {
    let board = Scoreboard::of(results);
    let dims: BTreeSet<usize> = board.cases.iter().filter_map(|case| case.dim()).collect();
    let lowest = 0.01;
    let panel = |(kind, title): (&str, &str)| {
        let x = Axis::categories("Dimension", dims.iter().map(usize::to_string));
        let mut panel = Panel::new(x, errors(lowest)).titled(title).with(Layer::horizontal_rule(STOPPED));
        for method in &board.methods {
            let rungs = board.rungs(kind, method);
            let place = |dim: usize| dims.iter().position(|known| *known == dim).unwrap_or(0) as f64;
            let point = |(dim, cell): &(usize, &Cell<'_>)| (place(*dim), error(&cell.runs, lowest));
            panel = curve(panel, method, rungs.iter().map(point));
        }
        panel
    };
    let caption = format!(
        "Medians over replicates of the largest error of a mean within {} evaluations, in standard deviations; at the upper edge: failures, and \
         larger errors. Broken line: {STOPPED} standard deviations.{}",
        board.last(),
        status(results)
    );
    let figure = Figure::new(LADDERS.map(panel).into()).as_multiples(2).shaped(0.62);
    let ladder = FigureFile::new("ladder", figure.captioned(caption));
    vec![ladder, overview(&board, results), profiles(&board, results)]
}

fn errors(lowest: f64) -> Axis {
    Axis::log("Error of the means, sd").spanning(0.9 * lowest, 1.1 * ERRORS.1)
}

fn clamped(error: f64, lowest: f64) -> f64 {
    if error.is_nan() { f64::NAN } else { error.clamp(lowest, ERRORS.1) }
}

fn error(runs: &Runs<'_>, lowest: f64) -> f64 {
    clamped(runs.median("answer_error"), lowest)
}

fn curve(panel: Panel, method: &str, points: impl Iterator<Item = (f64, f64)>) -> Panel {
    let (_, name, style) = look::of(method);
    let points: Vec<(f64, f64)> = points.collect();
    panel
        .with(Layer::line(points.clone()).styled(style))
        .with(Layer::points(points).styled(style).named(name))
}

/// Medians over all targets by method and budget: errors against evaluations and against seconds, and shares of failures.
fn overview(board: &Scoreboard<'_>, results: &Results) -> FigureFile {
    let mut panels = vec![
        Panel::new(Axis::log("Evaluations"), errors(ERRORS.0)),
        Panel::new(Axis::log("Seconds"), errors(ERRORS.0)),
        Panel::new(Axis::log("Budget"), Axis::linear("Share of failures").spanning(0.0, 1.0)),
    ];
    for method in &board.methods {
        let points = |budget: &u64| {
            let cells: Vec<&Cell<'_>> = board.within(method, *budget).collect();
            let errors = cells.iter().map(|cell| cell.runs.median("answer_error"));
            let error = clamped(median(errors.filter(|error| !error.is_nan())), ERRORS.0);
            let runs: usize = cells.iter().map(|cell| cell.runs.0.len()).sum();
            let failures: usize = cells.iter().map(|cell| cell.runs.failures()).sum();
            let points = [
                (median(cells.iter().map(|cell| cell.runs.evaluations())), error),
                (median(cells.iter().map(|cell| cell.runs.median("seconds"))), error),
                (*budget as f64, failures as f64 / runs as f64),
            ];
            (runs > 0).then_some(points)
        };
        let all: Vec<[(f64, f64); 3]> = board.budgets.iter().filter_map(points).collect();
        let with = |(place, panel)| curve(panel, method, all.iter().map(|points| points[place]));
        panels = panels.into_iter().enumerate().map(with).collect();
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
fn costs(board: &Scoreboard<'_>, label: &str, cost: fn(&Runs<'_>) -> f64, caption: String) -> FigureFile {
    let names: BTreeSet<String> = board.anchors.iter().map(|(anchor, _)| anchor.name()).collect();
    let panel = |case: &&Case| {
        let mut panel = Panel::new(Axis::log(label), errors(ERRORS.0)).titled(case.title());
        let point = |runs: &Runs<'_>| (cost(runs), error(runs, ERRORS.0));
        for method in &board.methods {
            let cells = board.curve(case, method);
            panel = curve(panel, method, cells.iter().map(|cell| point(&cell.runs)));
        }
        for (name, runs) in board.stored(case) {
            // A method of another package is black, with a marker of its own.
            let place = names.iter().position(|known| *known == name).unwrap_or_default();
            let style = Style { color: Color::BLACK, ..Style::series(place) }.sized(3.6);
            let layer = Layer::points([point(&runs)]).styled(style);
            panel = panel.with(layer.named(format!("{name} (stored)")));
        }
        panel
    };
    // Where no moments are known, there is no error.
    let is_known = |case: &&&Case| {
        let mut cells = board.cells.iter().filter(|cell| cell.case == **case);
        cells.any(|cell| !cell.runs.median("answer_error").is_nan())
    };
    let panels = board.cases.iter().filter(is_known).map(panel).collect();
    let panels = or_empty(panels, [Axis::log(label), Axis::log("Error of the means, sd")]);
    let figure = Figure::new(panels).as_multiples(3).shaped(0.75);
    FigureFile::new(label.to_lowercase(), figure.captioned(caption))
}

/// Share of runs whose error is at most a multiple of the least median error on their target, a panel for each budget.
fn profiles(board: &Scoreboard<'_>, results: &Results) -> FigureFile {
    let panel = |budget: &u64| {
        let x = Axis::log("Error, as a multiple of the least").spanning(1.0, RATIO);
        let y = Axis::linear("Share of runs").spanning(0.0, 1.0);
        let mut panel = Panel::new(x, y).titled(format!("{budget} evaluations"));
        for method in &board.methods {
            if !board.within(method, *budget).any(Cell::is_within) {
                continue;
            }
            let ratio = |case: &&Case| {
                let least = board.winner(case, *budget, "answer_error")?;
                let least = board.cell(case, least, *budget)?.runs.median("answer_error");
                let cell = board.cell(case, method, *budget)?;
                let of = |run: &Run<'_>| match cell.is_within() {
                    true => run.value("answer_error") / least,
                    false => f64::INFINITY,
                };
                Some(cell.runs.0.iter().map(of).collect::<Vec<f64>>())
            };
            let ratios: Vec<f64> = board.cases.iter().filter_map(ratio).flatten().collect();
            let point = |k: i32| {
                let ratio = RATIO.powf(f64::from(k) / 120.0);
                let count = ratios.iter().filter(|known| **known <= ratio).count();
                (ratio, count as f64 / ratios.len() as f64)
            };
            let points = (0..=120).filter(|_| !ratios.is_empty()).map(point);
            let (_, name, style) = look::of(method);
            panel = panel.with(Layer::line(points).styled(style).named(name));
        }
        panel
    };
    let empty = [Axis::log("Error, as a multiple of the least"), Axis::linear("Share of runs")];
    let panels = or_empty(board.budgets.iter().map(panel).collect(), empty);
    let caption = format!(
        "Performance profiles: share of the runs on all targets whose error is at most a multiple of the least median error on that target at \
         equal evaluations. Runs that fail or exceed their budget by more than a quarter never count. \
         Small budgets end in the warm-up of NUTS.{}",
        status(results)
    );
    let figure = Figure::new(panels).as_multiples(3).shaped(0.8);
    FigureFile::new("profiles", figure.captioned(caption))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::Anchor;

    #[test]
    fn stored_methods_have_markers_of_their_own() {
        let names: BTreeSet<String> = Anchor::stored().unwrap().iter().map(Anchor::name).collect();
        let marker = |place| format!("{:?}", Style::series(place).marker);
        let markers: BTreeSet<String> = (0..names.len()).map(marker).collect();
        assert_eq!(markers.len(), names.len(), "{names:?}");
    }
}
