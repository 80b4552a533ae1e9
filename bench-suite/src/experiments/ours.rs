//! Families of different shape and their training: draws in the plane, checks of gains, lost modes and climbs.

use mcsa_core::Seed;
use mcsa_data::Catalogue;
use mcsa_plot::{Axis, Color, Figure, Layer, Marker, Panel, Style};

use crate::catalog::Target;
use crate::claims::{Check, Checked, ENOUGH, Finding, greatest, least, mean};
use crate::figures::{FigureFile, or_empty, status};
use crate::interval::{Interval, bootstrap};
use crate::look;
use crate::metric::Vector;
use crate::results::{Results, Series};
use crate::selector::family;
use crate::tables::{in_groups, median};
use crate::task::Task;

pub(super) const CHECKS: [(&str, Check); 13] = [
    ("mean_field_stays_above", |results| {
        let low = divergence(results, "correlated-gaussian", "mean-field").ok_or(MISSING)?.low;
        Ok(Finding::at_least(low, 4.0, "lower end of the 80 % interval of the mean divergence, nats"))
    }),
    ("flow_is_exact", |results| {
        let best = best(results, "correlated-gaussian", &FLOWS)?;
        Ok(Finding::at_most(best, 0.01, "mean divergence of the better flow, nats"))
    }),
    ("nearer_on_banana", |results| gain(results, "banana", 0.1)),
    ("nearer_on_moons", |results| gain(results, "moons", 0.1)),
    ("nearer_on_funnel", |results| gain(results, "funnel", 0.1)),
    ("close_on_schools", |results| gain(results, "eight-schools", -0.02)),
    ("close_on_pima", |results| gain(results, "pima", -0.02)),
    ("accepts_more", accepts_more),
    ("learns", learns),
    ("lost_modes_are_silent", lost_modes_are_silent),
    ("pima_within_budget", |results| climb(results, "hierarchical logistic: pima", 0.1, Some((0.7, 0.45)))),
    ("german_within_budget", |results| {
        climb(results, "hierarchical logistic: german_credit_numeric", 0.15, None)
    }),
    ("wishart_within_budget", |results| climb(results, "Gaussian: d 100", 0.05, Some((0.7, 0.4)))),
];

const MISSING: &str = "no fits of the families compared";
pub(super) const FLOWS: [&str; 2] = ["affine-flow", "spline-flow"];
const OTHERS: [&str; 3] = ["mean-field", "full-rank", "student-t"];

fn ends(results: &Results, target: &str, kind: &str, metric: &str) -> Vec<f64> {
    let series = results.of_target(target).into_iter().find(|series| family(series) == kind);
    series.map(|series| series.last(metric)).unwrap_or_default()
}

fn divergence(results: &Results, target: &str, kind: &str) -> Option<Interval> {
    bootstrap(&ends(results, target, kind, "kl"), 0.8).filter(|found| found.replicates >= ENOUGH)
}

/// Least mean divergence at the end of several families.
fn best(results: &Results, target: &str, kinds: &[&str]) -> Result<f64, String> {
    let means = kinds.iter().filter_map(|kind| Some(divergence(results, target, kind)?.value));
    Ok(means.reduce(f64::min).ok_or(MISSING)?)
}

fn gain(results: &Results, target: &str, by: f64) -> Checked {
    let (flow, other) = (best(results, target, &FLOWS)?, best(results, target, &OTHERS)?);
    let what = format!(
        "mean divergence of the best other family, {other:.4}, less that of the better flow, {flow:.4}, nats"
    );
    Ok(Finding::at_least(other - flow, by, what))
}

fn some(numbers: Vec<f64>) -> Result<Vec<f64>, String> {
    if numbers.is_empty() { Err(MISSING.to_owned()) } else { Ok(numbers) }
}

fn accepts_more(results: &Results) -> Checked {
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
    Ok(Finding::at_least(least(some(gains)?), 0.0, "least gain in the mean acceptance at the end"))
}

fn learns(results: &Results) -> Checked {
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
    Ok(Finding::at_most(greatest(some(worst)?), 0.0, what))
}

fn lost_modes_are_silent(results: &Results) -> Checked {
    let all = results.series();
    let pairs = all.iter().flat_map(|series| series.last("share").into_iter().zip(series.last("k_hat")));
    let shapes: Vec<f64> = pairs.filter(|(share, _)| *share < 0.05).map(|(_, k_hat)| k_hat).collect();
    if shapes.len() < ENOUGH {
        return Err("fewer than three fits lost the second mode".to_owned());
    }
    let what = format!(
        "largest k-hat of the {} fits without the second mode; the least is {:.2}",
        shapes.len(),
        least(shapes.clone())
    );
    Ok(Finding::at_most(greatest(shapes), 0.7, what))
}

