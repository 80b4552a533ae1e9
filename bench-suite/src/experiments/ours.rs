//! Families of different shape and their training: draws in the plane, checks of gains, lost modes and climbs.

use mcsa_core::Seed;
use mcsa_data::Catalogue;
use mcsa_plot::{Axis, Color, Figure, Layer, Marker, Panel, Style};

use crate::catalog::Target;
use crate::claims::{Check, ENOUGH, Finding, greatest, least, mean};
use crate::figures::FigureFile;
use crate::figures::curves::status;
use crate::interval::{Interval, bootstrap};
use crate::look;
use crate::metric::Vector;
use crate::results::{Results, Series};
use crate::selector::family;
use crate::task::Task;
use mcsa_diagnostics::quantile;

/// Checks of the claims on families.
pub(super) const FAMILIES: [(&str, Check); 9] = [
    ("mean_field_stays_above", mean_field_stays_above),
    ("flow_is_exact", flow_is_exact),
    ("nearer_on_banana", |results| gain(results, "banana", 0.1)),
    ("nearer_on_moons", |results| gain(results, "moons", 0.1)),
    ("nearer_on_funnel", |results| gain(results, "funnel", 0.1)),
    ("close_on_schools", |results| gain(results, "eight-schools", -0.02)),
    ("close_on_pima", |results| gain(results, "pima", -0.02)),
    ("accepts_more", accepts_more),
    ("learns", learns),
];
/// Checks of the claims on training.
pub(super) const DIRECTIONS: [(&str, Check); 1] = [("lost_modes_are_silent", lost_modes_are_silent)];
/// Checks of the claims on climbs: title of the case, limits of the error, of k-hat and of the share of the draws.
pub(super) const LADDER: [(&str, Check); 3] = [
    ("pima_within_budget", |results| climb(results, "hierarchical logistic: pima", 0.1, Some((0.7, 0.45)))),
    ("german_within_budget", |results| {
        climb(results, "hierarchical logistic: german_credit_numeric", 0.15, None)
    }),
    ("wishart_within_budget", |results| climb(results, "Gaussian: d 100", 0.05, Some((0.7, 0.4)))),
];

const MISSING: &str = "no fits of the families compared";
pub(super) const FLOWS: [&str; 2] = ["affine-flow", "spline-flow"];
const OTHERS: [&str; 3] = ["mean-field", "full-rank", "student-t"];

/// A metric at the end of the fits of a family.
fn ends(results: &Results, target: &str, kind: &str, metric: &str) -> Vec<f64> {
    let series = results.of_target(target).into_iter().find(|series| family(series) == kind);
    series.map(|series| series.last(metric)).unwrap_or_default()
}

/// Divergence at the end.
fn divergence(results: &Results, target: &str, kind: &str) -> Option<Interval> {
    bootstrap(&ends(results, target, kind, "kl"), 0.8).filter(|found| found.replicates >= ENOUGH)
}

/// Least mean divergence at the end of several families.
fn best(results: &Results, target: &str, kinds: &[&str]) -> Option<f64> {
    kinds.iter().filter_map(|kind| Some(divergence(results, target, kind)?.value)).reduce(f64::min)
}

fn mean_field_stays_above(results: &Results) -> Finding {
    match divergence(results, "correlated-gaussian", "mean-field") {
        Some(found) => {
            Finding::at_least(found.low, 4.0, "lower end of the 80 % interval of the mean divergence, nats")
        }
        None => Finding::too_little(MISSING),
    }
}

fn flow_is_exact(results: &Results) -> Finding {
    match best(results, "correlated-gaussian", &FLOWS) {
        Some(best) => Finding::at_most(best, 0.01, "mean divergence of the better flow, nats"),
        None => Finding::too_little(MISSING),
    }
}

/// Finding on the divergence of the best other family minus that of the better flow.
fn gain(results: &Results, target: &str, by: f64) -> Finding {
    let (Some(flow), Some(other)) = (best(results, target, &FLOWS), best(results, target, &OTHERS)) else {
        return Finding::too_little(MISSING);
    };
    let what = format!(
        "mean divergence of the best other family, {other:.4}, less that of the better flow, {flow:.4}, nats"
    );
    Finding::at_least(other - flow, by, what)
}

fn accepts_more(results: &Results) -> Finding {
    let mut gains = Vec::new();
    for target in ["banana", "moons", "correlated-gaussian", "funnel", "eight-schools", "pima"] {
        for flow in FLOWS {
            let [ours, plain] = [flow, "mean-field"].map(|kind| divergence(results, target, kind));
            if ours.zip(plain).is_some_and(|(ours, plain)| ours.value < plain.value) {
                let [ours, plain] =
                    [flow, "mean-field"].map(|kind| mean(&ends(results, target, kind, "acceptance")));
                gains.push(ours - plain);
            }
        }
    }
    match gains.is_empty() {
        true => Finding::too_little(MISSING),
        false => Finding::at_least(least(gains), 0.0, "least gain in the mean acceptance at the end"),
    }
}

fn learns(results: &Results) -> Finding {
    let mut worst = Vec::new();
    for series in ["banana", "moons"].into_iter().flat_map(|target| results.of_target(target)) {
        let steps = series.steps();
        let (Some(&last), true) = (steps.last(), FLOWS.contains(&family(&series))) else { continue };
        let moved = |name: &str| Some(series.median_at(last, name)? - series.median_at(last / 4, name)?);
        if let (Some(acceptance), Some(bound)) = (moved("acceptance"), moved("log_weight_bound")) {
            worst.push(greatest([-acceptance, bound]));
        }
    }
    let what = "greatest of the losses of acceptance and the gains of the log of the largest weight";
    match worst.is_empty() {
        true => Finding::too_little(MISSING),
        false => Finding::at_most(greatest(worst), 0.0, what),
    }
}

