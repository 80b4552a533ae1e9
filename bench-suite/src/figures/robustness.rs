//! Fitted means against the number of candidates (MSC, Fig. 2).

use super::Plate;
use super::curves::status;
use crate::claims::robustness::{by_candidates, candidates, representatives};
use crate::evidence::Evidence;
use crate::look;
use crate::metric::Vector;
use mcsa_plot::{Axis, Figure, Layer, Panel, Style};

/// A row for each data set, a column for each of three coordinates.
pub fn robustness(evidence: &Evidence) -> Vec<Plate> {
    let mut panels = Vec::new();
    for (set, title) in [("heart_cleveland", "heart"), ("ionosphere", "ionosphere")] {
        let three = representatives(evidence, set).unwrap_or([(0, f64::NAN, f64::NAN); 3]);
        for (k, exact, scale) in three {
            let label = format!("Mean of weight {k}");
            let mut panel = Panel::new(Axis::log("*S*").spanning(1.7, 130.0), Axis::linear(label))
                .titled(format!("{title}, *σ* = {scale:.3}"))
                .with(Layer::horizontal_rule(exact).named("EP"));
            for (kind, shift) in [("msc-rb", 0.96), ("snis", 1.04)] {
                let (mut columns, mut style) = ([const { Vec::new() }; 4], Style::series(0));
                for series in by_candidates(evidence, set, kind) {
                    style = look::style(series.method());
                    let values = series.last_entries(Vector::Means, k);
                    let count = values.len() as f64;
                    let mean = values.iter().sum::<f64>() / count;
                    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
                    let deviation = (square / (count - 1.0).max(1.0)).sqrt();
                    let row = [shift * candidates(&series) as f64, mean, mean - deviation, mean + deviation];
                    columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
                }
                let [at, value, low, high] = columns;
                let name = if kind == "msc-rb" { "MSC" } else { look::name(kind) };
                panel = panel
                    .with(Layer::line(at.clone(), value.clone()).styled(style))
                    .with(Layer::intervals(at, value, low, high).styled(style).named(name));
            }
            panels.push(panel);
        }
    }
    let mut figure = Figure::new(panels).shaped(0.75);
    (figure.columns, figure.shares_x, figure.shares_legend) = (3, true, true);
    let caption = format!(
        "Means over {} fits with their standard deviations; σ is the posterior's scale by expectation propagation.{}",
        evidence.replicates(),
        status(evidence)
    );
    vec![Plate::new("means", figure.captioned(caption))]
}
