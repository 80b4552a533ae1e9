//! Tables of an experiment's file: `[[table]]`, whose keys are explained in `docs/experiment-file.md`.

use std::collections::BTreeMap;

use mcsa_core::Error;
use serde::Deserialize;

use super::{Table, in_groups, median, or_dash};
use crate::experiments::theory_cells;
use crate::interval::bootstrap;
use crate::metric::Metric;
use crate::published::{Cell, cells};
use crate::results::{Results, Series};
use crate::selector::{Row, base_of, named, on_target, rows};

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
        match metrics.chain(others).find(|name| Metric::named(name).is_none()) {
            Some(name) => place(format!("{name:?} is not a metric")),
            None if !(self.level() > 0.0 && self.level() < 1.0) => {
                place(format!("level is {}, expected between 0 and 1", self.level()))
            }
            None => Ok(()),
        }
    }

    /// The table of results.
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

/// Cells of a text.
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
