//! pMCSA: held-out responses along fits, and the weights that a network keeps.

use super::Plate;
use super::curves::{provenance_of_means, status, with_means};
use crate::catalog::NEAR_ZERO;
use crate::draw::{Axis, Dash, Figure, Layer, Marker, Panel, Style};
use crate::evidence::{Evidence, Series};
use crate::interval::bootstrap;
use crate::look;

/// Curves of both metrics against iterations and against seconds, the end as a forest, and the weights.
pub fn neural_regression(evidence: &Evidence) -> Vec<Plate> {
    let mut plates = curves(evidence);
    plates.push(Plate::new("end", forest(evidence, &["lpd", "rmse"])));
    plates.push(Plate::new("pruning", pruning(evidence)));
    plates
}

/// The same without weights; the end with the published variance beside the correct one.
pub fn robust_process(evidence: &Evidence) -> Vec<Plate> {
    let mut plates = curves(evidence);
    plates.push(Plate::new("end", forest(evidence, &["lpd", "lpd_as_published", "rmse"])));
    plates
}

/// The sets that were fitted, in the order of the file.
fn sets(evidence: &Evidence) -> Vec<String> {
    let mut sets: Vec<String> = Vec::new();
    for series in evidence.series() {
        if !sets.iter().any(|set| set == series.target().label()) {
            sets.push(series.target().label().to_owned());
        }
    }
    if sets.is_empty() { vec!["yacht".to_owned()] } else { sets }
}

/// Ten draws of a method that is shown with one draw as well are broken by dots.
fn look(series: &Series<'_>) -> (String, Style) {
    let (kind, budget) = (series.method().kind(), series.method().budget());
    let style = look::style(series.method());
    let name = look::name(kind);
    match (kind, budget) {
        ("stl", 1) => (format!("{name}, *N* = 1"), style),
        ("stl", _) => {
            (format!("{name}, *N* = {budget}"), Style { dash: Dash::Dotted, marker: Marker::Ring, ..style })
        }
        _ => (name.to_owned(), style),
    }
}

fn label(name: &str) -> &str {
    match name {
        "lpd" => "Test log predictive density",
        "lpd_as_published" => "The same, published variance",
        "rmse" => "Test RMSE",
        name => name,
    }
}

/// Early steps would squeeze all the rest: an axis for a metric of a set, from bands after the first tenth of the steps.
fn axis(series: &[Series<'_>], name: &str) -> Axis {
    let late = |series: &Series<'_>| {
        let (steps, [low, _, high]) = series.means(name, 0.8);
        let from = 0.1 * steps.last().copied().unwrap_or(0.0);
        let first = steps.iter().take_while(|step| **step < from).count();
        let late = low[first..].iter().chain(&high[first..]).copied();
        late.filter(|value| value.is_finite()).collect::<Vec<_>>()
    };
    let values: Vec<f64> = series.iter().flat_map(late).collect();
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    let margin = 0.05 * (high - low);
    let axis = Axis::linear(label(name));
    if margin > 0.0 && margin.is_finite() { axis.spanning(low - margin, high + margin) } else { axis }
}

fn curves(evidence: &Evidence) -> Vec<Plate> {
    let sets = sets(evidence);
    let figure = |panels: Vec<Panel>, caption: String| {
        let mut figure = Figure::new(panels).shaped(0.75).captioned(caption);
        (figure.columns, figure.shares_legend) = (sets.len().clamp(2, 4), true);
        figure
    };
    let mut panels = Vec::new();
    for name in ["lpd", "rmse"] {
        for set in &sets {
            let series = evidence.of_target(set);
            let panel = Panel::new(Axis::linear("Iteration"), axis(&series, name)).titled(set.clone());
            panels.push(with_means(panel, &series, name, 0, look));
        }
    }
    let iterations = figure(panels, provenance_of_means(evidence));
    let mut panels = Vec::new();
    for name in ["lpd", "rmse"] {
        for set in &sets {
            let all = evidence.of_target(set);
            let mut panel = Panel::new(Axis::log("Seconds"), axis(&all, name)).titled(set.clone());
            for series in &all {
                let (steps, [_, middle, _]) = series.means(name, 0.8);
                let (clock, [_, seconds, _]) = series.means("seconds", 0.8);
                if steps != clock {
                    continue;
                }
                let (name, style) = look(series);
                let later = usize::from(!seconds.is_empty());
                let layer = Layer::line(seconds[later..].to_vec(), middle[later..].to_vec());
                panel = panel.with(layer.named(name).styled(style));
            }
            panels.push(panel);
        }
    }
    let caption = format!(
        "Means of {} replicates against the mean time, measures not counted; jobs ran side by side.{}",
        evidence.replicates(),
        status(evidence)
    );
    vec![Plate::new("iterations", iterations), Plate::new("seconds", figure(panels, caption))]
}

