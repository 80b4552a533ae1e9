//! Selection of the jobs that a claim or a figure is about, by their settings.

use std::collections::{BTreeMap, BTreeSet};

use mcsa_core::Error;
use serde_json::Value as Json;
use toml::Value;

use crate::catalog::{Ansatz, Case, FamilyConfig, OptimizerConfig};
use crate::experiment::Experiment;
use crate::grid;
use crate::look;
use crate::results::{Results, Series};
use crate::task::{Fit, Labels, Task};

/// Settings of a task, as a table with a part of them selects it in the file of an experiment. A word in place of a table stands for its
/// `label`, `kind` or `name`, or for that of the data of a target; `budget` is the N of a method.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    label: String,
    budget: usize,
    dimension: Option<usize>,
    all: Json,
    labels: BTreeMap<String, String>,
}

/// A series with its settings.
pub(crate) type Row<'r> = (Settings, Series<'r>);

/// All series of results, in the order of the plan.
pub(crate) fn rows(results: &Results) -> Vec<Row<'_>> {
    // Experiments are checked when they are read.
    let labels = results.experiment.labels();
    results.series().into_iter().map(|series| (Settings::of(series.task, &labels), series)).collect()
}

/// The other series on the same target that has some settings.
pub(crate) fn base_of<'a, 'r>(
    row: &Row<'_>,
    base: &toml::Table,
    all: &'a [Row<'r>],
) -> Option<&'a Series<'r>> {
    on_target(row, base, all).filter(|_| !row.0.admits(base))
}

/// The first series on the same target that has some settings.
pub(crate) fn on_target<'a, 'r>(
    (_, series): &Row<'_>,
    wanted: &toml::Table,
    all: &'a [Row<'r>],
) -> Option<&'a Series<'r>> {
    let is_it = |(settings, other): &&Row<'_>| settings.admits(wanted) && other.target() == series.target();
    all.iter().find(is_it).map(|(_, found)| found)
}

/// A text with the names of settings in place of `{target.rows}` and the like, or the name of one setting.
pub(crate) fn named(row: &Row<'_>, text: &str, names: &BTreeMap<String, String>) -> String {
    let name = |key: &str| {
        let name = name(row, key);
        names.get(&name).cloned().unwrap_or(name)
    };
    let Some((first, rest)) = text.split_once('{') else { return name(text) };
    rest.split('{').fold(first.to_owned(), |filled, part| match part.split_once('}') {
        Some((key, after)) => filled + &name(key) + after,
        None => filled + part,
    })
}

/// Name of the value of a setting: `title` and `place` are those of the target, `shape` is that of the family with its settings,
/// `approach` the family with the steps of its path or the kind of chains, `rates` are those of the first and the last step.
fn name((settings, series): &Row<'_>, key: &str) -> String {
    let shown = match (key, series.shape()) {
        ("title", _) => Some(series.target().title()),
        ("place", _) => Some(series.place()),
        ("shape", shape) => shape.map(FamilyConfig::title),
        ("approach", _) => Some(approach(series)),
        ("rates", Some(_)) => rates(series),
        ("method", _) if settings.label(key).is_none() => Some(look::name(series.method().kind()).to_owned()),
        ("family", Some(FamilyConfig::Annealed(annealed))) if settings.label(key).is_none() => {
            Some(annealed.surrogate.name().to_owned())
        }
        ("family", Some(shape)) if settings.label(key).is_none() => Some(look::of(shape.kind()).1.to_owned()),
        _ => settings.shown(key).or_else(|| settings.found(key).map(ToString::to_string)),
    };
    shown.map_or_else(|| "–".to_owned(), |text| text.trim_matches('"').trim_end_matches(".0").to_owned())
}

