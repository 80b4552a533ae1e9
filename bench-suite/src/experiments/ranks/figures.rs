//! Figures of ranks and of metrics by data set.

use mcsa_plot::{Axis, Figure, Layer, Panel};

use super::board::{Board, RANKED, differences, name, style};
use crate::catalog::FamilyConfig;
use crate::figures::Plate;
use crate::figures::curves::status;
use crate::interval::bootstrap;
use crate::results::{Results, Series};

/// Level of the intervals, as in claims.
const LEVEL: f64 = 0.9;

/// Mean ranks (SL-DAIS, Fig. 2), and metrics by data set (Fig. 4).
pub(crate) fn figures(results: &Results) -> Vec<Plate> {
    let board = Board::of(results);
    if board.sets.is_empty() {
        return Vec::new();
    }
    vec![Plate::new("ranks", ranks(results, &board)), Plate::new("metrics", metrics(results, &board))]
}

/// The word SYNTHETIC with the number of sets that are stand-ins, for captions.
pub(super) fn origin(board: &Board<'_>) -> String {
    let is_stand_in = |(label, _): &&(String, _)| label.starts_with("SYNTHETIC");
    match board.sets.iter().filter(is_stand_in).count() {
        0 => String::new(),
        count => format!(" SYNTHETIC: {count} of {} data sets are stand-ins.", board.sets.len()),
    }
}

/// Adds the interval of one row.
fn with(panel: Panel, series: &Series<'_>, row: usize, values: &[f64]) -> Panel {
    let Some(found) = bootstrap(values, LEVEL) else { return panel };
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
        rows.fold(panel, |panel, (row, (series, (_, ranks)))| with(panel, series, row, ranks))
    };
    let mut figure = Figure::new(RANKED.map(panel).into());
    (figure.columns, figure.shares_y) = (3, true);
    let (splits, sets) = (results.replicates(), board.sets.len());
    figure.shaped(0.75).captioned(format!(
        "Rank among the scalable methods, 1 the best, averaged over {sets} data sets: means over {splits} splits, with 90 % bootstrap \
         intervals. The number after a name is that of its steps.{}{}",
        origin(board),
        status(results)
    ))
}

/// A column for each data set, a row for each metric.
fn metrics(results: &Results, board: &Board<'_>) -> Figure {
    let names: Vec<String> = board.methods().iter().map(name).collect();
    let mut panels = Vec::new();
    for (metric, title) in
        [("elbo", "ELBO, nats"), ("lpd", "Test log density"), ("accuracy", "Test accuracy")]
    {
        for (label, all) in &board.sets {
            let axis = Axis::linear(format!("Δ {title}"));
            let mut panel = Panel::new(axis, Axis::categories("", names.clone()))
                .titled(label.replace('_', "\u{2011}"))
                .with(Layer::vertical_rule(0.0));
            let base =
                all.iter().find(|series| matches!(series.shape(), Some(FamilyConfig::MeanField { .. })));
            let Some(base) = base else { continue };
            for (row, series) in all.iter().enumerate() {
                panel = with(panel, series, row, &differences(series, base, metric));
            }
            panels.push(panel);
        }
    }
    let mut figure = Figure::new(panels).wide(200.0).shaped(1.0);
    (figure.columns, figure.shares_y) = (board.sets.len(), true);
    figure.captioned(format!(
        "Differences to the mean field, paired over splits: means over up to {} splits with 90 % bootstrap intervals. The number after \
         a name is that of its steps. Chains have no bound.{}{}",
        results.replicates(),
        origin(board),
        status(results)
    ))
}
