//! Mean and scale of a Gaussian while it is fitted to a skew normal (MSC, Fig. 1 and 6).

use mcsa_theory::fixed_point::SkewNormal;

use super::Plate;
use super::curves::{provenance, with_medians};
use crate::claims::skew_normal::{MSC, POINTS, is_near, is_published, placed};
use crate::evidence::{Evidence, Series};
use crate::look;
use mcsa_plot::{Axis, Color, Dash, Figure, Layer, Panel, Style};

/// A reference point: name, mean and scale, and the method whose colour it has.
type Place = (&'static str, (f64, f64), Option<&'static str>);

/// A row for each start and step size schedule (MSC, Fig. 1).
pub fn skew_normal(evidence: &Evidence) -> Vec<Plate> {
    let mut places: Vec<Place> = vec![("optimum", placed(MSC.moments()), None)];
    let biased = MSC.pairwise(POINTS).map(placed);
    places.extend(biased.map(|place| ("rest of IS, exact", place, Some("snis"))));
    let near = [(1.94, 2.14), (0.98, 1.34)];
    let rows = [
        ("steps 0.5/*k*, from the optimum", true, true),
        ("steps 0.5/*k*^{0.75}, from the optimum", true, false),
        ("steps 0.5/*k*^{0.75}, from afar", false, false),
    ];
    plates(evidence, &places, &rows, &[near, near, [(-2.4, 3.4), (0.0, 4.4)]])
}

/// Fits of the chi-square divergence (MSC, Fig. 6).
pub fn chi_square(evidence: &Evidence) -> Vec<Plate> {
    let root = 2.0_f64.sqrt();
    let mut places: Vec<Place> = vec![("least divergence", (1.989, root), None)];
    let rest = SkewNormal::pairwise_chi_square(&MSC, POINTS).map(placed);
    places.extend(rest.map(|place| ("rest, by sum", place, Some("chivi"))));
    let rest = SkewNormal::pairwise_chi_square_by_max(&MSC, POINTS).map(placed);
    places.extend(rest.map(|place| ("rest, by maximum", place, Some("chivi-max"))));
    let rows = [("steps 0.5/*k*", true, true), ("steps 0.5/*k*^{0.75}", true, false)];
    plates(evidence, &places, &rows, &[[(1.8, 2.3), (0.9, 1.5)]; 2])
}

fn plates(
    evidence: &Evidence,
    places: &[Place],
    rows: &[(&str, bool, bool)],
    spans: &[[(f64, f64); 2]],
) -> Vec<Plate> {
    let name = |series: &Series<'_>| {
        let kind = series.method().kind();
        let name = if kind == "msc-rb" { "MSC (averaged)" } else { look::name(kind) };
        (name.to_owned(), look::style(series.method()))
    };
    let mut panels = Vec::new();
    for (&(title, near, published), spans) in rows.iter().zip(spans) {
        let mut series = evidence.series();
        series.retain(|series| is_near(series) == near && is_published(series) == published);
        for (k, (measure, label)) in [("mean", "*μ*"), ("scale", "*σ*")].into_iter().enumerate() {
            let y = Axis::linear(label).spanning(spans[k].0, spans[k].1);
            let mut panel = Panel::new(Axis::log("Iteration"), y).titled(title);
            for &(name, place, kind) in places {
                let color = series.iter().find(|series| Some(series.method().kind()) == kind);
                let color =
                    color.map_or(Color(0x00, 0x00, 0x00), |series| look::style(series.method()).color);
                let rule = Layer::horizontal_rule(if k == 0 { place.0 } else { place.1 }).named(name);
                let dash = if kind.is_some() { Dash::Short } else { Dash::Dotted };
                panel = panel.with(rule.styled(Style { color, dash, ..Style::reference() }));
            }
            panels.push(with_medians(panel, &series, measure, 1, name));
        }
    }
    let mut figure = Figure::new(panels).shaped(0.5).captioned(provenance(evidence));
    (figure.columns, figure.shares_x, figure.shares_legend) = (2, true, true);
    vec![Plate::new("iterates", figure)]
}
