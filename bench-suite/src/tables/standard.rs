//! Standard table: metrics at the end of the fits, by the settings in which the jobs of an experiment differ.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Sheet;
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

/// Settings in which series differ, for their names in figures and tables: a place has all settings but the method.
pub(crate) struct Differences {
    /// Settings with more than one value, without those of methods.
    places: BTreeSet<String>,
    /// Settings of a kind of method with more than one value.
    methods: BTreeSet<(String, String)>,
    /// Places in the order of the plan.
    all: Vec<String>,
    /// Names of the methods of each kind, in the order of the plan.
    members: BTreeMap<String, Vec<String>>,
}

/// Plain settings by name, `target correlation`.
fn settings(series: &Series<'_>) -> BTreeMap<String, String> {
    fn add(name: &str, value: &Value, all: &mut BTreeMap<String, String>) {
        match value {
            Value::Object(inner) => {
                inner.iter().for_each(|(key, value)| add(format!("{name} {key}").trim(), value, all));
            }
            Value::String(word) => drop(all.insert(name.to_owned(), word.clone())),
            value => drop(all.insert(name.to_owned(), value.to_string())),
        }
    }
    let mut all = BTreeMap::new();
    let task = serde_json::to_value(series.task).unwrap_or_default();
    // A task is an enum: one key, the kind of job, with its settings.
    task.as_object().into_iter().flat_map(|task| task.values()).for_each(|value| add("", value, &mut all));
    all
}

impl Differences {
    pub(crate) fn of(series: &[Series<'_>]) -> Self {
        let (mut values, mut kinds) = (BTreeMap::<String, BTreeSet<String>>::new(), BTreeMap::new());
        for series in series {
            for (name, value) in settings(series) {
                match name.strip_prefix("method ") {
                    Some(name) => {
                        let key = (series.method().kind().to_owned(), name.to_owned());
                        kinds.entry(key).or_insert_with(BTreeSet::new).insert(value);
                    }
                    None => {
                        values.entry(name).or_default().insert(value);
                    }
                }
            }
        }
        let places =
            values.into_iter().filter(|(_, values)| values.len() > 1).map(|(name, _)| name).collect();
        let methods = kinds.into_iter().filter(|(_, values)| values.len() > 1).map(|(key, _)| key).collect();
        let mut found = Self { places, methods, all: Vec::new(), members: BTreeMap::new() };
        for series in series {
            let (place, method) = (found.place(series), found.method(series));
            if !found.all.contains(&place) {
                found.all.push(place);
            }
            let members = found.members.entry(series.method().kind().to_owned()).or_default();
            if !members.contains(&method) {
                members.push(method);
            }
        }
        found
    }

    /// All places in the order of the plan.
    pub(crate) fn places(&self) -> &[String] {
        &self.all
    }

    /// Label of the target with all settings but those of the method that differ between jobs.
    pub(crate) fn place(&self, series: &Series<'_>) -> String {
        let mut words = vec![series.place()];
        for (name, value) in settings(series).into_iter().filter(|(name, _)| self.places.contains(name)) {
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
        let (kind, budget) = (series.method().kind(), series.method().budget().to_string());
        let mut name = look::name(kind).to_owned();
        for (key, value) in settings(series) {
            let Some(key) = key.strip_prefix("method ") else { continue };
            if self.methods.contains(&(kind.to_owned(), key.to_owned())) {
                let key = if value == budget { "N =".to_owned() } else { key.replace('_', " ") };
                name.push_str(&format!(", {key} {value}"));
            }
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