fn lost_modes_are_silent(results: &Results) -> Finding {
    let pairs = results
        .series()
        .into_iter()
        .flat_map(|series| series.last("share").into_iter().zip(series.last("k_hat")).collect::<Vec<_>>());
    let shapes: Vec<f64> = pairs.filter(|(share, _)| *share < 0.05).map(|(_, k_hat)| k_hat).collect();
    if shapes.len() < ENOUGH {
        return Finding::too_little("fewer than three fits lost the second mode");
    }
    let what = format!(
        "largest k-hat of the {} fits without the second mode; the least is {:.2}",
        shapes.len(),
        least(shapes.clone())
    );
    Finding::at_most(greatest(shapes), 0.7, what)
}

/// The claim that the median error of the climbs within a given number of evaluations is at most `error`, and that k-hat and share of
/// the draws keep their limits.
fn climb(results: &Results, title: &str, error: f64, weights: Option<(f64, f64)>) -> Finding {
    let is_it = |series: &Series<'_>| match (series.task, series.target()) {
        // Those of the ladder have about as many chains as dimensions.
        (Task::Rung(rung), Target::Case { case }) => {
            let is_of_ladder = case.kind() == "wishart"
                && case.dim().map(|dim| dim.clamp(10, 256)) == Some(rung.method.budget());
            case.title() == title && !is_of_ladder
        }
        _ => false,
    };
    let Some(series) = results.find(is_it) else { return Finding::too_little("no climbs") };
    let median = |metric| {
        let (mut values, _): (Vec<f64>, Vec<f64>) = series.pairs(metric, metric).into_iter().unzip();
        let is_known = !values.is_empty() && !values.iter().any(|value| value.is_nan());
        if is_known { quantile(&mut values, 0.5) } else { f64::NAN }
    };
    let [found, k_hat, share, of_q] = ["answer_error", "k_hat", "sample_share", "fit_error"].map(median);
    let mut ratios = vec![found / error];
    ratios.extend(weights.into_iter().flat_map(|(shape, least)| [k_hat / shape, least / share]));
    let what = format!(
        "largest ratio of a median to its limit: error {found:.3} of {error} (of the mean of q {of_q:.3}), k-hat {k_hat:.2}, draws worth {:.0} %",
        100.0 * share
    );
    Finding::at_most(greatest(ratios), 1.0, what)
}

/// Draws of the target, pale, and of every family over them, from the first replicate, in two dimensions.
pub(super) fn plane(results: &Results) -> Vec<FigureFile> {
    let mut labels: Vec<String> = Vec::new();
    for series in results.series() {
        if !labels.iter().any(|label| label == series.target().label()) {
            labels.push(series.target().label().to_owned());
        }
    }
    let mut rows: Vec<Vec<Panel>> = Vec::new();
    for label in labels {
        let mut per_row = Vec::new();
        for series in results.of_target(&label) {
            let Some(row) = series.outcomes.first().and_then(|outcome| outcome.rows.last()) else { continue };
            let (Some(x), Some(y)) = (row.vectors.get(&Vector::DrawsX), row.vectors.get(&Vector::DrawsY))
            else {
                continue;
            };
            let (name, style) = look::family(family(&series));
            let ordinate = if per_row.is_empty() { format!("{label}, *z*_{{2}}") } else { String::new() };
            let mut panel = Panel::new(Axis::linear("*z*_{1}"), Axis::linear(ordinate)).titled(name);
            if let Some(([low, high], points)) = truth(series.target()) {
                let (u, v): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
                let pale =
                    Style { color: Color::GREY, marker: Marker::Circle, opacity: 0.25, ..Style::reference() };
                panel = panel.with(Layer::points(u, v).styled(pale.sized(1.2)));
                panel.x = panel.x.spanning(low.0, high.0);
                panel.y = panel.y.spanning(low.1, high.1);
            }
            let dots = Style { marker: Marker::Circle, opacity: 0.75, ..style };
            per_row.push(panel.with(Layer::points(x.clone(), y.clone()).styled(dots.sized(1.4))));
        }
        rows.extend(Some(per_row).filter(|row| !row.is_empty()));
    }
    let columns = rows.first().map_or(2, |row| row.len().clamp(2, 5));
    let mut panels: Vec<Panel> = rows.into_iter().flatten().collect();
    if panels.is_empty() {
        panels.push(Panel::new(Axis::linear("*z*_{1}"), Axis::linear("*z*_{2}")));
    }
    let text = "Grey: 2000 draws of the target. Coloured: 400 draws of the fitted family, first replicate; what lies \
                outside the frame is not shown.";
    let mut figure = Figure::new(panels).captioned(format!("{text}{}", status(results))).shaped(1.0);
    figure.columns = columns;
    vec![FigureFile::new("plane", figure)]
}

/// Plot range with room for tails, and draws.
type Cloud = ([(f64, f64); 2], Vec<(f64, f64)>);

fn truth(target: &Target) -> Option<Cloud> {
    let reference = target.reference(&Catalogue::new(None), Seed::new(0)).ok()?;
    let points: Vec<(f64, f64)> = reference.points.col_iter().take(2_000).map(|z| (z[0], z[1])).collect();
    let span = |of: fn(&(f64, f64)) -> f64| {
        let low = points.iter().map(of).fold(f64::INFINITY, f64::min);
        let high = points.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        let margin = 0.15 * (high - low);
        (low - margin, high + margin)
    };
    let ((left, right), (bottom, top)) = (span(|z| z.0), span(|z| z.1));
    Some(([(left, bottom), (right, top)], points))
}
