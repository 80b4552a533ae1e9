//! Standard table: metrics at the end of the fits.

use std::collections::BTreeSet;

use super::{Differences, Sheet};
use crate::interval::bootstrap;
use crate::results::{Results, Series};

/// Names of entries of rows that are costs, not metrics.
const COSTS: [&str; 3] = ["p_evaluations", "p_gradients", "seconds"];

/// The metrics that the experiment names; else all that are recorded, without costs and floors.
pub(crate) fn metrics(results: &Results) -> Vec<String> {
    if !results.experiment.shows.is_empty() {
        return results.experiment.shows.clone();
    }
    let rows = results.outcomes.iter().filter_map(|outcome| outcome.rows.last());
    let names: BTreeSet<&str> = rows.flat_map(|row| row.values.keys().copied()).collect();
    let is_shown = |name: &&&str| !COSTS.contains(*name) && !name.ends_with("_floor");
    names.iter().filter(is_shown).map(|name| (*name).to_owned()).collect()
}

/// A row for each target, metric and method: the mean at the end with its interval.
pub fn standard(results: &Results) -> Vec<Sheet> {
    let (all, names) = (results.series(), metrics(results));
    let differences = Differences::of(&all);
    let row = |name: &String, series: &Series<'_>| {
        let values = series.last(name);
        let cell = bootstrap(&values, 0.8).map_or_else(
            || "–".to_owned(),
            |mean| format!("{} [{}, {}]", short(mean.value), short(mean.low), short(mean.high)),
        );
        let count = format!("{} of {}", values.len(), series.outcomes.len());
        vec![differences.place(series), name.clone(), differences.method(series), cell, count]
    };
    let head = ["Target", "Metric", "Method", "Mean", "Replicates"];
    let rows = differences.places().iter().flat_map(|place| {
        let here: Vec<&Series<'_>> =
            all.iter().filter(|series| differences.place(series) == *place).collect();
        names
            .iter()
            .flat_map(|name| here.iter().map(|series| row(name, series)).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    });
    vec![Sheet {
        name: "ends".to_owned(),
        title: "At the end".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
        note: "Means over replicates that did not end early, with 80 % bootstrap intervals.".to_owned(),
    }]
}

/// A number with about four digits.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 || (size > 0.0 && size < 1e-4) => format!("{value:.3e}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}
