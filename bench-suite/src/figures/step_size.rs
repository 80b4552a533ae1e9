//! Final divergence against the step size, a panel for each optimiser (pMCSA).

use super::Plate;
use super::curves::{by_method, status};
use crate::claims::step_size::{STEPS, ends, rate};
use crate::evidence::Evidence;
use mcsa_plot::{Axis, Figure, Layer, Panel};

/// Value drawn for a fit that diverged: above every axis.
const FAR: f64 = 1e6;

/// Divergence at the end against the step size; the horizontal line is the minimum over the family.
pub fn step_size(evidence: &Evidence) -> Vec<Plate> {
    let last = evidence.series().iter().filter_map(|series| Some(series.fit()?.steps)).max().unwrap_or(STEPS);
    let rules = [("sgd", "SGD"), ("momentum", "Momentum"), ("nesterov", "Nesterov"), ("adam", "Adam")];
    let panels = rules.map(|(rule, title)| {
        let x = Axis::log("Step size").spanning(9e-4, 1.1);
        // Short fits end far outside of the range of the paper's axis.
        let y = match last < STEPS {
            true => Axis::log("KL(*p* ∥ *q*)").spanning(3.0, 3e3),
            false => Axis::linear("KL(*p* ∥ *q*)").spanning(0.0, 60.0),
        };
        let mut panel = Panel::new(x, y).titled(title);
        let floor = evidence.series().iter().find_map(|series| series.at(0, "kl_floor").first().copied());
        panel.layers.extend(floor.map(|floor| Layer::horizontal_rule(floor).named("best in the family")));
        let mut lines = Vec::new();
        for kind in ["pmcsa", "jsa", "msc", "msc-rb"] {
            let mut columns = [const { Vec::new() }; 4];
            let mut look = None;
            for series in evidence.series() {
                let is_here = series.rule().is_some_and(|known| known.kind() == rule);
                if !is_here || series.method().kind() != kind {
                    continue;
                }
                let (Some(rate), Some(ends)) = (rate(&series), ends(&series)) else { continue };
                look = Some(by_method(&series));
                columns[0].push(rate);
                columns[1..].iter_mut().zip(ends).for_each(|(column, value)| column.push(value.min(FAR)));
            }
            let Some((name, style)) = look else { continue };
            let [rates, low, median, high] = columns;
            panel = panel.with(Layer::band(rates.clone(), low, high).styled(style));
            lines.push(Layer::line(rates.clone(), median.clone()).named(name.clone()).styled(style));
            lines.push(Layer::points(rates, median).named(name).styled(style.sized(3.0)));
        }
        lines.into_iter().fold(panel, Panel::with)
    });
    let caption = format!(
        "After {last} iterations: medians of {} replicates, bands from the 10^{{th}} to the 90^{{th}} percentile; fits that \
         diverged count as infinitely far.{}",
        evidence.replicates(),
        status(evidence)
    );
    vec![Plate::new("divergence", Figure::new(panels.into()).as_multiples(4).shaped(1.1).captioned(caption))]
}
