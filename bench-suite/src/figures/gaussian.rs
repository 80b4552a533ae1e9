//! Convergence to the known optimum on a correlated Gaussian.

use super::Plate;
use super::curves::{by_method, provenance, with_medians};
use crate::catalog::Target;
use crate::evidence::{Evidence, Series};
use mcsa_plot::{Axis, Dash, Figure, Layer, Panel, Style};

/// Exact inclusive divergence against steps, a panel for each correlation.
pub fn gaussian(evidence: &Evidence) -> Vec<Plate> {
    let correlation = |series: &Series<'_>| match series.target() {
        Target::CorrelatedGaussian { correlation, .. } => *correlation,
        _ => f64::NAN,
    };
    let panels = [0.2, 0.5].map(|value| {
        let y = Axis::log("KL(*p* ∥ *q*)");
        let mut panel = Panel::new(Axis::log("Iteration"), y).titled(format!("correlation {value}"));
        let mut series = evidence.series();
        series.retain(|series| correlation(series) == value);
        let floor = series.iter().find_map(|series| series.at(0, "kl_floor").first().copied());
        panel.layers.extend(floor.map(|floor| Layer::horizontal_rule(floor).named("best in the family")));
        with_medians(panel, &series, "kl", 1, look)
    });
    let mut figure = Figure::new(panels.into()).captioned(provenance(evidence));
    (figure.shares_y, figure.shares_legend) = (true, true);
    vec![Plate::new("divergence", figure)]
}

fn look(series: &Series<'_>) -> (String, Style) {
    let (name, style) = by_method(series);
    let budget = series.method().budget();
    let style = if budget == 1 { Style { dash: Dash::Short, ..style } } else { style };
    (format!("{name}, *N* = {budget}"), style)
}
