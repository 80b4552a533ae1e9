//! Tables of an experiment's file: `[[table]]`, whose keys are explained in `docs/experiment-file.md`.

use std::collections::BTreeMap;

use mcsa_core::Error;
use serde::Deserialize;
use toml::Table;

use super::Sheet;
use crate::experiments::theory_cells;
use crate::interval::{Interval, bootstrap};
use crate::metric::Metric;
use crate::published::{Cell, cells};
use crate::results::{Results, Series};
use crate::selector::{Row, base_of, named, rows};
use mcsa_diagnostics::quantile;

/// A table `[[table]]`: a row for each series, a column for each setting or metric.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Written {
    /// Name, unique within the experiment.
    pub(crate) name: String,
    title: String,
    #[serde(default)]
    note: String,
    /// Settings of the rows; of a list one member suffices.
    #[serde(rename = "where", default)]
    place: Table,
    /// Setting whose values group the rows, in the order in which they first occur.
    grouped: Option<String>,
    /// Level of the intervals.
    #[serde(default = "ninety")]
    level: f64,
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
    /// A setting, or a text with settings, `{target.rows} rows`.
    setting: Option<String>,
    /// Names of values of settings.
    #[serde(default)]
    names: BTreeMap<String, String>,
    #[serde(default)]
    metrics: Vec<String>,
    /// Metrics are less those of the series with these settings on the same target, paired over replicates.
    base: Option<Table>,
    /// What is shown of the base itself.
    #[serde(default)]
    itself: Itself,
    /// Metrics are those of the series with these settings on the same target.
    of: Option<Table>,
    /// Metrics are less this one of the series itself, paired over replicates.
    less: Option<String>,
    /// The greatest or least of all replicates is shown.
    worst: Option<Worst>,
    /// The standard deviation over replicates is shown.
    #[serde(default)]
    deviation: bool,
    /// The root mean square of this metric is shown before the standard deviation.
    error: Option<String>,
    /// The published cell is shown, with its standard deviation.
    #[serde(default)]
    published: bool,
    /// Medians are percentages of those of the series with these settings on the same target.
    percent_of: Option<Table>,
    #[serde(default)]
    digits: usize,
    #[serde(default = "one")]
    times: f64,
    /// True if metrics are divided by the number of steps.
    #[serde(default)]
    per_step: bool,
    /// True if the interval of the mean is shown.
    #[serde(default)]
    interval: bool,
    /// True for the median in place of the mean.
    #[serde(default)]
    median: bool,
    /// True for all rows in place of the last of each replicate.
    #[serde(default)]
    all_rows: bool,
}

/// What a column of differences shows of their base.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Itself {
    #[default]
    Nothing,
    /// Its mean.
    Mean,
    /// Its difference to itself.
    Difference,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Worst {
    Greatest,
    Least,
}

fn ninety() -> f64 {
    0.9
}

fn one() -> f64 {
    1.0
}