/// A row for each set, a panel for each metric.
fn forest(evidence: &Evidence, names: &[&str]) -> Figure {
    let sets = sets(evidence);
    let panels = names.iter().map(|name| {
        let axis = Axis::categories("", sets.iter().map(String::as_str));
        let mut panel = Panel::new(Axis::linear(label(name)), axis);
        let mut methods: Vec<(String, usize)> = Vec::new();
        for series in evidence.series() {
            let method = (series.method().kind().to_owned(), series.method().budget());
            if !methods.contains(&method) {
                methods.push(method);
            }
        }
        for (index, (kind, budget)) in methods.iter().enumerate() {
            let (mut columns, mut named) = ([const { Vec::new() }; 4], None);
            for (place, set) in sets.iter().enumerate() {
                let all = evidence.of_target(set);
                let Some(series) = all.iter().find(|series| series.is(kind, *budget)) else { continue };
                named = Some(look(series));
                let Some(interval) = bootstrap(&series.last(name), 0.95) else { continue };
                let values = [place as f64, interval.value, interval.low, interval.high];
                columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
            }
            let Some((name, style)) = named else { continue };
            let [at, value, low, high] = columns;
            let layer = Layer::intervals(at, value, low, high).horizontal().dodged(index, methods.len());
            panel = panel.with(layer.named(name).styled(style));
        }
        panel
    });
    let mut figure = Figure::new(panels.collect()).shaped(0.8);
    (figure.columns, figure.shares_y, figure.shares_legend) = (names.len(), true, true);
    figure.captioned(format!(
        "Means over {} splits at the last iteration, with 95 % bootstrap intervals.{}",
        evidence.replicates(),
        status(evidence)
    ))
}

/// The share of weights whose mean is closer to zero than the abscissa.
fn pruning(evidence: &Evidence) -> Figure {
    let panels = sets(evidence).into_iter().map(|set| {
        let x = Axis::log("Distance from zero");
        let y = Axis::linear("Share of weights").spanning(0.0, 1.0);
        let mut panel = Panel::new(x, y).titled(set.clone());
        for series in evidence.of_target(&set) {
            if !matches!(series.method().kind(), "pmcsa" | "stl") {
                continue;
            }
            let (name, style) = look(&series);
            let (mut bounds, mut columns) = (Vec::new(), [const { Vec::new() }; 3]);
            for (name, bound) in NEAR_ZERO {
                let Some(interval) = bootstrap(&series.last(name), 0.8) else { continue };
                bounds.push(bound);
                let values = [interval.low, interval.value, interval.high];
                columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
            }
            let [low, middle, high] = columns;
            panel = panel
                .with(Layer::band(bounds.clone(), low, high).styled(style))
                .with(Layer::line(bounds, middle).named(name).styled(style));
        }
        panel
    });
    let figure = Figure::new(panels.collect()).as_multiples(2).shaped(0.8);
    figure.captioned(format!(
        "The share of the network's weights whose mean under *q* is closer to zero, at the last iteration: means over {} \
         replicates, bands are 80 % bootstrap intervals. A curve further up on the left is a network with more weights \
         pruned.{}",
        evidence.replicates(),
        status(evidence)
    ))
}
