//! Bounds of the log evidence from both sides against the number of steps of a path.

use mcsa_plot::{Axis, Color, Dash, Figure, Layer, Marker, Panel, Style};

use super::titles::{paths, targets, titled};
use crate::catalog::Ansatz;
use crate::figures::Plate;
use crate::figures::curves::status;
use crate::interval::bootstrap;
use crate::results::Results;

/// Level of the intervals, as in claims.
const LEVEL: f64 = 0.9;

/// Bounds less the log evidence, and both gaps on a logarithmic axis: a column for each target.
pub(crate) fn figures(results: &Results) -> Vec<Plate> {
    let mut labels = targets(results);
    if labels.is_empty() {
        labels.push("synthetic-line".to_owned());
    }
    let sizes = sizes(results);
    let steps = || Axis::categories("Steps *K* of a path", sizes.iter().map(usize::to_string));
    let mut panels = Vec::new();
    for is_log in [false, true] {
        for label in &labels {
            let y = if is_log {
                Axis::log("Distance from log *Z*, nats")
            } else {
                Axis::linear("Bound − log *Z*, nats")
            };
            let panel = Panel::new(steps(), y);
            let panel =
                if is_log { panel } else { panel.titled(titled(label)).with(Layer::horizontal_rule(0.0)) };
            panels.push(with_bounds(panel, results, label, is_log, &sizes));
        }
    }
    let columns = labels.len();
    let mut figure = Figure::new(panels).shaped(0.7);
    (figure.columns, figure.shares_legend) = (columns, true);
    let text = format!(
        "Bounds by paths forward, below, and by paths drawn backward from draws of the posterior, above; fits ascend the lower bound. \
         Means over {} replicates with 90 % bootstrap intervals.",
        results.replicates()
    );
    vec![Plate::new("sides", figure.captioned(format!("{text}{}", status(results))))]
}

/// Numbers of steps of the paths, in increasing order.
fn sizes(results: &Results) -> Vec<usize> {
    let mut sizes: Vec<usize> =
        results.series().iter().filter_map(paths).map(|settings| settings.steps).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn with_bounds(mut panel: Panel, results: &Results, label: &str, is_log: bool, sizes: &[usize]) -> Panel {
    let looks = [
        (Ansatz::Posterior, Color(0x00, 0x72, 0xB2), Marker::Circle),
        (Ansatz::Rand, Color(0xD5, 0x5E, 0x00), Marker::Square),
    ];
    let sides = [("upper_gap", 1.0, "above", Dash::Short), ("gap", -1.0, "below", Dash::Solid)];
    for (ansatz, color, marker) in looks {
        for (metric, sign, side, dash) in sides {
            let sign = if is_log { 1.0 } else { sign };
            let mut found: Vec<(f64, [f64; 3])> = Vec::new();
            for series in results.of_target(label) {
                let Some(settings) = paths(&series).filter(|settings| settings.surrogate == ansatz) else {
                    continue;
                };
                let Some(all) = bootstrap(&series.last(metric), LEVEL) else { continue };
                let mut ends = [sign * all.low, sign * all.value, sign * all.high];
                ends.sort_by(f64::total_cmp);
                let at = sizes.iter().position(|steps| *steps == settings.steps).unwrap_or(0);
                found.push((at as f64, ends));
            }
            found.sort_by(|a, b| a.0.total_cmp(&b.0));
            let steps: Vec<f64> = found.iter().map(|(steps, _)| *steps).collect();
            let [low, value, high] =
                [0, 1, 2].map(|k| found.iter().map(|(_, ends)| ends[k]).collect::<Vec<f64>>());
            let style = Style { color, dash, marker, ..Style::series(0) };
            let name = format!("{}, {side}", if ansatz == Ansatz::Rand { "SL-DAIS" } else { "DAIS" });
            panel = panel
                .with(Layer::line(steps.clone(), value.clone()).named(name).styled(style))
                .with(Layer::intervals(steps, value, low, high).styled(style.sized(2.6)));
        }
    }
    panel
}
