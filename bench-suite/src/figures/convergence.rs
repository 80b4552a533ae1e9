//! Divergence against steps, a panel for each N (CW, Fig. 6).

use super::Plate;
use super::curves::{by_method, provenance, with_medians};
use crate::evidence::{Evidence, Series};
use mcsa_plot::{Axis, Figure, Panel};

/// One figure with the methods of the paper, one with all.
pub fn convergence(evidence: &Evidence) -> Vec<Plate> {
    let published = |series: &Series<'_>| matches!(series.method().kind(), "pmcsa" | "msc" | "msc-rb");
    vec![Plate::new("published", figure(evidence, published)), Plate::new("all", figure(evidence, |_| true))]
}

fn figure(evidence: &Evidence, is_shown: impl Fn(&Series<'_>) -> bool) -> Figure {
    let panels = [4, 16, 64].map(|budget| {
        let panel = Panel::new(Axis::linear("Iteration"), Axis::log("KL(*p* ∥ *q*)"))
            .titled(format!("*N* = {budget}"));
        let mut series = evidence.series();
        series.retain(|series| series.method().budget() == budget && is_shown(series));
        with_medians(panel, &series, "kl", 0, by_method)
    });
    Figure::new(panels.into()).as_multiples(3).shaped(0.8).captioned(provenance(evidence))
}
