//! Standard figures: metrics along fits, and at their end.

use mcsa_plot::{Axis, Dash, Figure, Layer, Panel, Style};

use super::FigureFile;
use super::curves::{provenance, status, with_medians};
use crate::interval::bootstrap;
use crate::look;
use crate::results::{Results, Series};
use crate::tables::{Differences, metrics};

/// A figure for each metric that is recorded along the way, with a panel for each target, and one of all metrics at the end.
pub fn standard(results: &Results) -> Vec<FigureFile> {
    let (names, differences) = (metrics(results), Differences::of(&results.series()));
    let is_traced = results.series().iter().any(|series| series.steps().len() > 2);
    let traces = names.iter().filter(|_| is_traced).map(|name| trace(results, &differences, name));
    traces.chain([FigureFile::new("end", end(results, &differences, &names))]).collect()
}

/// Title of an axis.
fn label(name: &str) -> String {
    match name {
        "kl" => "KL(*p* ∥ *q*)".to_owned(),
        "accuracy" => "Test accuracy".to_owned(),
        "lpd" => "Test log predictive density".to_owned(),
        "rmse" => "Test RMSE".to_owned(),
        "log_z" => "Estimate of log *p*(*y*)".to_owned(),
        name => escaped(name),
    }
}

/// A text without markup.
fn escaped(text: &str) -> String {
    let letters = text.chars().flat_map(|c| "\\*^_{}".contains(c).then_some('\\').into_iter().chain([c]));
    letters.collect()
}

/// Name and style of a series; members of one kind of method go from light and broken to dark and solid.
fn style(differences: &Differences, series: &Series<'_>) -> (String, Style) {
    let name = escaped(&differences.method(series)).replace(", N = ", ", *N* = ");
    let (member, members) = differences.member(series);
    let dash = [Dash::Short, Dash::Long, Dash::Dotdash][member % 3];
    match (members, member + 1 == members) {
        (1, _) => (name, look::style(series.method())),
        (_, true) => (name, look::shade(series.method(), member, members)),
        _ => (name, Style { dash, ..look::shade(series.method(), member, members) }),
    }
}

fn trace(results: &Results, differences: &Differences, name: &str) -> FigureFile {
    let series = results.series();
    let is_log = spans_decades(series.iter().flat_map(|series| series.quantiles(name, [0.5]).1[0].clone()));
    let panel = |place: &String| {
        let here: Vec<Series<'_>> =
            series.iter().filter(|series| differences.place(series) == *place).cloned().collect();
        let steps = here.first().map(Series::steps).unwrap_or_default();
        let (x, from) =
            if doubles(&steps) { (Axis::log("Iteration"), 1) } else { (Axis::linear("Iteration"), 0) };
        let y = match (is_log, from) {
            (true, _) => Axis::log(label(name)),
            (false, 0) => late(&here, name, Axis::linear(label(name))),
            (false, _) => Axis::linear(label(name)),
        };
        let mut panel = Panel::new(x, y).titled(escaped(place));
        let floor = here.iter().find_map(|series| series.last(&format!("{name}_floor")).first().copied());
        let floor = floor.filter(|floor| !is_log || *floor > 0.0);
        panel.layers.extend(floor.map(|floor| Layer::horizontal_rule(floor).named("best in the family")));
        with_medians(panel, &here, name, from, |series| style(differences, series))
    };
    let panels: Vec<Panel> = differences.places().iter().map(panel).collect();
    let columns = if panels.len() == 4 { 2 } else { panels.len().clamp(1, 3) };
    let is_single = panels.len() == 1;
    let mut figure = Figure::new(panels).captioned(provenance(results));
    (figure.columns, figure.shares_legend, figure.shares_y) = (columns, !is_single, is_log && !is_single);
    if is_single {
        figure = figure.wide(120.0);
    }
    FigureFile::new(name, figure)
}

/// Returns true if the second half of the recorded steps covers most of the range, as logarithmic spacing does.
fn doubles(steps: &[u64]) -> bool {
    match (steps.get(steps.len() / 2), steps.last()) {
        (Some(middle), Some(last)) => *last > 30 && 5 * middle < *last,
        _ => false,
    }
}

/// Returns true if all finite values are positive and differ more than tenfold.
fn spans_decades(values: impl Iterator<Item = f64>) -> bool {
    let finite = values.filter(|value| value.is_finite());
    let (low, high) =
        finite.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    low > 0.0 && high > 10.0 * low
}

/// Scales a linear axis to bands after the first tenth of the steps if early values would compress the rest.
fn late(series: &[Series<'_>], name: &str, axis: Axis) -> Axis {
    let (mut all, mut late) = ((f64::INFINITY, f64::NEG_INFINITY), (f64::INFINITY, f64::NEG_INFINITY));
    for series in series {
        let (steps, columns) = series.quantiles(name, super::curves::EIGHTY);
        let border = 0.1 * steps.last().copied().unwrap_or(0.0);
        for column in columns {
            for (step, value) in steps.iter().zip(column).filter(|(_, value)| value.is_finite()) {
                all = (all.0.min(value), all.1.max(value));
                if *step >= border {
                    late = (late.0.min(value), late.1.max(value));
                }
            }
        }
    }
    let (width, margin) = (late.1 - late.0, 0.05 * (late.1 - late.0));
    let is_compressed = width > 0.0 && all.1 - all.0 > 4.0 * width;
    if is_compressed { axis.spanning(late.0 - margin, late.1 + margin) } else { axis }
}

/// Means at the end with intervals: a panel for each metric, a row for each target.
fn end(results: &Results, differences: &Differences, names: &[String]) -> Figure {
    let series = results.series();
    let places = differences.places();
    let panel = |name: &String| {
        let found =
            |series: &Series<'_>| Some((differences.place(series), bootstrap(&series.last(name), 0.8)?));
        let all: Vec<f64> =
            series.iter().filter_map(found).flat_map(|(_, all)| [all.low, all.high]).collect();
        let x =
            if spans_decades(all.into_iter()) { Axis::log(label(name)) } else { Axis::linear(label(name)) };
        let mut panel = Panel::new(x, Axis::categories("", places.iter().map(|place| escaped(place))));
        let mut methods: Vec<(String, Style)> = Vec::new();
        for series in &series {
            let method = style(differences, series);
            if !methods.contains(&method) {
                methods.push(method);
            }
        }
        for (index, method) in methods.iter().enumerate() {
            let mut columns = [const { Vec::new() }; 4];
            for series in series.iter().filter(|series| style(differences, series) == *method) {
                let Some((place, all)) = found(series) else { continue };
                let row = places.iter().position(|known| *known == place).unwrap_or(0) as f64;
                let values = [row, all.value, all.low, all.high];
                columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
            }
            let [at, value, low, high] = columns;
            let layer = Layer::intervals(at, value, low, high).horizontal().dodged(index, methods.len());
            panel = panel.with(layer.named(method.0.clone()).styled(method.1));
        }
        panel
    };
    let mut panels: Vec<Panel> = names.iter().map(panel).collect();
    if panels.is_empty() {
        panels.push(Panel::new(Axis::linear(""), Axis::linear("")));
    }
    let columns = panels.len().min(2);
    let rows = places.len() as f64;
    let mut figure = Figure::new(panels).shaped((0.14 + 0.12 * rows).clamp(0.3, 1.4));
    (figure.columns, figure.shares_y, figure.shares_legend) = (columns, true, true);
    if columns == 1 {
        figure = figure.wide(120.0);
    }
    figure.captioned(format!(
        "Means over {} replicates at the end, with 80 % bootstrap intervals.{}",
        results.replicates(),
        status(results)
    ))
}
