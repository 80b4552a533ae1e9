//! Test errors and posterior scales of probit regression (MSC, Tab. 1 and Fig. 4).

use super::Plate;
use super::curves::status;
use crate::claims::probit::log_ratios;
use crate::evidence::Evidence;
use crate::interval::bootstrap;
use crate::look;
use mcsa_plot::{Axis, Figure, Layer, Panel, Style, Summary};

const SETS: [(&str, &str); 3] =
    [("pima", "pima"), ("ionosphere", "ionosphere"), ("heart_cleveland", "heart")];

/// Differences of log scales for each coordinate, and test errors as a forest plot.
pub fn probit(evidence: &Evidence) -> Vec<Plate> {
    vec![Plate::new("log-scale", scales(evidence)), Plate::new("error", errors(evidence))]
}

fn scales(evidence: &Evidence) -> Figure {
    let panels = SETS.iter().map(|&(set, title)| {
        let columns = log_ratios(evidence, set, ["msc-rb", "snis"]).unwrap_or_default();
        let count = columns.len().max(1);
        let x = Axis::linear("Weight").spanning(-0.7, count as f64 - 0.3);
        let panel = Panel::new(x, Axis::linear("log *σ*_{MSC} − log *σ*_{IS}")).titled(title);
        let at: Vec<f64> = (0..columns.len()).map(|k| k as f64).collect();
        let summaries: Vec<Summary> = columns.iter().map(|column| Summary::of(column)).collect();
        let style = evidence.find(|series| series.method().kind() == "msc-rb");
        let style = style.map_or(Style::series(0), |series| look::style(series.method()));
        panel.with(Layer::horizontal_rule(0.0)).with(Layer::boxes(at, summaries).styled(style))
    });
    let mut figure = Figure::new(panels.collect()).shaped(0.26);
    figure.columns = 1;
    figure.captioned(format!(
        "{} splits; boxes from the first to the third quartile. Above zero, importance sampling has the smaller scale. Weight 0 is \
         the intercept.{}",
        evidence.replicates(),
        status(evidence)
    ))
}

fn errors(evidence: &Evidence) -> Figure {
    const KINDS: [&str; 4] = ["ep", "snis", "msc-rb", "msc-prior"];
    let y = Axis::categories("", SETS.iter().map(|(_, title)| *title));
    let mut panel = Panel::new(Axis::linear("Test error"), y);
    for (index, kind) in KINDS.into_iter().enumerate() {
        let (mut columns, mut style) = ([const { Vec::new() }; 4], Style::series(0));
        for (place, (set, _)) in SETS.iter().enumerate() {
            let all = evidence.of_target(set);
            let Some(series) = all.iter().find(|series| series.method().kind() == kind) else { continue };
            style = look::style(series.method());
            let Some(found) = bootstrap(&series.last("error"), 0.95) else { continue };
            let values = [place as f64, found.value, found.low, found.high];
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
        let [at, value, low, high] = columns;
        let layer = Layer::intervals(at, value, low, high).horizontal().dodged(index, KINDS.len());
        let name = if kind == "msc-rb" { "MSC" } else { look::name(kind) };
        panel = panel.with(layer.named(name).styled(style));
    }
    Figure::new(vec![panel]).wide(120.0).captioned(format!(
        "Means over {} splits with 95 % bootstrap intervals.{}",
        evidence.replicates(),
        status(evidence)
    ))
}
