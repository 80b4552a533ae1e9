//! Log evidence of stochastic volatility models of exchange rates (MSC, Fig. 3).

use super::Plate;
use super::curves::status;
use crate::catalog::First;
use crate::claims::exchange_rates::{data, differences};
use crate::evidence::Evidence;
use crate::quantile::quantile;
use mcsa_plot::{Axis, Color, Figure, Layer, Marker, PALETTE, Panel, Style};

/// Differences for each currency: estimated by a common filter, and as published.
pub fn exchange_rates(evidence: &Evidence) -> Vec<Plate> {
    let mut names: Vec<String> = Vec::new();
    for difference in differences(evidence, First::Level, "log_z") {
        names.push(difference.currency);
    }
    if names.is_empty() {
        names.push("cad".into());
    }
    let mut panels = Vec::new();
    let rows = [
        (First::Level, "first state at the level", (-4.0, 10.0)),
        (First::Zero, "first state at 0, as printed", (-8.0, 20.0)),
    ];
    let scores = [("log_z", "one filter for both"), ("log_z_as_published", "filters as published")];
    for (first, place, (low, high)) in rows {
        for (score, filters) in scores {
            let y = Axis::categories("", names.iter().map(|name| name.to_uppercase()));
            let x = Axis::linear("log *Z* of MSC less that of SMC, nats").spanning(low, high);
            let mut panel = Panel::new(x, y).titled(format!("{place}; {filters}"));
            panel = panel.with(Layer::vertical_rule(0.0));
            let (mut fits, mut middles) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
            for difference in differences(evidence, first, score) {
                let Some(row) = names.iter().position(|name| *name == difference.currency) else { continue };
                let mut values = difference.values.clone();
                fits.0.extend(&values);
                fits.1.extend(values.iter().map(|_| row as f64));
                middles.0.push(quantile(&mut values, 0.5));
                middles.1.push(row as f64);
            }
            let style = Style { color: PALETTE[0], marker: Marker::Circle, ..Style::series(0) };
            let each = Style { color: Color::GREY, marker: Marker::Ring, ..Style::series(0) };
            panel = panel
                .with(Layer::points(fits.0, fits.1).styled(each.sized(2.4)).named("a fit"))
                .with(Layer::points(middles.0, middles.1).styled(style.sized(4.0)).named("median"));
            panels.push(panel);
        }
    }
    let mut figure = Figure::new(panels).shaped(0.85);
    (figure.columns, figure.shares_y, figure.shares_legend) = (2, true, true);
    let caption = format!(
        "{} fits of each currency. To the right of the line MSC has learned more. The filters' own errors are below 0.2. Data: {}.{}",
        evidence.replicates(),
        data(evidence).unwrap_or_else(|| "none yet".into()).replace('_', "\\_"),
        status(evidence)
    );
    vec![Plate::new("differences", figure.captioned(caption))]
}