/// Key of the family in the list of looks: annealed paths by their surrogates.
pub(crate) fn family(series: &Series<'_>) -> &'static str {
    match (series.task, series.shape()) {
        (Task::Rung(rung), _) => rung.family.kind(),
        (_, Some(FamilyConfig::Annealed(annealed))) => match annealed.surrogate {
            Ansatz::Posterior => "posterior",
            Ansatz::Minibatch => "minibatch",
            _ => "surrogate",
        },
        (_, shape) => shape.map_or("", FamilyConfig::kind),
    }
}

/// Name of the family of a fit, with the number of steps of a path, or of the kind of chains.
pub(crate) fn approach(series: &Series<'_>) -> String {
    let name = look::of(family(series)).1;
    match series.shape() {
        Some(FamilyConfig::Annealed(annealed)) => format!("{name} {}", annealed.steps),
        Some(_) => name.to_owned(),
        None => look::name(series.method().kind()).to_owned(),
    }
}

/// Rates of a fit by Adam in its first step and, if it is another, in its last.
fn rates(series: &Series<'_>) -> Option<String> {
    let Fit { optimizer: OptimizerConfig::Adam(adam), steps, .. } = series.fit()? else { return None };
    let (first, last) = (adam.rate().at(1), adam.rate().at(*steps));
    Some(if first == last { first.to_string() } else { format!("{first} to {last:.0e}") })
}

impl Settings {
    /// Returns true if the job has all settings of a table; of a list one member suffices.
    pub(crate) fn admits(&self, wanted: &toml::Table) -> bool {
        wanted.iter().all(|(key, wanted)| match wanted {
            Value::Array(several) => several.iter().any(|wanted| self.has(key, wanted)),
            wanted => self.has(key, wanted),
        })
    }

    pub(crate) fn of(task: &Task, labels: &Labels) -> Self {
        // A task is an enum: one key, the kind of job, with its settings.
        let tagged = serde_json::to_value(task).unwrap_or_default();
        let all = tagged.as_object().and_then(|all| all.values().next().cloned()).unwrap_or_default();
        let label = |(key, value): (&String, &Json)| Some((key.clone(), labels.of(key, value)?.to_owned()));
        let labels = all.as_object().into_iter().flatten().filter_map(label).collect();
        let dimension = task.target().case().and_then(Case::dim);
        let (label, budget) = (task.target().label().to_owned(), task.method().budget());
        Self { label, budget, dimension, all, labels }
    }

    pub(crate) fn has(&self, key: &str, wanted: &Value) -> bool {
        match (key, wanted) {
            ("budget", wanted) => number(wanted) == Some(self.budget as f64),
            ("target", Value::String(label)) if *label == self.label => true,
            (key, Value::String(label)) if self.labels.get(key) == Some(label) => true,
            _ => self.all.get(key).is_some_and(|found| is_part(found, wanted)),
        }
    }

    /// A number among the settings: `budget`, the `dimension` of a case, or by keys, `optimizer.rate`.
    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        match key {
            "dimension" => self.dimension.map(|dim| dim as f64),
            "budget" => Some(self.budget as f64),
            key => self.found(key)?.as_f64(),
        }
    }

    /// A setting by keys, `optimizer.rate`.
    fn found(&self, key: &str) -> Option<&Json> {
        self.all.pointer(&format!("/{}", key.replace('.', "/")))
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }

    /// Value of a setting as it may be written in a selector.
    pub(crate) fn shown(&self, key: &str) -> Option<String> {
        let word = |found: &Json| Some(found.get("kind").or(found.get("name"))?.as_str()?.to_owned());
        match key {
            "budget" => Some(self.budget.to_string()),
            "target" => Some(self.label.clone()),
            key if self.labels.contains_key(key) => self.labels.get(key).cloned(),
            _ => self.all.get(key).map(|found| word(found).unwrap_or_else(|| found.to_string())),
        }
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        let all = self.all.as_object().into_iter().flat_map(|all| all.keys().map(String::as_str));
        all.chain(["budget"])
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

/// Returns true if all that is wanted is found.
fn is_part(found: &Json, wanted: &Value) -> bool {
    match wanted {
        Value::Table(table) => {
            table.iter().all(|(key, wanted)| found.get(key).is_some_and(|found| is_part(found, wanted)))
        }
        Value::String(word) => {
            [Some(found), found.get("kind"), found.get("name")].into_iter().flatten().any(|text| text == word)
        }
        Value::Boolean(wanted) => found == wanted,
        wanted => number(wanted).is_some_and(|wanted| found.as_f64() == Some(wanted)),
    }
}

/// Settings in words, without those that `other` has too: the method first, the target last.
pub(crate) fn words(wanted: &toml::Table, other: Option<&toml::Table>) -> String {
    let word = |value: &Value| match value {
        Value::String(word) => look::name(word).to_owned(),
        value => value.to_string().trim_end_matches(".0").to_owned(),
    };
    let mut words = Vec::new();
    for (key, value) in wanted {
        let same = other.and_then(|other| other.get(key));
        if same == Some(value) {
            continue;
        }
        let place = match key.as_str() {
            "method" | "kind" => 0,
            "target" => 2,
            _ => 1,
        };
        let text = match (key.as_str(), value) {
            (_, Value::Table(inner)) => self::words(inner, same.and_then(Value::as_table)),
            ("method" | "kind" | "target", value) => word(value),
            ("budget", count) => format!("N = {count}"),
            (key, value) => format!("{} {}", key.replace('_', " "), word(value)),
        };
        words.push((place, text));
    }
    words.sort_by_key(|(place, _)| *place);
    let mut text = String::new();
    for (place, words) in words {
        let between = match (place, text.is_empty()) {
            (2, true) => "on ",
            (2, false) => " on ",
            (_, false) => ", ",
            (_, true) => "",
        };
        text.push_str(between);
        text.push_str(&words);
    }
    text
}

/// Checks that some preset has a job with these settings and none has several.
///
/// # Errors
/// If there is none or there are several; the message names the setting and its values.
pub(crate) fn check(
    table: &toml::Table,
    experiment: &Experiment,
    planned: &[Vec<(Settings, Task)>],
) -> Result<(), Error> {
    let all = || planned.iter().flatten().map(|(settings, _)| settings);
    for preset in planned {
        let here = preset.iter().map(|(settings, _)| settings);
        let matched: Vec<&Settings> = here.filter(|settings| settings.admits(table)).collect();
        if let [first, .., last] = matched.as_slice() {
            let of = |settings: &Settings, key: &str| (settings.shown(key), settings.all.get(key).cloned());
            let differing: Vec<&str> = first.keys().filter(|key| of(first, key) != of(last, key)).collect();
            return Err(Error::invalid(format!(
                "{} jobs have {}; they differ in {}",
                matched.len(),
                listed(table),
                differing.join(", ")
            )));
        }
    }
    if all().any(|settings| settings.admits(table)) {
        return Ok(());
    }
    for (key, wanted) in table {
        if all().any(|settings| settings.has(key, wanted)) {
            continue;
        }
        let known: BTreeSet<String> = all().filter_map(|settings| settings.shown(key)).collect();
        let known: Vec<String> = known.into_iter().collect();
        return Err(Error::invalid(if known.is_empty() {
            let keys: BTreeSet<&str> = all().flat_map(Settings::keys).collect();
            let keys = keys.into_iter().collect::<Vec<_>>().join(", ");
            format!("no job has a setting {key:?}; the settings are {keys}")
        } else {
            format!("no job of {} has {key} = {wanted}; there are {}", experiment.id, known.join(", "))
        }));
    }
    Err(Error::invalid(format!("no job of {} has {}", experiment.id, listed(table))))
}

fn listed(table: &toml::Table) -> String {
    let pairs: Vec<String> = table.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if pairs.is_empty() { "no settings".to_owned() } else { pairs.join(", ") }
}

/// All combinations of the values of a table; a list stands for each of its values, also within tables.
pub(crate) fn combinations(table: &toml::Table) -> Vec<toml::Table> {
    grid::combinations(table, &|value| match value {
        Value::Array(values) => values.clone(),
        Value::Table(inner) => combinations(inner).into_iter().map(Value::Table).collect(),
        plain => vec![plain.clone()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_written_without_what_the_other_side_has() {
        let table = |text: &str| text.parse::<toml::Table>().unwrap();
        let one = table(
            "method = 'pmcsa'\nbudget = 10\ntarget = { prior_scale = 10.0, ratio = 0.03 }\nfamily = { surrogate = 'minibatch' }",
        );
        let other = table(
            "method = 'pmcsa'\nbudget = 10\ntarget = { prior_scale = 10.0, ratio = 0.5 }\nfamily = { surrogate = 'minibatch' }",
        );
        assert_eq!(words(&one, None), "pMCSA, N = 10, surrogate NS-DAIS on prior scale 10, ratio 0.03");
        assert_eq!(words(&one, Some(&other)), "on ratio 0.03");
        assert_eq!(words(&one, Some(&one)), "");
        assert_eq!(
            words(&table("target = 'pima'\nmethod = { kind = 'msc', cis = 2 }"), None),
            "MSC, cis 2 on pima"
        );
    }
}
