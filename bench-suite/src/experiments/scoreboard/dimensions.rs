//! Errors against the dimension, and the dimension at which each method stops.

use std::collections::BTreeSet;

use mcsa_plot::{Axis, Figure, Layer, Panel};

use super::board::{Board, Cell};
use super::tables::short;
use crate::figures::FigureFile;
use crate::figures::curves::status;
use crate::look;
use crate::results::Results;
use crate::tables::Sheet;

/// Targets of the ladder: kind and title.
const LADDERS: [(&str, &str); 4] = [
    ("wishart", "Gaussian"),
    ("student", "Student t, 5 degrees"),
    ("bananas", "Pairs of bananas"),
    ("synthetic-rows", "Logistic, SYNTHETIC rows"),
];
/// Median error of the means, in standard deviations, above which a method has stopped.
const STOPPED: f64 = 0.3;
/// Range of errors that is drawn.
const ERRORS: (f64, f64) = (0.01, 10.0);

/// Cells of a method on a kind of target at the largest budget, by dimension.
fn rungs<'b, 'r>(board: &'b Board<'r>, kind: &str, method: &str) -> Vec<(usize, &'b Cell<'r>)> {
    let last = board.budgets.last().copied().unwrap_or(0);
    let is_it = |cell: &&Cell<'r>| cell.budget == last && cell.method == method && cell.case.kind() == kind;
    let mut found: Vec<(usize, &Cell<'r>)> =
        board.cells.iter().filter(is_it).filter_map(|cell| Some((cell.case.dim()?, cell))).collect();
    found.sort_by_key(|(dim, _)| *dim);
    found
}

/// Errors against the dimension, then those of every scoreboard.
pub(crate) fn dimension_figures(results: &Results) -> Vec<FigureFile> {
    let board = Board::of(results);
    let dims: Vec<usize> =
        board.cases.iter().filter_map(|case| case.dim()).collect::<BTreeSet<_>>().into_iter().collect();
    let panel = |(kind, title): (&str, &str)| {
        let y = Axis::log("Error of the means, sd").spanning(0.9 * ERRORS.0, 1.1 * ERRORS.1);
        let x = Axis::categories("Dimension", dims.iter().map(usize::to_string));
        let mut panel = Panel::new(x, y).titled(title).with(Layer::horizontal_rule(STOPPED));
        for method in &board.methods {
            let rungs = rungs(&board, kind, method);
            let place =
                |(dim, _): &(usize, _)| dims.iter().position(|known| known == dim).unwrap_or(0) as f64;
            let x: Vec<f64> = rungs.iter().map(place).collect();
            let error = |(_, cell): &(usize, &Cell<'_>)| {
                let error = cell.median("answer_error");
                if error.is_nan() { error } else { error.clamp(ERRORS.0, ERRORS.1) }
            };
            let y: Vec<f64> = rungs.iter().map(error).collect();
            let (_, name, style) = look::entrant(method);
            panel = panel
                .with(Layer::line(x.clone(), y.clone()).styled(style))
                .with(Layer::points(x, y).styled(style).named(name));
        }
        panel
    };
    let caption = format!(
        "Medians over replicates of the largest error of a mean within {} evaluations, in standard deviations; at the upper edge: failures, and \
         larger errors. Broken line: {STOPPED} standard deviations.{}",
        board.budgets.last().copied().unwrap_or(0),
        status(results)
    );
    let figure = Figure::new(LADDERS.map(panel).into()).as_multiples(2).shaped(0.62);
    let mut plates = vec![FigureFile::new("ladder", figure.captioned(caption))];
    plates.extend(
        super::figures(results).into_iter().filter(|plate| ["overview", "profiles"].contains(&&*plate.name)),
    );
    plates
}

/// Largest dimension of each method on each kind of target, then the tables of every scoreboard.
pub(crate) fn dimension_tables(results: &Results) -> Vec<Sheet> {
    let mut sheets = vec![reach(&Board::of(results))];
    sheets.extend(super::tables(results));
    sheets
}

/// Largest dimension of each method on each kind of target.
pub(crate) fn reach(board: &Board<'_>) -> Sheet {
    let row = |method: &&'static str| {
        let mut row = vec![look::entrant(method).1.to_owned()];
        for (kind, _) in LADDERS {
            let rungs = rungs(board, kind, method);
            let works = |(_, cell): &&(usize, &Cell<'_>)| cell.median("answer_error") <= STOPPED;
            let reached = rungs.iter().take_while(works).last();
            let next = rungs.iter().find(|rung| !works(rung));
            row.push(match (reached, next) {
                _ if rungs.is_empty() => "·".to_owned(),
                (None, _) => format!("below {}", rungs[0].0),
                (Some((dim, _)), None) => format!("{dim} or more"),
                (Some((dim, _)), Some((_, cell))) => {
                    format!("{dim} (then {})", short(cell.median("answer_error")))
                }
            });
        }
        row
    };
    let head = std::iter::once("Method").chain(LADDERS.map(|(_, title)| title));
    let last = board.budgets.last().copied().unwrap_or(0);
    Sheet {
        name: "dimensions".to_owned(),
        title: format!("Largest dimension within {last} evaluations"),
        head: head.map(str::to_owned).collect(),
        rows: board.methods.iter().map(row).collect(),
        note: format!(
            "Largest dimension up to which the median of the largest error of a mean is at most {STOPPED} standard deviations, and the error \
             in the next dimension that was run."
        ),
    }
}
