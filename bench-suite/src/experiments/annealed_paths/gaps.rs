//! Parts of the gap of annealed paths along a fit.

use mcsa_plot::{Axis, Color, Dash, Figure, Layer, Marker, Panel, Style};

use super::titles::{paths, targets, titled};
use crate::catalog::Ansatz;
use crate::figures::Plate;
use crate::figures::curves::{EIGHTY, FEWEST, provenance};
use crate::results::{Results, Series};

/// Metric, name, colour, dash of the gap and of its parts.
const PARTS: [(&str, &str, Color, Dash); 4] = [
    ("surrogate_kl", "KL(surrogate posterior ∥ posterior)", Color(0xD5, 0x5E, 0x00), Dash::Long),
    ("path_gap", "gap for the surrogate", Color(0x00, 0x9E, 0x73), Dash::Short),
    ("mismatch", "error of the surrogate", Color(0xCC, 0x79, 0xA7), Dash::Dotdash),
    ("gap", "gap, their sum", Color(0x00, 0x00, 0x00), Dash::Solid),
];

/// Parts of the gap with learned or fixed surrogates, and gaps of all families.
pub(crate) fn figures(results: &Results) -> Vec<Plate> {
    let series = results.series();
    let has_parts = |series: &&Series<'_>| paths(series).is_some_and(|p| p.surrogate != Ansatz::Posterior);
    let mut panels: Vec<Panel> = series.iter().filter(has_parts).map(parts).collect();
    if panels.is_empty() {
        panels.push(Panel::new(Axis::log("Iteration"), Axis::linear("Nats")));
    }
    let mut figure = Figure::new(panels).shaped(0.85);
    (figure.columns, figure.shares_legend) = (3, true);
    let text = "The gap and its parts along fits of SL-DAIS with 8 steps. The error of the surrogate is that of its log likelihood \
                under the surrogate posterior, less that at the ends of the paths.";
    let parts = figure.captioned(format!("{text} {}", provenance(results)));

    let panel = |label: &String| {
        let mut panel = Panel::new(Axis::log("Iteration"), Axis::log("Gap, nats")).titled(titled(label));
        for series in results.of_target(label) {
            let Some(settings) = paths(&series) else { continue };
            let color = match settings.surrogate {
                Ansatz::Posterior => Color(0x00, 0x72, 0xB2),
                Ansatz::CsFix => Color(0xE6, 0x9F, 0x00),
                _ => Color(0xD5, 0x5E, 0x00),
            };
            for (metric, side, dash) in [("gap", "below", Dash::Solid), ("upper_gap", "above", Dash::Short)] {
                let style = Style { color, dash, ..Style::series(0) };
                panel = with_band(
                    panel,
                    &series,
                    metric,
                    &format!("{}, {side}", settings.surrogate.name()),
                    style,
                    false,
                );
            }
        }
        panel
    };
    let mut panels: Vec<Panel> = targets(results).iter().map(panel).collect();
    if panels.is_empty() {
        panels.push(Panel::new(Axis::log("Iteration"), Axis::log("Gap, nats")));
    }
    let mut figure = Figure::new(panels).shaped(0.75);
    (figure.columns, figure.shares_legend) = (2, true);
    let text = "Gaps below and above the log evidence along fits of paths with 8 steps.";
    vec![
        Plate::new("parts", parts),
        Plate::new("gaps", figure.captioned(format!("{text} {}", provenance(results)))),
    ]
}

fn parts(series: &Series<'_>) -> Panel {
    let name = paths(series).map_or("", |settings| settings.surrogate.name());
    let title = format!("{}, {}", titled(series.target().label()), name.replace('±', "^{±}"));
    let mut panel = Panel::new(Axis::log("Iteration"), Axis::linear("Nats")).titled(title);
    panel = panel.with(Layer::horizontal_rule(0.0));
    for (metric, name, color, dash) in PARTS {
        let width = if metric == "gap" { 2.0 } else { 1.4 };
        let style = Style { color, dash, width, marker: Marker::Circle, ..Style::series(0) };
        panel = with_band(panel, series, metric, name, style, true);
    }
    panel
}

/// Adds medians from iteration 1, and bands between percentiles.
fn with_band(
    panel: Panel,
    series: &Series<'_>,
    metric: &str,
    name: &str,
    style: Style,
    is_faint: bool,
) -> Panel {
    let (steps, columns) = series.quantiles(metric, EIGHTY);
    let first = steps.iter().take_while(|step| **step < 1.0).count();
    let [low, middle, high] = columns.map(|column| column[first..].to_vec());
    let steps = steps[first..].to_vec();
    let band = Layer::band(steps.clone(), low, high).styled(if is_faint { style.faint(0.5) } else { style });
    let panel = if series.outcomes.len() >= FEWEST { panel.with(band) } else { panel };
    panel.with(Layer::line(steps, middle).named(name.replace('±', "^{±}")).styled(style))
}
