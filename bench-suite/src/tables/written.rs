//! Tables of an experiment's file: `[[table]]`, whose keys are explained in `docs/experiment-file.md`.

use mcsa_core::Error;
use serde::Deserialize;
use toml::Table;

use super::Sheet;
use crate::interval::{Interval, bootstrap};
use crate::metric::Metric;
use crate::results::Results;
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
    /// Level of the intervals.
    #[serde(default = "ninety")]
    level: f64,
    columns: Vec<Column>,
}

/// A column as written: a setting, metrics, or the number of replicates if there is neither.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Column {
    title: String,
    setting: Option<String>,
    #[serde(default)]
    metrics: Vec<String>,
    /// Metrics are less those of the series with these settings on the same target, paired over replicates.
    base: Option<Table>,
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
        let unknown = |name: &&String| Metric::named(name).is_none();
        match self.columns.iter().flat_map(|column| &column.metrics).find(unknown) {
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
        let row =
            |row: &Row<'_>| self.columns.iter().map(|column| column.cell(row, &all, self.level)).collect();
        Sheet {
            name: self.name.clone(),
            title: self.title.clone(),
            head: self.columns.iter().map(|column| column.title.clone()).collect(),
            rows: all.iter().filter(|(settings, _)| settings.admits(&self.place)).map(row).collect(),
            note: self.note.clone(),
        }
    }
}

impl Column {
    fn cell(&self, row: &Row<'_>, all: &[Row<'_>], level: f64) -> String {
        let (_, series) = row;
        match &self.setting {
            Some(key) => named(row, key),
            None if self.metrics.is_empty() && self.all_rows => {
                series.outcomes.iter().map(|outcome| outcome.rows.len()).sum::<usize>().to_string()
            }
            None if self.metrics.is_empty() => (series.outcomes.len() - series.failures()).to_string(),
            None => {
                let cells = self.metrics.iter().map(|metric| self.number(metric, row, all, level));
                cells.collect::<Vec<_>>().join("; ")
            }
        }
    }

    fn number(&self, metric: &str, row: &Row<'_>, all: &[Row<'_>], level: f64) -> String {
        let (_, series) = row;
        let none = || "–".to_owned();
        let digits = self.digits;
        let scale = self.times / if self.per_step { series.task.length().max(1) as f64 } else { 1.0 };
        let values = match &self.base {
            Some(base) => base_of(row, base, all).map(|base| series.differences(base, metric)),
            None if self.all_rows => {
                let rows = series.outcomes.iter().flat_map(|outcome| &outcome.rows);
                Some(rows.filter_map(|row| row.values.get(metric).copied()).collect())
            }
            None => Some(series.last(metric)),
        };
        let Some(mut values) = values.filter(|values| !values.is_empty()) else { return none() };
        values.iter_mut().for_each(|value| *value *= scale);
        if let Some(of) = &self.percent_of {
            let is_it =
                |(settings, other): &&Row<'_>| settings.admits(of) && other.target() == series.target();
            let Some((_, base)) = all.iter().find(is_it) else { return none() };
            let mut others = base.last(metric);
            let share = median(&mut values) / (scale * median(&mut others));
            return if share.is_nan() { none() } else { format!("{:.digits$}", 100.0 * share) };
        }
        if self.median {
            let value = median(&mut values);
            return if value.is_nan() { none() } else { format!("{value:.digits$}") };
        }
        match bootstrap(&values, level) {
            Some(Interval { value, low, high, replicates }) if self.interval && replicates > 1 => {
                format!("{value:.digits$} [{low:.digits$}, {high:.digits$}]")
            }
            Some(Interval { value, .. }) if value.is_finite() || !self.interval => {
                format!("{value:.digits$}")
            }
            _ => none(),
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
