//! Mode coverage: modes that are kept or lost during training.

use super::Plate;
use super::curves::{by_method, status};
use crate::catalog::Target;
use crate::evidence::{Evidence, Series};
use crate::look;
use mcsa_plot::{Axis, Figure, Layer, Panel};

/// Methods, from top to bottom.
const KINDS: [&str; 4] = ["pmcsa", "jsa", "msc-rb", "elbo"];

/// Share of draws in the second mode for each replicate: a column for each start and schedule, a row for each dimension.
pub fn directions(evidence: &Evidence) -> Vec<Plate> {
    let mut panels = Vec::new();
    for dim in [2, 10] {
        for (mean, start) in [(0.0, "wide"), (-4.0, "narrow")] {
            for schedule in ["defended", "tempered"] {
                let here = |series: &Series<'_>| {
                    matches!(series.target(), Target::Modes { dim: d, .. } if *d == dim)
                        && series.is_from(mean, schedule)
                };
                let title = format!("*d* = {dim}, {start}, {schedule}");
                panels.push(panel(evidence, title, &here));
            }
        }
    }
    let mut figure = Figure::new(panels).shaped(0.8);
    (figure.columns, figure.shares_x, figure.shares_y) = (4, true, true);
    let text = "One marker a replicate, from the last iteration; the broken line is the share of the target. Wide: begun around \
                both modes; narrow: away from both, nearer to the first.";
    vec![Plate::new("shares", figure.captioned(format!("{text}{}", status(evidence))))]
}

fn panel(evidence: &Evidence, title: String, is_here: &dyn Fn(&Series<'_>) -> bool) -> Panel {
    let names = KINDS.map(|kind| look::name(kind).to_owned());
    let x = Axis::linear("Share in the second mode").spanning(-0.05, 1.05);
    let mut panel = Panel::new(x, Axis::categories("", names)).titled(title).with(Layer::vertical_rule(0.3));
    for series in evidence.series().iter().filter(|series| is_here(series)) {
        let Some(place) = KINDS.iter().position(|kind| *kind == series.method().kind()) else { continue };
        let shares = series.last("share");
        let places = vec![place as f64; shares.len()];
        panel = panel.with(Layer::points(shares, places).styled(by_method(series).1));
    }
    panel
}