/// The claim that the median error of the climbs within a given number of evaluations is at most `error`, and that k-hat and share of
/// the draws keep their limits.
fn climb(results: &Results, title: &str, error: f64, weights: Option<(f64, f64)>) -> Checked {
    let is_it = |series: &Series<'_>| match (series.task, series.target()) {
        // Those of the ladder have about as many chains as dimensions.
        (Task::Rung(rung), Target::Case { case }) => {
            let is_of_ladder = case.kind() == "wishart"
                && case.dim().map(|dim| dim.clamp(10, 256)) == Some(rung.method.budget());
            case.title() == title && !is_of_ladder
        }
        _ => false,
    };
    let series = results.find(is_it).ok_or("no climbs")?;
    let median = |metric| median(series.pairs(metric, metric).into_iter().map(|(value, _)| value));
    let [found, k_hat, share, of_q] = ["answer_error", "k_hat", "sample_share", "fit_error"].map(median);
    let mut ratios = vec![found / error];
    ratios.extend(weights.into_iter().flat_map(|(shape, least)| [k_hat / shape, least / share]));
    let what = format!(
        "largest ratio of a median to its limit: error {found:.3} of {error} (of the mean of q {of_q:.3}), k-hat {k_hat:.2}, draws worth {:.0} %",
        100.0 * share
    );
    Ok(Finding::at_most(greatest(ratios), 1.0, what))
}

/// Draws of the target, pale, and of every family over them, from the first replicate, in two dimensions.
pub(super) fn plane(results: &Results) -> Vec<FigureFile> {
    let series = results.series();
    let rows = in_groups(series.iter().map(|series| (series.target().label(), series))).into_iter();
    let panel = |(place, (label, series, [x, y])): (usize, (&str, &Series<'_>, [&Vec<f64>; 2]))| {
        let (_, name, style) = look::of(family(series));
        let ordinate = if place == 0 { format!("{label}, *z*_{{2}}") } else { String::new() };
        let mut panel = Panel::new(Axis::linear("*z*_{1}"), Axis::linear(ordinate)).titled(name);
        if let Some((u, v)) = truth(series.target()) {
            let pale =
                Style { color: Color::GREY, marker: Marker::Circle, opacity: 0.25, ..Style::reference() };
            panel.x = spanning(panel.x, &u);
            panel.y = spanning(panel.y, &v);
            panel = panel.with(Layer::points(u.into_iter().zip(v)).styled(pale.sized(1.2)));
        }
        let dots = Style { marker: Marker::Circle, opacity: 0.75, ..style };
        panel.with(Layer::points(x.iter().copied().zip(y.iter().copied())).styled(dots.sized(1.4)))
    };
    let rows = rows.map(|(label, all)| {
        let drawn = all.into_iter().filter_map(|series| {
            let vectors = &series.outcomes.first()?.rows.last()?.vectors;
            Some((label, series, [vectors.get(&Vector::DrawsX)?, vectors.get(&Vector::DrawsY)?]))
        });
        drawn.enumerate().map(panel).collect::<Vec<Panel>>()
    });
    let rows: Vec<Vec<Panel>> = rows.filter(|row| !row.is_empty()).collect();
    let columns = rows.first().map_or(2, |row| row.len().clamp(2, 5));
    let empty = [Axis::linear("*z*_{1}"), Axis::linear("*z*_{2}")];
    let text = "Grey: 2000 draws of the target. Coloured: 400 draws of the fitted family, first replicate; what lies \
                outside the frame is not shown.";
    let figure = Figure::new(or_empty(rows.concat(), empty)).shaped(1.0);
    let figure = Figure { columns, ..figure.captioned(format!("{text}{}", status(results))) };
    vec![FigureFile::new("plane", figure)]
}

/// The axis with the range of some values and room for tails.
fn spanning(axis: Axis, values: &[f64]) -> Axis {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let margin = 0.15 * (high - low);
    axis.spanning(low - margin, high + margin)
}

/// Coordinates of draws of a target, if it has any.
fn truth(target: &Target) -> Option<(Vec<f64>, Vec<f64>)> {
    let reference = target.reference(&Catalogue::new(None), Seed::new(0)).ok()?;
    Some(reference.points.col_iter().take(2_000).map(|z| (z[0], z[1])).unzip())
}
