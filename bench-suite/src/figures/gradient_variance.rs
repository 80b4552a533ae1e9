//! Variance of the direction along fits, a panel for each method (pMCSA).

use super::Plate;
use super::curves::{provenance, with_medians};
use crate::catalog::Method;
use crate::evidence::Evidence;
use crate::look;
use crate::published;
use mcsa_plot::{Axis, Figure, Layer, Marker, Panel, Style};

/// N in the papers.
const BUDGETS: [usize; 5] = [8, 16, 32, 64, 128];

/// Curves from light to dark with growing N; rings are values read off the published figure.
pub fn gradient_variance(evidence: &Evidence) -> Vec<Plate> {
    let panels = ["pmcsa", "jsa", "msc", "msc-rb"].map(|kind| {
        let y = Axis::log("Var(*g*)").spanning(3e-3, 4e3);
        let mut panel = Panel::new(Axis::linear("Iteration"), y).titled(look::name(kind));
        let mut series = evidence.series();
        series.retain(|series| series.method().kind() == kind);
        let shade = |budget: usize, method: &Method| {
            let member = BUDGETS.iter().position(|known| *known == budget).unwrap_or(0);
            look::shade(method, member, BUDGETS.len())
        };
        panel = with_medians(panel, &series, "variance", 0, |series| {
            let budget = series.method().budget();
            (format!("*N* = {budget}"), shade(budget, series.method()))
        });
        let last = series.iter().filter_map(|series| series.steps().last().copied()).max().unwrap_or(0);
        for series in &series {
            let budget = series.method().budget();
            let readings =
                published::readings("pMCSA, gradient variance figure", &format!("{kind} {budget}"));
            let (x, y): (Vec<f64>, Vec<f64>) =
                readings.into_iter().filter(|(step, _)| *step <= last as f64).unzip();
            let ring = Style { marker: Marker::Ring, ..shade(budget, series.method()) }.sized(3.4);
            panel = panel.with(Layer::points(x, y).styled(ring));
        }
        panel
    });
    let caption = format!(
        "Sum of the variances of all components. {} Rings: read off the published figure.",
        provenance(evidence)
    );
    let mut figure = Figure::new(panels.into()).as_multiples(4).shaped(1.25).captioned(caption);
    figure.shares_legend = false;
    vec![Plate::new("variance", figure)]
}
