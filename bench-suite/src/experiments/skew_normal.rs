//! Mean and scale of a Gaussian while it is fitted to a skew normal (MSC, Fig. 1 and 6).

use mcsa_plot::{Axis, Color, Dash, Figure, Layer, Panel, Style};
use mcsa_theory::fixed_point::{Rest, SkewNormal};

use crate::catalog::{OptimizerConfig, Start};
use crate::claims::resampling::mean;
use crate::claims::{Check, Finding, greatest};
use crate::figures::Plate;
use crate::figures::curves::{provenance, with_medians};
use crate::look;
use crate::results::{Results, Series};

/// A reference point: name, mean and scale, and the method whose colour it has.
type Place = (&'static str, (f64, f64), Option<&'static str>);

/// A row for each start and step size schedule (MSC, Fig. 1).
pub(crate) fn skew_normal(results: &Results) -> Vec<Plate> {
    let mut places: Vec<Place> = vec![("optimum", placed(MSC.moments()), None)];
    let biased = MSC.pairwise(POINTS).map(placed);
    places.extend(biased.map(|place| ("rest of IS, exact", place, Some("snis"))));
    let near = [(1.94, 2.14), (0.98, 1.34)];
    let rows = [
        ("steps 0.5/*k*, from the optimum", true, true),
        ("steps 0.5/*k*^{0.75}, from the optimum", true, false),
        ("steps 0.5/*k*^{0.75}, from afar", false, false),
    ];
    plates(results, &places, &rows, &[near, near, [(-2.4, 3.4), (0.0, 4.4)]])
}

/// Fits of the chi-square divergence (MSC, Fig. 6).
pub(crate) fn chi_square(results: &Results) -> Vec<Plate> {
    let root = 2.0_f64.sqrt();
    let mut places: Vec<Place> = vec![("least divergence", (1.989, root), None)];
    let rest = MSC.pairwise_chi_square(POINTS).map(placed);
    places.extend(rest.map(|place| ("rest, by sum", place, Some("chivi"))));
    let rest = MSC.pairwise_chi_square_by_max(POINTS).map(placed);
    places.extend(rest.map(|place| ("rest, by maximum", place, Some("chivi-max"))));
    let rows = [("steps 0.5/*k*", true, true), ("steps 0.5/*k*^{0.75}", true, false)];
    plates(results, &places, &rows, &[[(1.8, 2.3), (0.9, 1.5)]; 2])
}

fn plates(
    results: &Results,
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
        let mut series = results.series();
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
    let mut figure = Figure::new(panels).shaped(0.5).captioned(provenance(results));
    (figure.columns, figure.shares_x, figure.shares_legend) = (2, true, true);
    vec![Plate::new("iterates", figure)]
}

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 11] = [
    ("importance_rests", |results| rests(results, "snis", false, MSC.pairwise(POINTS), 0.01)),
    ("climbing_rests", |results| rests(results, "msc-rb", false, Some(MSC.moments()), 0.02)),
    ("underestimates", underestimates),
    ("climbing_ends_as_published", climbing_ends_as_published),
    ("importance_ends_as_published", |results| rests(results, "snis", true, MSC.pairwise(POINTS), 0.01)),
    ("arrives_from_afar", arrives_from_afar),
    ("by_sum_rests", |results| rests(results, "chivi", false, MSC.pairwise_chi_square(POINTS), 0.02)),
    ("by_maximum_rests", |results| {
        rests(results, "chivi-max", false, MSC.pairwise_chi_square_by_max(POINTS), 0.02)
    }),
    ("by_sum_ends_as_published", |results| {
        rests(results, "chivi", true, MSC.pairwise_chi_square(POINTS), 0.02)
    }),
    ("by_maximum_ends_as_published", |results| {
        rests(results, "chivi-max", true, MSC.pairwise_chi_square_by_max(POINTS), 0.02)
    }),
    ("far_below", far_below),
];

/// The target, standardised to location 0 and scale 1.
const MSC: SkewNormal = SkewNormal { shape: 5.0 };
/// Number of quadrature points: exact to 1e-8.
const POINTS: usize = 400;

/// Mean and scale of a rest point for the target itself, which has location 1/2 and scale 2.
fn placed(rest: Rest) -> (f64, f64) {
    (0.5 + 2.0 * rest.mean, 2.0 * rest.deviation)
}

/// Returns true if a fit begins near the optimum.
fn is_near(series: &Series<'_>) -> bool {
    matches!(series.fit().map(|fit| fit.start), Some(Start::Placed { mean, .. }) if mean > 0.0)
}

