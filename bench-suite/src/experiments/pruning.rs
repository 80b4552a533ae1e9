//! Pruning of network weights (pMCSA).

use mcsa_plot::{Axis, Dash, Figure, Layer, Marker, Panel, Style};

use crate::figures::FigureFile;
use crate::figures::curves::{FEWEST, status};
use crate::interval::bootstrap;
use crate::look;
use crate::metric::Vector;
use crate::results::{Results, Series};

/// Densities of the weights; the other figures are in the file.
pub(crate) fn figures(results: &Results) -> Vec<FigureFile> {
    vec![FigureFile::new("pruning", pruning(results))]
}

/// Largest number of panels side by side.
const FEW: usize = 3;

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
