//! Figures of ranks and of metrics by data set.

use mcsa_plot::{Axis, Figure, Layer, Panel};

use super::board::{Board, RANKED, name, style};
use crate::catalog::FamilyConfig;
use crate::figures::FigureFile;
use crate::figures::curves::status;
use crate::interval::{Interval, bootstrap};
use crate::results::{Results, Series};

/// Level of the intervals, as in claims.
const LEVEL: f64 = 0.9;

/// Mean ranks (SL-DAIS, Fig. 2), and metrics by data set (Fig. 4).
pub(crate) fn figures(results: &Results) -> Vec<FigureFile> {
    let board = Board::of(results);
    if board.sets.is_empty() {
        return Vec::new();
    }
    vec![
        FigureFile::new("ranks", ranks(results, &board)),
        FigureFile::new("metrics", metrics(results, &board)),
    ]
}

/// The word SYNTHETIC with the number of sets that are stand-ins; empty if there is none.
pub(super) fn origin(board: &Board<'_>) -> String {
    let is_stand_in = |(label, _): &&(String, _)| label.starts_with("SYNTHETIC");
    match board.sets.iter().filter(is_stand_in).count() {
        0 => String::new(),
        count => format!(" SYNTHETIC: {count} of {} data sets are stand-ins.", board.sets.len()),
    }
}

/// Adds the interval of one row.
fn with(panel: Panel, series: &Series<'_>, row: usize, found: Interval) -> Panel {
    let layer = Layer::intervals([row as f64], [found.value], [found.low], [found.high]);
    panel.with(layer.horizontal().styled(style(series).solid()))
}

fn ranks(results: &Results, board: &Board<'_>) -> Figure {
    let methods: Vec<&Series<'_>> = board.scalable().collect();
    let panel = |(metric, title): (&str, &str)| {
        let names = Axis::categories("", methods.iter().map(|series| name(series)));
        let axis = Axis::linear("Mean rank").spanning(0.5, methods.len() as f64 + 0.5);
        let panel = Panel::new(axis, names).titled(title);
        let found = board.ranks(metric);
        let rows = methods.iter().zip(&found).enumerate();
        rows.fold(panel, |panel, (row, (series, (_, ranks)))| match bootstrap(ranks, LEVEL) {
            Some(found) => with(panel, series, row, found),
            None => panel,
        })
    };
    let mut figure = Figure::new(RANKED.map(panel).into());
    if !origin(board).is_empty() {
        figure = figure.titled("SYNTHETIC data sets");
    }
    (figure.columns, figure.shares_y) = (3, true);
    let (splits, sets) = (results.replicates(), board.sets.len());
    figure.shaped(0.75).captioned(format!(
        "Rank among the scalable methods, 1 the best, averaged over {sets} data sets: means over {splits} splits, with 90 % bootstrap \
         intervals. The number after a name is that of its steps.{}{}",
        origin(board),
        status(results)
    ))
}

/// Axis of differences, as wide as the intervals of all methods but NUTS-CS: a small coreset predicts so badly that the others would
/// become one line.
fn axis(title: &str, all: &[Series<'_>], found: &[Option<Interval>]) -> Axis {
    let others = all.iter().zip(found).filter(|(series, _)| series.method().kind() != "nuts-cs");
    let ends = others.filter_map(|(_, found)| found.map(|found| [found.low, found.high])).flatten();
    let ends = ends.filter(|end| end.is_finite());
    let (low, high) = ends.fold((0.0_f64, 0.0_f64), |(low, high), end| (low.min(end), high.max(end)));
    let (axis, margin) = (Axis::linear(format!("Δ {title}")), 0.05 * (high - low));
    if margin > 0.0 { axis.spanning(low - margin, high + margin) } else { axis }
}

/// A column for each data set, a row for each metric.
fn metrics(results: &Results, board: &Board<'_>) -> Figure {
    let names: Vec<String> = board.methods().iter().map(name).collect();
    let mut panels = Vec::new();
    for (metric, title) in
        [("elbo", "ELBO, nats"), ("lpd", "Test log density"), ("accuracy", "Test accuracy")]
    {
        for (label, all) in &board.sets {
            let base =
                all.iter().find(|series| matches!(series.shape(), Some(FamilyConfig::MeanField { .. })));
            let Some(base) = base else { continue };
            let gain = |series: &Series<'_>| bootstrap(&series.differences(base, metric), LEVEL);
            let found: Vec<Option<Interval>> = all.iter().map(gain).collect();
            let panel = Panel::new(axis(title, all, &found), Axis::categories("", names.clone()))
                .titled(label.replace('_', "\u{2011}"))
                .with(Layer::vertical_rule(0.0));
            let rows = all.iter().zip(&found).enumerate();
            panels.push(rows.fold(panel, |panel, (row, (series, found))| match found {
                Some(found) => with(panel, series, row, *found),
                None => panel,
            }));
        }
    }
    let mut figure = Figure::new(panels).wide(200.0).shaped(1.0);
    // The metrics of a single set are side by side.
    (figure.columns, figure.shares_y) = (if board.sets.len() == 1 { 3 } else { board.sets.len() }, true);
    figure.captioned(format!(
        "Differences to the mean field, paired over splits: means over up to {} splits with 90 % bootstrap intervals. The number after \
         a name is that of its steps. Chains have no bound. Axes span the intervals of all methods but NUTS-CS, which may lie beyond \
         them.{}{}",
        results.replicates(),
        origin(board),
        status(results)
    ))
}