impl Written {
    /// Refuses unknown metrics.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let place = |reason: String| Err(Error::invalid(reason).within(format!("[[table]] {:?}", self.name)));
        let width = |row: &Vec<String>| {
            row.iter().map(|cell| if cell.starts_with("theory:") { 3 } else { 1 }).sum::<usize>()
        };
        if let Some(at) = self.rows.iter().position(|row| width(row) != self.columns.len()) {
            return place(format!("rows[{at}] has not as many cells as there are columns"));
        }
        let unknown = |name: &&String| Metric::named(name).is_none();
        let metrics = self.columns.iter().flat_map(|column| &column.metrics);
        let others = self.columns.iter().flat_map(|column| column.less.iter().chain(&column.error));
        match metrics.chain(others).find(unknown) {
            Some(name) => place(format!("{name:?} is not a metric")),
            None if !(self.level > 0.0 && self.level < 1.0) => {
                place(format!("level is {}, expected between 0 and 1", self.level))
            }
            None => Ok(()),
        }
    }

    /// The table of results.
    pub(crate) fn sheet(&self, results: &Results) -> Sheet {
        let all = rows(results);
        let published = results.experiment.published.as_ref().map(|published| cells(&published.table));
        let published = published.and_then(Result::ok).unwrap_or_default();
        let row = |row: &Row<'_>| {
            self.columns.iter().map(|column| column.cell(row, &all, self.level, &published)).collect()
        };
        let mut shown: Vec<&Row<'_>> =
            all.iter().filter(|(settings, _)| settings.admits(&self.place)).collect();
        if let Some(key) = &self.grouped {
            let group = |row: &Row<'_>| named(row, key, &BTreeMap::new());
            let groups: Vec<String> = shown.iter().map(|row| group(row)).collect();
            shown.sort_by_key(|row| groups.iter().position(|known| *known == group(row)));
        }
        Sheet {
            name: self.name.clone(),
            title: self.title.clone(),
            head: self.columns.iter().map(|column| column.title.clone()).collect(),
            rows: match self.rows.is_empty() {
                true => shown.into_iter().map(row).collect(),
                false => {
                    self.rows.iter().map(|row| row.iter().flat_map(|cell| text(cell)).collect()).collect()
                }
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
    let mut sets: Vec<(Option<&str>, bool)> = Vec::new();
    let all = results.series();
    for series in &all {
        let set = series.target().data();
        if !sets.iter().any(|(known, _)| *known == set) {
            sets.push((set, series.place().starts_with("SYNTHETIC")));
        }
    }
    match sets.iter().filter(|(_, is_stand_in)| *is_stand_in).count() {
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
                let cells = self
                    .metrics
                    .iter()
                    .map(|metric| self.number(metric, row, all, level).unwrap_or_else(|| "–".to_owned()));
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
        let on_target = |wanted: &Table| {
            let is_it =
                |(settings, other): &&Row<'_>| settings.admits(wanted) && other.target() == series.target();
            all.iter().find(is_it).map(|(_, found)| found)
        };
        let of = self.of.as_ref().map_or(Some(series), on_target)?;
        let values = match (&self.base, &self.less) {
            (Some(base), _) => match (base_of(row, base, all), self.itself) {
                (Some(base), _) => series.differences(base, metric),
                (None, Itself::Mean) if settings.admits(base) => series.last(metric),
                (None, Itself::Difference) if settings.admits(base) => series.differences(series, metric),
                _ => return None,
            },
            (None, Some(less)) => {
                let replicates = series.outcomes.iter().map(|outcome| outcome.job.replicate);
                let value = |replicate| Some(of.end(replicate, metric)? - series.end(replicate, less)?);
                replicates.filter_map(value).collect()
            }
            _ if self.all_rows => {
                let rows = of.outcomes.iter().flat_map(|outcome| &outcome.rows);
                rows.filter_map(|row| row.values.get(metric).copied()).collect()
            }
            _ => of.last(metric),
        };
        let scale = self.scale(series);
        Some(values.into_iter().map(|value| scale * value).collect())
            .filter(|values: &Vec<f64>| !values.is_empty())
    }

    fn scale(&self, series: &Series<'_>) -> f64 {
        self.times / if self.per_step { series.task.length().max(1) as f64 } else { 1.0 }
    }

    fn number(&self, metric: &str, row: &Row<'_>, all: &[Row<'_>], level: f64) -> Option<String> {
        let ((settings, series), digits) = (row, self.digits);
        let mut values = self.values(metric, row, all)?;
        let shown = |value: f64| (!value.is_nan()).then(|| format!("{value:.digits$}"));
        if let Some(of) = &self.percent_of {
            let is_it =
                |(settings, other): &&Row<'_>| settings.admits(of) && other.target() == series.target();
            let mut others = all.iter().find(is_it)?.1.last(metric);
            return shown(100.0 * (median(&mut values) / (self.scale(series) * median(&mut others))));
        }
        if let Some(worst) = self.worst {
            let of = if worst == Worst::Greatest { f64::max } else { f64::min };
            return values.into_iter().reduce(of).map(|value| format!("{value:.digits$}"));
        }
        if self.median {
            return shown(median(&mut values));
        }
        if self.deviation {
            return Some(self.deviating(&values, series));
        }
        // The base itself has a mean beside differences.
        let is_alone =
            self.itself == Itself::Mean && self.base.as_ref().is_some_and(|base| settings.admits(base));
        match bootstrap(&values, level)? {
            Interval { value, low, high, replicates } if self.interval && !is_alone && replicates > 1 => {
                Some(format!("{value:.digits$} [{low:.digits$}, {high:.digits$}]"))
            }
            Interval { value, .. } if value.is_finite() || !self.interval => {
                Some(format!("{value:.digits$}"))
            }
            _ => None,
        }
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

/// Median; NaN if there is no value or one is NaN.
fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        f64::NAN
    } else {
        quantile(values, 0.5)
    }
}
