//! Paired gains of families over a base family on the same target: figures, tables and intervals.

use std::collections::BTreeMap;

use mcsa_plot::{Axis, Figure, Layer, Panel, Style};

use crate::figures::FigureFile;
use crate::figures::curves::status;
use crate::interval::{Interval, bootstrap};
use crate::results::{Results, Series};
use crate::tables::Sheet;

/// Level of the intervals, as in claims.
const LEVEL: f64 = 0.9;

/// Series of an experiment, some of which are the base of the others on their target.
pub(crate) struct Gains<'r> {
    results: &'r Results,
    series: Vec<Series<'r>>,
    is_base: fn(&Series<'_>) -> bool,
    name: fn(&Series<'_>) -> String,
}

/// A metric in figures and tables.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    /// Name of the metric.
    pub(crate) metric: &'static str,
    /// Name in axes and heads.
    pub(crate) label: &'static str,
    /// Unit after the name, with its comma; empty if there is none.
    pub(crate) unit: &'static str,
    /// Digits after the point.
    pub(crate) digits: usize,
}

impl<'r> Gains<'r> {
    pub(crate) fn new(
        results: &'r Results,
        is_base: fn(&Series<'_>) -> bool,
        name: fn(&Series<'_>) -> String,
    ) -> Self {
        Self { results, series: results.series(), is_base, name }
    }

    /// The series that are compared with their base.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Series<'r>> {
        self.series.iter().filter(|series| !(self.is_base)(series))
    }

    /// Difference of a metric to that of the base, for each replicate that has both.
    pub(crate) fn differences(&self, series: &Series<'_>, metric: &str) -> BTreeMap<u64, f64> {
        let base =
            self.series.iter().find(|other| (self.is_base)(other) && other.target() == series.target());
        let base = base.map(|base| ends(base, metric)).unwrap_or_default();
        let pair = |(replicate, value): (u64, f64)| Some((replicate, value - base.get(&replicate)?));
        ends(series, metric).into_iter().filter_map(pair).collect()
    }

    /// Log evidence, estimated by importance sampling at a fit, less its bound: what another family could gain at the same
    /// hyperparameters.
    fn room(series: &Series<'_>) -> Option<Interval> {
        let (evidence, bound) = (ends(series, "log_z"), ends(series, "elbo"));
        interval(evidence.iter().filter_map(|(replicate, log_z)| Some(log_z - bound.get(replicate)?)))
    }

    /// Mean of the differences.
    pub(crate) fn gain(&self, series: &Series<'_>, metric: &str) -> Option<Interval> {
        interval(self.differences(series, metric).into_values())
    }

    /// Figure with a panel for each metric and a row for each series that is not a base.
    pub(crate) fn plate(&self, shown: &[Shown], base: &str, caption: &str) -> FigureFile {
        let places: Vec<String> = self.series.iter().map(Series::place).collect();
        let is_synthetic = places.iter().any(|place| place.starts_with("SYNTHETIC"));
        let is_one = places.iter().all(|place| Some(place) == places.first());
        let title = match (places.first(), is_one, is_synthetic) {
            (Some(place), true, _) => place.replace('_', "\\_"),
            (_, _, true) => "SYNTHETIC stand-ins".to_owned(),
            _ => String::new(),
        };
        let panel = |(k, of): (usize, &Shown)| {
            let rows: Vec<(String, Interval)> = self
                .others()
                .filter_map(|series| Some(((self.name)(series), self.gain(series, of.metric)?)))
                .filter(|(_, gain)| gain.value.is_finite())
                .collect();
            // Subscripts of the markup stay; other underscores are letters.
            let names = rows.iter().map(|(name, _)| name.replace('_', "\\_").replace("\\_{", "_{"));
            let column = |of: fn(&Interval) -> f64| rows.iter().map(|(_, gain)| of(gain)).collect::<Vec<_>>();
            let at: Vec<f64> = (0..rows.len()).map(|row| row as f64).collect();
            let layer = Layer::intervals(
                at,
                column(|gain| gain.value),
                column(|gain| gain.low),
                column(|gain| gain.high),
            );
            let axis = Axis::linear(format!("{} − that of the {base}{}", of.label, of.unit));
            let gains: Vec<Interval> = rows.iter().map(|(_, gain)| *gain).collect();
            let axis = match span(&gains) {
                Some((low, high)) => axis.spanning(low, high),
                None => axis,
            };
            Panel::new(axis, Axis::categories("", names))
                .titled(title.clone())
                .with(Layer::vertical_rule(0.0))
                .with(layer.horizontal().styled(Style::series(k)))
        };
        let caption = format!(
            "{caption} Means over {} replicates of paired differences, with 90 % bootstrap intervals.{}",
            self.results.replicates(),
            status(self.results)
        );
        let mut figure = Figure::new(shown.iter().enumerate().map(panel).collect()).captioned(caption);
        figure.columns = shown.len().clamp(1, 2);
        let width = if shown.len() > 1 { 170.0 } else { 120.0 };
        FigureFile::new("gains", figure.wide(width))
    }

    /// Table of metrics of all series, and of the gains in the first metric.
    pub(crate) fn sheet(&self, title: &str, shown: &[Shown]) -> Sheet {
        let row = |series: &Series<'_>| {
            let family = series.shape().map_or_else(String::new, |shape| shape.title());
            let mut cells = vec![series.place(), (self.name)(series), family];
            for of in shown {
                cells.push(cell(interval(ends(series, of.metric).into_values()), of.digits));
            }
            let first = shown.first().filter(|_| !(self.is_base)(series));
            cells.push(first.map_or_else(none, |of| cell(self.gain(series, of.metric), of.digits)));
            cells.push(cell(Self::room(series), 2));
            let mean = |metric: &str| {
                let found = interval(ends(series, metric).into_values());
                found.map_or_else(none, |found| format!("{:.1}", found.value))
            };
            cells.push(
                interval(ends(series, "k_hat").into_values())
                    .map_or_else(none, |k| format!("{:.2}", k.value)),
            );
            cells.push(format!("{}; {}", mean("zero_steps"), mean("longest_steps")));
            cells.push(mean("seconds"));
            cells.push((series.outcomes.len() - series.failures()).to_string());
            cells
        };
        let mut head = vec!["Data".to_owned(), "Row".to_owned(), "Family".to_owned()];
        head.extend(shown.iter().map(|of| format!("{}{}", of.label, of.unit)));
        head.extend(shown.first().map(|of| format!("Gain in {}{}", of.label, of.unit)));
        head.extend(
            ["Room, nats", "k-hat", "Steps of size zero; of the largest", "Seconds", "Replicates"]
                .map(str::to_owned),
        );
        Sheet {
            name: "gains".to_owned(),
            title: title.to_owned(),
            head,
            rows: self.series.iter().map(row).collect(),
            note: "Means over replicates, with 90 % bootstrap intervals; gains are paired. Room: log evidence, estimated by importance \
                   sampling at the fit, less the bound: what another family could gain at the same hyperparameters. The estimate can be \
                   relied on where k-hat is below 0.7."
                .to_owned(),
        }
    }
}

