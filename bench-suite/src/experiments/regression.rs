//! Held-out metrics of regressions along fits, and pruning of network weights (pMCSA).

use mcsa_plot::{Axis, Dash, Figure, Layer, Marker, Panel, Style};

use crate::catalog::Start;
use crate::figures::Plate;
use crate::figures::curves::{FEWEST, provenance_of_means, status, with_means};
use crate::interval::bootstrap;
use crate::look;
use crate::metric::Vector;
use crate::results::{Results, Series};

/// Both metrics against iterations and against seconds, final values as a forest plot, and densities of the weights.
pub(crate) fn neural_regression(results: &Results) -> Vec<Plate> {
    let mut plates = curves(results);
    plates.push(Plate::new("end", forest(results, &["lpd", "rmse"])));
    plates.push(Plate::new("pruning", pruning(results)));
    plates
}

/// As [`neural_regression`] without weights; final values with the published variance beside the correct one.
pub(crate) fn robust_process(results: &Results) -> Vec<Plate> {
    let mut plates = curves(results);
    plates.push(Plate::new("end", forest(results, &["lpd", "lpd_as_published", "rmse"])));
    plates
}

/// Data sets that were fitted, in the order of the file.
fn sets(results: &Results) -> Vec<String> {
    let mut sets: Vec<String> = Vec::new();
    for series in results.series() {
        if !sets.iter().any(|set| set == series.target().label()) {
            sets.push(series.target().label().to_owned());
        }
    }
    if sets.is_empty() { vec!["yacht".to_owned()] } else { sets }
}

/// Name and style of a series. STL with more than one draw per step is dotted with hollow markers.
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

/// Returns true if a fit begins at the default start of its method.
fn is_main(results: &Results, series: &Series<'_>) -> bool {
    let first = results.experiment.fits.as_ref().map(|fits| fits.start_of(series.method()));
    series.fit().map(|fit| fit.start) == first
}

/// Series of a data set that begin at the default start of their method.
fn of_set<'e>(results: &'e Results, set: &str) -> Vec<Series<'e>> {
    let mut all = results.of_target(set);
    all.retain(|series| is_main(results, series));
    all
}

