//! Variance of the score estimate against the divergence, a point for each parameter (MCMC-SE, Fig. 3).

use super::Plate;
use super::curves::{by_method, status};
use crate::claims::variance_divergence::{BUDGETS, by_divergence, points};
use crate::evidence::Evidence;
use mcsa_plot::{Axis, Figure, Layer, Panel};

/// Trace of the covariance above, published variance below, a column for each N.
pub fn variance_divergence(evidence: &Evidence) -> Vec<Plate> {
    let metrics =
        [("variance", "tr Cov(*g*)", [0.08, 10.0]), ("pooled_variance", "Pooled variance", [0.03, 2.0])];
    let mut panels = Vec::new();
    for (metric, label, [low, high]) in metrics {
        for budget in BUDGETS {
            let (x, y) = (Axis::log("KL(*p* ∥ *q*)"), Axis::log(label).spanning(low, high));
            let mut panel = Panel::new(x, y).titled(format!("*N* = {budget}"));
            let mut lines = Vec::new();
            for series in evidence.series().iter().filter(|series| series.method().budget() == budget) {
                let (name, style) = by_method(series);
                let all = points(series, metric);
                let (x, y): (Vec<f64>, Vec<f64>) = all.iter().copied().unzip();
                panel = panel.with(Layer::points(x, y).styled(style.sized(1.6).faint(0.35)));
                let (x, y): (Vec<f64>, Vec<f64>) = by_divergence(all, 8).into_iter().unzip();
                lines.push(Layer::line(x, y).named(name).styled(style));
            }
            panels.push(lines.into_iter().fold(panel, Panel::with));
        }
    }
    let count: usize = evidence.series().first().map_or(0, |series| points(series, "kl").len());
    let caption = format!(
        "{count} parameters; lines: medians of eighths by divergence. Below: as published, with the spread of mean scores \
         between coordinates.{}",
        status(evidence)
    );
    let mut figure = Figure::new(panels).shaped(0.8).captioned(caption);
    (figure.columns, figure.shares_x, figure.shares_legend) = (BUDGETS.len(), true, true);
    vec![Plate::new("scatter", figure)]
}
