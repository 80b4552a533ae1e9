//! Variance of the score estimate given the states of its chains, against N (CW, Fig. 7).

use super::Plate;
use super::curves::{EIGHTY, status};
use crate::evidence::Evidence;
use crate::kinds::Task;
use crate::look;
use crate::published;
use crate::quantile::quantile;
use mcsa_plot::{Axis, Figure, Layer, Panel, Style};

const METHODS: [&str; 3] = ["pmcsa", "msc", "msc-rb"];

/// A panel for each gap; hollow rings are values read off the published figure.
pub fn conditional_variance(evidence: &Evidence) -> Vec<Plate> {
    let panels = [0.0, 2.0, 4.0].map(|gap| {
        let x = Axis::log("*N*").spanning(0.9, 145.0);
        let y = Axis::log("Var(*g* | states)").spanning(1e-5, 20.0);
        let mut panel = Panel::new(x, y).titled(format!("*μ_{{q}}* − *μ_{{p}}* = {gap}"));
        for kind in METHODS {
            let mut columns = [const { Vec::new() }; 4];
            let mut style = Style::series(0);
            for series in evidence.series() {
                let is_here = matches!(series.task, Task::Variance(variance) if variance.gap == gap);
                if !is_here || series.method().kind() != kind {
                    continue;
                }
                style = look::style(series.method());
                let mut values = series.last("variance");
                let levels = EIGHTY.map(|level| quantile(&mut values, level));
                columns[0].push(series.method().budget() as f64);
                columns[1..].iter_mut().zip(levels).for_each(|(column, value)| column.push(value));
            }
            let [n, low, median, high] = columns;
            let readings = published::readings("CW, Fig. 7", &format!("{kind} {gap}"));
            let (x, y): (Vec<f64>, Vec<f64>) = readings.into_iter().unzip();
            let ring = Style { marker: mcsa_plot::Marker::Ring, ..style }.sized(3.6);
            panel = panel
                .with(Layer::band(n.clone(), low, high).styled(style))
                .with(Layer::line(n.clone(), median.clone()).named(look::name(kind)).styled(style))
                .with(Layer::points(n, median).named(look::name(kind)).styled(style.sized(3.2)))
                .with(Layer::points(x, y).styled(ring));
        }
        panel
    });
    let caption = format!(
        "Medians over {} draws of the states, bands from the 10^{{th}} to the 90^{{th}} percentile. Rings: read off the \
         published figure, whose CIS is the variance of an index.{}",
        evidence.replicates(),
        status(evidence)
    );
    vec![Plate::new("variance", Figure::new(panels.into()).as_multiples(3).shaped(0.9).captioned(caption))]
}