/// Range of an axis that leaves out gains farther from zero than a hundred medians, if there are any: fits that diverged without
/// ending early would make one point of all the others.
fn span(gains: &[Interval]) -> Option<(f64, f64)> {
    let mut sizes: Vec<f64> = gains.iter().map(|gain| gain.value.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let largest = 100.0 * sizes.get(sizes.len() / 2)?;
    let (near, far): (Vec<&Interval>, Vec<&Interval>) =
        gains.iter().partition(|gain| gain.value.abs() <= largest);
    let ends = near.iter().flat_map(|gain| [gain.low, gain.high]);
    let (low, high) = ends.fold((0.0_f64, 0.0_f64), |(low, high), end| (low.min(end), high.max(end)));
    let margin = 0.05 * (high - low);
    (!far.is_empty() && margin > 0.0).then_some((low - margin, high + margin))
}

/// Value of a metric in the last row of each replicate that did not end early.
fn ends(series: &Series<'_>, metric: &str) -> BTreeMap<u64, f64> {
    let whole = series.outcomes.iter().filter(|outcome| outcome.ended.failure.is_none());
    let value = |outcome: &&&crate::store::Outcome| {
        Some((outcome.job.replicate, *outcome.rows.last()?.values.get(metric)?))
    };
    whole.filter_map(|outcome| value(&outcome)).collect()
}

/// Mean with its interval.
pub(crate) fn interval(values: impl IntoIterator<Item = f64>) -> Option<Interval> {
    bootstrap(&values.into_iter().collect::<Vec<f64>>(), LEVEL)
}

fn none() -> String {
    "–".to_owned()
}

fn cell(found: Option<Interval>, digits: usize) -> String {
    match found {
        None => none(),
        Some(Interval { value, replicates: 1, .. }) => format!("{value:.digits$}"),
        Some(Interval { value, low, high, .. }) => {
            format!("{value:.digits$} [{low:.digits$}, {high:.digits$}]")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The axis leaves out a gain of a fit that diverged, and is that of the data where there is none.
    #[test]
    fn diverged_fits_do_not_widen_an_axis() {
        let gain = |value: f64| Interval { value, low: value - 1.0, high: value + 1.0, replicates: 5 };
        let near = [gain(10.0), gain(23.0), gain(28.0)];
        assert_eq!(span(&near), None);
        let (low, high) = span(&[near[0], near[1], near[2], gain(-7e8)]).unwrap();
        assert!(low > -2.0 && low < 0.0 && high > 29.0 && high < 31.0, "{low} to {high}");
        assert_eq!(span(&[]), None);
    }
}
