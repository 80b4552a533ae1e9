//! Standard figures: metrics along fits, and at their end.

use mcsa_plot::{Axis, Dash, Figure, Layer, Panel, Style};

use super::FigureFile;
use super::curves::{EIGHTY, FEWEST, Mean, banded, intervals, late, or_empty, provenance, status};
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
            // Early values may compress the rest.
            (false, 0) => match late(here.iter().map(|series| series.quantiles(name, EIGHTY))) {
                Some((times, (low, high))) if times > 4.0 => Axis::linear(label(name)).spanning(low, high),
                _ => Axis::linear(label(name)),
            },
            (false, _) => Axis::linear(label(name)),
        };
        let mut panel = Panel::new(x, y).titled(escaped(place));
        let floor = here.iter().find_map(|series| series.last(&format!("{name}_floor")).first().copied());
        let floor = floor.filter(|floor| !is_log || *floor > 0.0);
        panel.layers.extend(floor.map(|floor| Layer::horizontal_rule(floor).named("best in the family")));
        let line = |series: &Series<'_>| {
            (style(differences, series), series.outcomes.len() >= FEWEST, series.quantiles(name, EIGHTY))
        };
        banded(panel, Some(from), here.iter().map(line).collect())
    };
    let panels: Vec<Panel> = differences.places.iter().map(panel).collect();
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

/// Means at the end with intervals: a panel for each metric, a row for each target.
fn end(results: &Results, differences: &Differences, names: &[String]) -> Figure {
    let series = results.series();
    let places = &differences.places;
    let panel = |name: &String| {
        let row = |series: &Series<'_>| {
            let place = differences.place(series);
            let at = places.iter().position(|known| *known == place).unwrap_or(0) as f64;
            (style(differences, series), at, bootstrap(&series.last(name), 0.8))
        };
        let rows: Vec<Mean> = series.iter().map(row).collect();
        let ends = rows.iter().filter_map(|(_, _, mean)| *mean).flat_map(|mean| [mean.low, mean.high]);
        let x = if spans_decades(ends) { Axis::log(label(name)) } else { Axis::linear(label(name)) };
        let panel = Panel::new(x, Axis::categories("", places.iter().map(|place| escaped(place))));
        intervals(panel, &rows)
    };
    let panels = or_empty(names.iter().map(panel).collect(), [Axis::linear(""), Axis::linear("")]);
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
