//! Tables: pure functions from results to text and numbers. The comparison with published cells is made for every experiment by the
//! [`report`](crate::report). Here are tables `[[table]]` of an experiment's file, whose keys are explained in
//! `docs/book/src/experiment-file.md`, and the standard table; those of single experiments are in `experiments`.

use std::collections::{BTreeMap, BTreeSet};

use mcsa_core::Error;
use mcsa_diagnostics::quantile;
use serde::Deserialize;
use serde_json::Value;

use crate::experiments::theory_cells;
use crate::interval::{binomial, bootstrap};
use crate::look;
use crate::metric::metric;
use crate::published::{Cell, cells};
use crate::results::{Results, Series};
use crate::selector::{Row, base_of, named, on_target, rows};

/// A table of text cells with its file name.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Unique within the experiment.
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) head: Vec<String>,
    /// Each with as many cells as the head.
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) note: String,
}

/// A cell; a dash if there is no value.
pub(crate) fn or_dash(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "–".to_owned())
}

/// A rate with its exact 90 % interval, in percent with some digits.
pub(crate) fn rate(count: usize, of: usize, digits: usize) -> String {
    let [low, high] = binomial(count, of, 0.9).map(|end| 100.0 * end);
    let share = 100.0 * count as f64 / of as f64;
    or_dash(
        (of > 0).then(|| format!("{count} of {of}: {share:.digits$} % [{low:.digits$}, {high:.digits$}]")),
    )
}

/// Median, also with infinities; NaN if there is no value or one is NaN.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    match values.iter().any(|value| value.is_nan()) || values.is_empty() {
        true => f64::NAN,
        // Interpolation between infinities would be NaN.
        false if values.iter().any(|value| value.is_infinite()) => {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        }
        false => quantile(&mut values, 0.5),
    }
}

/// Values by their keys, in the order in which the keys first occur.
pub(crate) fn in_groups<K: PartialEq, V>(all: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in all {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// Values without repeats, in the order in which they first occur.
pub(crate) fn distinct<K: PartialEq>(all: impl IntoIterator<Item = K>) -> Vec<K> {
    in_groups(all.into_iter().map(|key| (key, ()))).into_iter().map(|(key, _)| key).collect()
}

/// For experiments without tables in Rust that are in files of the user: the standard one if the file has none.
pub fn from_file(results: &Results) -> Vec<Table> {
    if results.experiment.tables.is_empty() { standard(results) } else { Vec::new() }
}

impl Table {
    /// A table; bars separate the titles of its columns.
    pub(crate) fn new(
        name: &str,
        title: impl Into<String>,
        head: &str,
        rows: Vec<Vec<String>>,
        note: impl Into<String>,
    ) -> Self {
        let head = head.split(" | ").map(str::to_owned).collect();
        Self { name: name.to_owned(), title: title.into(), head, rows, note: note.into() }
    }

    /// The table as CSV, every cell in quotes.
    pub(crate) fn csv(&self) -> String {
        let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
        let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n";
        std::iter::once(&self.head).chain(&self.rows).map(line).collect()
    }
}

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
    let row = |name: &String, one: &NamedSeries<'_>| {
        let values = one.series.last(name);
        let cell = bootstrap(&values, 0.8)
            .map(|mean| format!("{} [{}, {}]", short(mean.value), short(mean.low), short(mean.high)));
        let count = format!("{} of {}", values.len(), one.series.outcomes.len());
        vec![one.place.clone(), name.clone(), one.method.clone(), or_dash(cell), count]
    };
    let (all, mut rows) = (with_names(results), Vec::new());
    for (_, here) in in_groups(all.iter().map(|one| (&one.place, one))) {
        for name in &metrics(results) {
            rows.extend(here.iter().map(|one| row(name, one)));
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

/// A series with its names in figures and tables, by the settings in which series differ.
pub(crate) struct NamedSeries<'r> {
    pub(crate) series: Series<'r>,
    /// Label of the target with all settings but those of the method that differ between jobs.
    pub(crate) place: String,
    /// Name of the method, with its settings that differ between methods of its kind.
    pub(crate) method: String,
    /// Position of the method among those of its kind, and their number.
    pub(crate) member: (usize, usize),
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

/// All series, in the order of the plan.
pub(crate) fn with_names(results: &Results) -> Vec<NamedSeries<'_>> {
    let mut values = BTreeMap::<(String, String), BTreeSet<String>>::new();
    for (key, value) in results.series().iter().flat_map(settings) {
        values.entry(key).or_default().insert(value);
    }
    let named = |series| {
        let (mut place, kind) = (vec![Series::place(&series)], series.method().kind());
        let (mut method, budget) = (look::name(kind).to_owned(), series.method().budget().to_string());
        for (key, value) in settings(&series).into_iter().filter(|(key, _)| values[key].len() > 1) {
            match (key.0.as_str(), key.1.as_str()) {
                ("", "target kind" | "target data" | "target series") => {}
                ("", name) if name.ends_with(" kind") || name.ends_with(" name") => place.push(value),
                ("", name) => {
                    let name = name.strip_prefix("target ").unwrap_or(name);
                    place.push(format!("{} {value}", name.replace('_', " ")));
                }
                (_, name) => {
                    let name = if value == budget { "N =".to_owned() } else { name.replace('_', " ") };
                    method.push_str(&format!(", {name} {value}"));
                }
            }
        }
        NamedSeries { series, place: place.join(", "), method, member: (0, 1) }
    };
    let mut all: Vec<NamedSeries<'_>> = results.series().into_iter().map(named).collect();
    let methods = distinct(all.iter().map(|one| (one.series.method().kind(), one.method.clone())));
    for one in &mut all {
        let members = methods.iter().filter(|(kind, _)| *kind == one.series.method().kind());
        let place = members.clone().position(|(_, name)| *name == one.method);
        one.member = (place.unwrap_or(0), members.count());
    }
    all
}

/// A table `[[table]]`: a row for each series, a column for each setting or metric.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Written {
    /// Name, unique within the experiment.
    pub(crate) name: String,
    title: String,
    #[serde(default)]
    note: String,
    #[serde(rename = "where", default)]
    place: toml::Table,
    grouped: Option<String>,
    level: Option<f64>,
    columns: Vec<Column>,
    /// Texts of all cells, in place of those of series. `theory:` with the id of a claim is its printed formula, the verdict on it and its
    /// corrected formula, in three cells.
    #[serde(default)]
    rows: Vec<Vec<String>>,
}

/// A column as written: a setting, metrics, or the number of replicates if there is neither.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Column {
    title: String,
    setting: Option<String>,
    #[serde(default)]
    names: BTreeMap<String, String>,
    #[serde(default)]
    metrics: Vec<String>,
    base: Option<toml::Table>,
    itself: Option<Itself>,
    of: Option<toml::Table>,
    less: Option<String>,
    worst: Option<Worst>,
    #[serde(default)]
    deviation: bool,
    error: Option<String>,
    #[serde(default)]
    published: bool,
    percent_of: Option<toml::Table>,
    #[serde(default)]
    digits: usize,
    times: Option<f64>,
    #[serde(default)]
    per_step: bool,
    #[serde(default)]
    interval: bool,
    #[serde(default)]
    median: bool,
    #[serde(default)]
    all_rows: bool,
}