/// Name and style in the forest plot, which shows all starts: other starts than the default are named and have hollow
/// markers.
fn look_with_start(results: &Results, series: &Series<'_>) -> (String, Style) {
    let (name, style) = look(series);
    match series.fit().map(|fit| fit.start) {
        Some(Start::FixedRho { rho }) if !is_main(results, series) => {
            (format!("{name}, from *σ* = {:.2}", rho.exp().ln_1p()), Style { marker: Marker::Ring, ..style })
        }
        _ => (name, style),
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

/// Axis of a metric on a data set, scaled to bands after the first tenth of the steps, because early values would compress
/// the rest.
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

/// Metrics against iterations and against seconds. Few data sets have a row of panels for each metric, many a figure for
/// each.
fn curves(results: &Results) -> Vec<Plate> {
    let sets = sets(results);
    let figure = |panels: Vec<Panel>, caption: &str| {
        let mut figure = Figure::new(panels).shaped(0.75).captioned(caption);
        figure.columns = if sets.len() > FEW { sets.len().div_ceil(2) } else { sets.len().max(2) };
        figure.shares_legend = true;
        figure
    };
    let iterations = |name| sets.iter().map(move |set| against_iterations(results, set, name));
    let seconds = |name| sets.iter().map(move |set| against_seconds(results, set, name));
    let (first, second) = (provenance_of_means(results), clock(results));
    if sets.len() > FEW {
        return METRICS
            .iter()
            .flat_map(|name| {
                let plates = [
                    ("iterations", figure(iterations(name).collect(), &first)),
                    ("seconds", figure(seconds(name).collect(), &second)),
                ];
                plates.map(|(against, figure)| Plate::new(format!("{name}-{against}"), figure))
            })
            .collect();
    }
    let both =
        |panels: &dyn Fn(&'static str) -> Vec<Panel>| METRICS.iter().flat_map(|name| panels(name)).collect();
    vec![
        Plate::new("iterations", figure(both(&|name| iterations(name).collect()), &first)),
        Plate::new("seconds", figure(both(&|name| seconds(name).collect()), &second)),
    ]
}

const METRICS: [&str; 2] = ["lpd", "rmse"];
/// Largest number of panels side by side.
const FEW: usize = 3;

fn against_iterations(results: &Results, set: &str, name: &str) -> Panel {
    let series = of_set(results, set);
    let panel = Panel::new(Axis::linear("Iteration"), axis(&series, name)).titled(set);
    with_means(panel, &series, name, 0, look)
}

fn against_seconds(results: &Results, set: &str, name: &str) -> Panel {
    let all = of_set(results, set);
    let mut panel = Panel::new(Axis::log("Seconds"), axis(&all, name)).titled(set);
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
    panel
}

fn clock(results: &Results) -> String {
    format!(
        "Means of {} replicates against the mean time, measures not counted; jobs ran side by side.{}",
        results.replicates(),
        status(results)
    )
}

/// Forest plot: a row for each data set, a panel for each metric.
fn forest(results: &Results, names: &[&str]) -> Figure {
    let sets = sets(results);
    let panels = names.iter().map(|name| {
        let axis = Axis::categories("", sets.iter().map(String::as_str));
        let mut panel = Panel::new(Axis::linear(label(name)), axis);
        let mut methods: Vec<(String, Style)> = Vec::new();
        for series in results.series() {
            let method = look_with_start(results, &series);
            if !methods.contains(&method) {
                methods.push(method);
            }
        }
        for (index, (method, style)) in methods.iter().enumerate() {
            let mut columns = [const { Vec::new() }; 4];
            for (place, set) in sets.iter().enumerate() {
                let all = results.of_target(set);
                let is_it = |series: &&Series<'_>| look_with_start(results, series).0 == *method;
                let Some(series) = all.iter().find(is_it) else { continue };
                let Some(interval) = bootstrap(&series.last(name), 0.95) else { continue };
                let values = [place as f64, interval.value, interval.low, interval.high];
                columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
            }
            let [at, value, low, high] = columns;
            let layer = Layer::intervals(at, value, low, high).horizontal().dodged(index, methods.len());
            panel = panel.with(layer.named(method.clone()).styled(*style));
        }
        panel
    });
    let mut figure = Figure::new(panels.collect()).shaped((0.2 + 0.2 * sets.len() as f64).clamp(0.6, 1.6));
    (figure.columns, figure.shares_y, figure.shares_legend) = (names.len(), true, true);
    figure.captioned(format!(
        "Means over {} splits at the last iteration, with 95 % bootstrap intervals.{}",
        results.replicates(),
        status(results)
    ))
}

/// Kernel density estimate of the means of a network's weights, for each fit.
fn pruning(results: &Results) -> Figure {
    let sets = sets(results);
    let panels = sets.iter().map(|set| {
        let (mut edge, mut bands, mut lines, mut highest) = (1.5, Vec::new(), Vec::new(), f64::MIN_POSITIVE);
        for series in results.of_target(set) {
            if !matches!(series.method().kind(), "pmcsa" | "stl") {
                continue;
            }
            let (name, style) = look(&series);
            let (mut places, mut columns) = (Vec::new(), [const { Vec::new() }; 3]);
            let grids = series.last_vectors(Vector::Weight);
            let grid = grids.first().copied().unwrap_or_default().iter().enumerate();
            for (k, place) in grid.filter(|(_, place)| place.abs() <= 1.5) {
                let densities = series.last_entries(Vector::WeightDensity, k);
                let Some(interval) = bootstrap(&densities, 0.8) else { continue };
                places.push(*place);
                edge = *place;
                let values = [interval.low, interval.value, interval.high];
                columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
            }
            let [low, middle, high] = columns;
            highest = high.iter().copied().filter(|value| value.is_finite()).fold(highest, f64::max);
            if series.outcomes.len() >= FEWEST {
                bands.push(Layer::band(places.clone(), low, high).styled(style));
            }
            lines.push(Layer::line(places, middle).named(name).styled(style));
        }
        let x = Axis::linear("Mean of a weight under *q*").spanning(-edge, edge);
        let panel = Panel::new(x, Axis::linear("Density").spanning(0.0, 1.05 * highest)).titled(set.clone());
        bands.into_iter().chain(lines).fold(panel, Panel::with)
    });
    let mut figure = Figure::new(panels.collect()).shaped(0.75);
    (figure.columns, figure.shares_legend) =
        (if sets.len() > FEW { sets.len().div_ceil(2) } else { 2 }, true);
    figure.captioned(format!(
        "Kernel densities (Gaussian, Silverman's width) of the means under *q* of all weights at the last iteration, averaged \
         over {} replicates. A peak at zero is weights that were pruned.{}",
        results.replicates(),
        status(results)
    ))
}