/// Returns true if the step sizes are the published ones, `0.5 / k`, under which a fit never becomes independent of its
/// start.
fn is_published(series: &Series<'_>) -> bool {
    matches!(series.rule(), Some(OptimizerConfig::Sgd(rule)) if rule.rate.at(STEPS) < 1e-6)
}

/// Smallest number of steps after which a fit counts as converged.
const STEPS: u64 = 1_000_000;

/// Means of mean and scale over replicates at the end.
fn end(results: &Results, kind: &str, near: bool, published: bool) -> Option<(f64, f64)> {
    let series = results.find(|series| {
        series.method().kind() == kind && is_near(series) == near && is_published(series) == published
    })?;
    series.fit().filter(|fit| fit.steps >= STEPS)?;
    let ends = ["mean", "scale"].map(|name| series.last(name));
    (ends.iter().all(|column| !column.is_empty())).then(|| (mean(&ends[0]), mean(&ends[1])))
}

const SHORT: &str = "no fits of a million steps";

fn distance(found: (f64, f64), place: (f64, f64)) -> f64 {
    greatest([(found.0 - place.0).abs(), (found.1 - place.1).abs()])
}

fn rests(results: &Results, kind: &str, published: bool, rest: Option<Rest>, within: f64) -> Finding {
    let (Some(found), Some(rest)) = (end(results, kind, true, published), rest) else {
        return Finding::too_little(SHORT);
    };
    let place = placed(rest);
    let what = format!(
        "distance of mean and scale, ({:.4}, {:.4}) on average over replicates, from ({:.4}, {:.4}), the larger",
        found.0, found.1, place.0, place.1
    );
    Finding::at_most(distance(found, place), within, what)
}

fn underestimates(results: &Results) -> Finding {
    let Some((_, scale)) = end(results, "snis", true, false) else { return Finding::too_little(SHORT) };
    let what = "mean scale of importance sampling less the true one";
    // A tenth of the value by quadrature.
    Finding::at_most(scale - placed(MSC.moments()).1, -0.016, what)
}

fn climbing_ends_as_published(results: &Results) -> Finding {
    let Some(found) = end(results, "msc-rb", true, true) else { return Finding::too_little(SHORT) };
    let what = format!("distance of ({:.4}, {:.4}) from the optimum, the larger", found.0, found.1);
    Finding::at_most(distance(found, placed(MSC.moments())), 0.02, what)
}

fn arrives_from_afar(results: &Results) -> Finding {
    let Some(found) = end(results, "msc-rb", false, false) else { return Finding::too_little(SHORT) };
    let what = format!("distance of ({:.4}, {:.4}) from the optimum, the larger", found.0, found.1);
    Finding::at_most(distance(found, placed(MSC.moments())), 0.1, what)
}

fn far_below(results: &Results) -> Finding {
    let scales = ["chivi", "chivi-max"].map(|kind| end(results, kind, true, false).map(|(_, scale)| scale));
    let [Some(sum), Some(max)] = scales else { return Finding::too_little(SHORT) };
    let what = "greater of the mean scales less the root of 2";
    Finding::at_most(greatest([sum, max]) - 2.0_f64.sqrt(), -0.2, what)
}

#[cfg(test)]
mod tests {
    use crate::claims::Verdict;
    use crate::claims::tests::checks;
    use crate::experiment::PresetName;
    use crate::kinds::Task;

    /// Verdicts on the claims of both figures.
    fn verdicts(preset: PresetName, end: fn(&str) -> (f64, f64)) -> Vec<Verdict> {
        let found = |id| {
            checks(id, preset, |task: &Task, _, _| {
                let (mean, scale) = end(task.method().kind());
                vec![("mean", mean), ("scale", scale)]
            })
        };
        ["msc-fig1-skewnormal", "msc-fig6-chivi"].map(found).concat()
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        use Verdict::{Agree, Disagree, TooLittle};
        let rests = |kind: &str| match kind {
            "snis" => (2.0375, 1.0823),
            "msc-rb" => (2.0648, 1.2456),
            "chivi" => (2.0030, 1.1115),
            _ => (1.9279, 0.9844),
        };
        let swapped = |kind: &str| match kind {
            "snis" => (2.0648, 1.2456),
            "msc-rb" => (2.2, 1.0823),
            _ => (1.989, 1.4),
        };
        assert_eq!(verdicts(PresetName::Default, rests), [Agree; 11]);
        assert_eq!(verdicts(PresetName::Default, swapped), [Disagree; 11]);
        assert_eq!(verdicts(PresetName::Quick, rests), [TooLittle; 11]);
        assert_eq!(verdicts(PresetName::Default, |_| (f64::NAN, f64::NAN)), [TooLittle; 11]);
    }
}
