//! Estimated log evidence against steps (MCMC-SE, Fig. 6; CW, Fig. 4).

use super::Plate;
use super::curves::{by_method, provenance, with_medians, with_readings};
use crate::claims::RADON;
use crate::evidence::Evidence;
use mcsa_plot::{Axis, Dash, Figure, Layer, Panel, Style};

/// Radon, with the exact evidence, the published reference, and values read off the published curves.
pub fn radon(evidence: &Evidence) -> Vec<Plate> {
    let y = Axis::linear("Estimate of log *p*(*y*)").spanning(-1160.0, -1098.0);
    let mut panel = Panel::new(Axis::linear("Iteration"), y)
        .with(Layer::horizontal_rule(RADON).named("exact"))
        .with(published_reference());
    panel = with_medians(panel, &evidence.series(), "log_z", 0, by_method);
    panel = with_readings(panel, &evidence.series(), "MCMC-SE, Fig. 6");
    vec![Plate::new("evidence", figure(panel, evidence))]
}

/// Stock index, without reference: none is published, and our series differs from the published one.
pub fn stock(evidence: &Evidence) -> Vec<Plate> {
    let last = evidence.series().iter().filter_map(|series| series.steps().last().copied()).max();
    let panel = |set: &str| {
        let y = Axis::linear("Estimate of log *p*(*y*)").spanning(-50e3, -18e3);
        let x = Axis::linear("Iteration").spanning(0.0, last.unwrap_or(10_000) as f64 * 1.02);
        let series = evidence.of_target(set);
        // The first estimate, before any step, is lower by a factor of a thousand.
        let panel = with_medians(Panel::new(x, y), &series, "log_z", 1, by_method);
        with_readings(panel, &series, "CW, Fig. 4b")
    };
    let mut plates = vec![Plate::new("evidence", figure(panel(CLOSES), evidence))];
    if !evidence.of_target(AS_PUBLISHED).is_empty() {
        plates.push(Plate::new("evidence-published-series", figure(panel(AS_PUBLISHED), evidence)));
    }
    plates
}

/// The series included in the repository, and the published one.
const CLOSES: &str = "sp500_close_2007_2017";
const AS_PUBLISHED: &str = "sp500_klpqvi_2610";

/// The papers' reference value.
fn published_reference() -> Layer {
    let style = Style { dash: Dash::Dotted, ..Style::reference() };
    Layer::horizontal_rule(-1115.6).styled(style).named("published as exact")
}

fn figure(panel: Panel, evidence: &Evidence) -> Figure {
    let caption = format!("{} Rings: read off the published figure.", provenance(evidence));
    Figure::new(vec![panel]).wide(120.0).captioned(caption)
}