/// What a column of differences shows of their base.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Itself {
    Mean,
    Difference,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Worst {
    Greatest,
    Least,
}

impl Written {
    fn level(&self) -> f64 {
        self.level.unwrap_or(0.9)
    }

    /// An unknown metric, a wrong level and rows of another width are errors.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let place = |reason: String| Err(Error::invalid(reason).within(format!("[[table]] {:?}", self.name)));
        let width = |row: &Vec<String>| {
            row.iter().map(|cell| if cell.starts_with("theory:") { 3 } else { 1 }).sum::<usize>()
        };
        if let Some(at) = self.rows.iter().position(|row| width(row) != self.columns.len()) {
            return place(format!("rows[{at}] has not as many cells as there are columns"));
        }
        let metrics = self.columns.iter().flat_map(|column| &column.metrics);
        let others = self.columns.iter().flat_map(|column| column.less.iter().chain(&column.error));
        match metrics.chain(others).find(|name| metric(name).is_none()) {
            Some(name) => place(format!("{name:?} is not a metric")),
            None if !(self.level() > 0.0 && self.level() < 1.0) => {
                place(format!("level is {}, expected between 0 and 1", self.level()))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn table(&self, results: &Results) -> Table {
        let all = rows(results);
        let published = results.experiment.published.as_ref().map(|published| cells(&published.table));
        let published = published.and_then(Result::ok).unwrap_or_default();
        let row = |row: &Row<'_>| {
            self.columns.iter().map(|column| column.cell(row, &all, self.level(), &published)).collect()
        };
        let shown = all.iter().filter(|(settings, _)| settings.admits(&self.place));
        let group = |row: &Row<'_>| self.grouped.as_ref().map(|key| named(row, key, &BTreeMap::new()));
        let groups = in_groups(shown.map(|row| (group(row), row)));
        let texts = |row: &Vec<String>| row.iter().flat_map(|cell| text(cell)).collect();
        Table {
            name: self.name.clone(),
            title: self.title.clone(),
            head: self.columns.iter().map(|column| column.title.clone()).collect(),
            rows: match self.rows.is_empty() {
                true => groups.into_iter().flat_map(|(_, rows)| rows).map(row).collect(),
                false => self.rows.iter().map(texts).collect(),
            },
            note: self.note.replace("{stand-ins}", &stand_ins(results)),
        }
    }
}

fn text(cell: &str) -> Vec<String> {
    cell.strip_prefix("theory:").map_or_else(|| vec![cell.to_owned()], |id| theory_cells(id).into())
}

/// The word SYNTHETIC with the number of data sets that are stand-ins; empty if there is none.
pub(crate) fn stand_ins(results: &Results) -> String {
    let all = results.series();
    let sets = in_groups(all.iter().map(|series| (series.target().data(), series.place())));
    match sets.iter().filter(|(_, places)| places[0].starts_with("SYNTHETIC")).count() {
        0 => String::new(),
        count => format!(" SYNTHETIC: {count} of {} data sets are stand-ins.", sets.len()),
    }
}

impl Column {
    fn cell(&self, row: &Row<'_>, all: &[Row<'_>], level: f64, published: &[Cell]) -> String {
        let (_, series) = row;
        match &self.setting {
            Some(key) => named(row, key, &self.names),
            None if self.published => self.published(series, published),
            None if self.metrics.is_empty() && self.all_rows => {
                series.outcomes.iter().map(|outcome| outcome.rows.len()).sum::<usize>().to_string()
            }
            None if self.metrics.is_empty() => (series.outcomes.len() - series.failures()).to_string(),
            None => {
                let cells = self.metrics.iter().map(|metric| or_dash(self.number(metric, row, all, level)));
                cells.collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// The published mean and its standard deviation, from which the interval of the cell was computed.
    fn published(&self, series: &Series<'_>, published: &[Cell]) -> String {
        let (label, kind, digits) = (series.target().label(), series.method().kind(), self.digits);
        let cell = published.iter().find(|cell| cell.data == label && cell.method == kind);
        cell.map_or_else(String::new, |Cell { interval, .. }| {
            let half = 0.5 * (interval.high - interval.low);
            let deviation = half / 1.96 * (interval.replicates as f64).sqrt();
            format!("{:.digits$} ± {deviation:.digits$}", interval.value)
        })
    }

    /// Values of a metric over replicates, in the units of the table; `None` if there are none.
    fn values(&self, metric: &str, row: &Row<'_>, all: &[Row<'_>]) -> Option<Vec<f64>> {
        let (settings, series) = row;
        let of = self.of.as_ref().map_or(Some(series), |wanted| on_target(row, wanted, all))?;
        let values = match (&self.base, &self.less) {
            (Some(base), _) => match (base_of(row, base, all), self.itself) {
                (Some(base), _) => series.differences(base, metric),
                (None, Some(itself)) if settings.admits(base) => match itself {
                    Itself::Mean => series.last(metric),
                    Itself::Difference => series.differences(series, metric),
                },
                _ => return None,
            },
            (None, Some(less)) => {
                let replicates = series.outcomes.iter().map(|outcome| outcome.job.replicate);
                let value = |replicate| Some(of.end(replicate, metric)? - series.end(replicate, less)?);
                replicates.filter_map(value).collect()
            }
            _ if self.all_rows => of.pairs(metric, metric).into_iter().map(|(value, _)| value).collect(),
            _ => of.last(metric),
        };
        let values: Vec<f64> = values.into_iter().map(|value| self.scale(series) * value).collect();
        (!values.is_empty()).then_some(values)
    }

    fn scale(&self, series: &Series<'_>) -> f64 {
        self.times.unwrap_or(1.0) / if self.per_step { series.task.length().max(1) as f64 } else { 1.0 }
    }

    fn number(&self, metric: &str, row: &Row<'_>, all: &[Row<'_>], level: f64) -> Option<String> {
        let ((settings, series), digits) = (row, self.digits);
        let values = self.values(metric, row, all)?;
        let shown = |value: f64| (!value.is_nan()).then(|| format!("{value:.digits$}"));
        if let Some(of) = &self.percent_of {
            let others = on_target(row, of, all)?.last(metric);
            return shown(100.0 * (median(values) / (self.scale(series) * median(others))));
        }
        if let Some(worst) = self.worst {
            let of = if worst == Worst::Greatest { f64::max } else { f64::min };
            return values.into_iter().reduce(of).map(|value| format!("{value:.digits$}"));
        }
        if self.median {
            return shown(median(values));
        }
        if self.deviation {
            return Some(self.deviating(&values, series));
        }
        // The base itself has a mean beside differences.
        let is_alone =
            self.itself == Some(Itself::Mean) && self.base.as_ref().is_some_and(|base| settings.admits(base));
        let found = bootstrap(&values, level)?;
        if self.interval && !is_alone && found.replicates > 1 {
            return Some(format!(
                "{:.digits$} [{:.digits$}, {:.digits$}]",
                found.value, found.low, found.high
            ));
        }
        (found.value.is_finite() || !self.interval).then(|| format!("{:.digits$}", found.value))
    }

    /// The mean with the standard deviation over replicates, or with an error of each replicate before it.
    fn deviating(&self, values: &[f64], series: &Series<'_>) -> String {
        let (digits, count) = (self.digits, values.len() as f64);
        let mean = values.iter().sum::<f64>() / count;
        let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (square / (count - 1.0)).sqrt();
        match &self.error {
            Some(error) => {
                let squares = series.last(error).iter().map(|error| error * error).sum::<f64>();
                format!("{mean:.digits$} ± {:.digits$} (fits {deviation:.digits$})", (squares / count).sqrt())
            }
            None if values.len() == 1 => format!("{mean:.digits$}"),
            None => format!("{mean:.digits$} ± {deviation:.digits$}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::tests;
    use crate::experiment::PresetName;

    #[test]
    fn cells_are_those_of_the_definition() {
        let cells = |id: &str, preset, table: &str, name: &str, columns: &[&str], rows: fn(f64) -> Vec<_>| {
            let results = tests::results(id, preset, |task, replicate, _| {
                let variant = task.variant();
                let is_base = variant.ends_with(", 0 steps") || (variant.is_empty() && id.ends_with("ranks"));
                let mut values = rows(replicate as f64);
                values.push(("elbo", if is_base { 1.0 } else { 3.0 }));
                values
            });
            let all = tests::entry(id).tables(&results);
            let table = all.iter().find(|known| known.name == table).unwrap();
            let row = table.rows.iter().find(|row| row[..2].iter().any(|cell| cell == name)).unwrap();
            let place = |column: &&str| table.head.iter().position(|known| known == column).unwrap();
            columns.iter().map(|column| row[place(column)].clone()).collect::<Vec<_>>()
        };
        use PresetName::{Default, Quick};
        let errors = |r| vec![("error", 0.1 * (1.0 + r))];
        let found = cells("msc/tab1-probit", Quick, "error", "EP", &["Data", "Ours", "Splits"], errors);
        assert_eq!(found, ["pima", "0.200 ± 0.100", "3"]);
        let printed = cells("msc/tab1-probit", Quick, "error", "EP", &["Printed"], errors);
        assert!(printed[0].starts_with("0.2") && printed[0].contains(" ± 0.0"), "{printed:?}");
        let rates = |r| vec![("log_z", r), ("log_z_error", 0.5)];
        let found =
            cells("msc/fig3-exchange-rates", Quick, "evidence", "cad", &["log Z, same filter"], rates);
        assert_eq!(found, ["1.00 ± 0.50 (fits 1.00)"]);
        let gains = ["ELBO, nats", "Gain in ELBO, nats", "Room, nats"];
        let latents = |name| {
            cells("sl-dais/tab5-local-latents", Quick, "gains", name, &gains, |_| vec![("log_z", 5.0)])
        };
        assert_eq!(latents("mean field"), ["1.0", "–", "4.00"]);
        assert_eq!(latents("integrated out"), ["3.0", "2.0", "2.00"]);
        let chains = |r| vec![("r_hat", 1.0 + 0.1 * r), ("bulk_ess", 100.0 - r)];
        let found = cells("sl-dais/fig2-ranks", Default, "chains", "HMCECS", &["R-hat", "Bulk ESS"], chains);
        assert_eq!(found, ["1.200", "98"]);
        let bound = |name| cells("sl-dais/fig2-ranks", Default, "metrics", name, &["ELBO, nats"], |_| vec![]);
        assert_eq!(bound("SL-DAIS 4"), ["2.00 [2.00, 2.00]"]);
        assert_eq!(bound("mean field"), ["1.00"]);
    }

    /// Interpolation between infinities would be NaN; a value that is not known is not left out.
    #[test]
    fn medians_of_infinities() {
        assert_eq!(median([f64::INFINITY, 1.0, f64::INFINITY]), f64::INFINITY);
        assert_eq!(median([f64::INFINITY, 1.0, 2.0]), 2.0);
        assert!(median([f64::NAN, 1.0, 2.0]).is_nan() && median([]).is_nan());
    }
}
