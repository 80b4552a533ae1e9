//! Standard table: metrics at the end of the fits, by the settings in which the jobs of an experiment differ.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Table, or_dash};
use crate::interval::bootstrap;
use crate::look;
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
pub fn standard(results: &Results) -> Vec<Table> {
    let all = results.series();
    let differences = Differences::of(&all);
    let row = |name: &String, series: &Series<'_>| {
        let values = series.last(name);
        let cell = bootstrap(&values, 0.8)
            .map(|mean| format!("{} [{}, {}]", short(mean.value), short(mean.low), short(mean.high)));
        let count = format!("{} of {}", values.len(), series.outcomes.len());
        vec![differences.place(series), name.clone(), differences.method(series), or_dash(cell), count]
    };
    let mut rows = Vec::new();
    for place in &differences.places {
        for name in &metrics(results) {
            let here = all.iter().filter(|series| differences.place(series) == *place);
            rows.extend(here.map(|series| row(name, series)));
        }
    }
    let note = "Means over replicates that did not end early, with 80 % bootstrap intervals.";
    vec![Table::new("ends", "At the end", "Target | Metric | Method | Mean | Replicates", rows, note)]
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

/// Settings in which series differ, for their names in figures and tables: a place has all settings but the method.
pub(crate) struct Differences {
    /// Settings with more than one value, after the kind of method that they belong to.
    differing: BTreeSet<(String, String)>,
    /// All places in the order of the plan.
    pub(crate) places: Vec<String>,
    /// Names of the methods of each kind, in the order of the plan.
    members: BTreeMap<String, Vec<String>>,
}

/// Plain settings: kind of method that a setting belongs to, or nothing, and its name, `target correlation`.
fn settings(series: &Series<'_>) -> BTreeMap<(String, String), String> {
    fn add(name: &str, value: &Value, kind: &str, all: &mut BTreeMap<(String, String), String>) {
        let word = match value {
            Value::Object(inner) => {
                return inner
                    .iter()
                    .for_each(|(key, value)| add(format!("{name} {key}").trim(), value, kind, all));
            }
            Value::String(word) => word.clone(),
            value => value.to_string(),
        };
        let (kind, name) = name.strip_prefix("method ").map_or(("", name), |name| (kind, name));
        all.insert((kind.to_owned(), name.to_owned()), word);
    }
    let mut all = BTreeMap::new();
    let task = serde_json::to_value(series.task).unwrap_or_default();
    // A task is an enum: one key, the kind of job, with its settings.
    let tasks = task.as_object().into_iter().flat_map(|task| task.values());
    tasks.for_each(|value| add("", value, series.method().kind(), &mut all));
    all
}

impl Differences {
    pub(crate) fn of(series: &[Series<'_>]) -> Self {
        let mut values = BTreeMap::<(String, String), BTreeSet<String>>::new();
        for (key, value) in series.iter().flat_map(settings) {
            values.entry(key).or_default().insert(value);
        }
        let differing = values.into_iter().filter(|(_, values)| values.len() > 1).map(|(key, _)| key);
        let (differing, members) = (differing.collect(), BTreeMap::new());
        let mut found = Self { differing, places: Vec::new(), members };
        for series in series {
            let (place, method) = (found.place(series), found.method(series));
            if !found.places.contains(&place) {
                found.places.push(place);
            }
            let members = found.members.entry(series.method().kind().to_owned()).or_default();
            if !members.contains(&method) {
                members.push(method);
            }
        }
        found
    }

    /// Settings that differ, of the job (false) or of its method (true).
    fn differing(&self, series: &Series<'_>, of_method: bool) -> Vec<(String, String)> {
        let is_it = |key: &(String, String)| key.0.is_empty() != of_method && self.differing.contains(key);
        let all = settings(series).into_iter().filter(|(key, _)| is_it(key));
        all.map(|((_, name), value)| (name, value)).collect()
    }

    /// Label of the target with all settings but those of the method that differ between jobs.
    pub(crate) fn place(&self, series: &Series<'_>) -> String {
        let mut words = vec![series.place()];
        for (name, value) in self.differing(series, false) {
            match name.as_str() {
                "target kind" | "target data" | "target series" => {}
                name if name.ends_with(" kind") || name.ends_with(" name") => words.push(value),
                name => {
                    let name = name.strip_prefix("target ").unwrap_or(name);
                    words.push(format!("{} {value}", name.replace('_', " ")));
                }
            }
        }
        words.join(", ")
    }

    /// Name of the method, with its settings that differ between methods of its kind.
    pub(crate) fn method(&self, series: &Series<'_>) -> String {
        let (mut name, budget) =
            (look::name(series.method().kind()).to_owned(), series.method().budget().to_string());
        for (key, value) in self.differing(series, true) {
            let key = if value == budget { "N =".to_owned() } else { key.replace('_', " ") };
            name.push_str(&format!(", {key} {value}"));
        }
        name
    }

    /// Position of the method among those of its kind, and their number.
    pub(crate) fn member(&self, series: &Series<'_>) -> (usize, usize) {
        let members = self.members.get(series.method().kind()).map_or(&[][..], Vec::as_slice);
        let name = self.method(series);
        (members.iter().position(|known| *known == name).unwrap_or(0), members.len().max(1))
    }
}
