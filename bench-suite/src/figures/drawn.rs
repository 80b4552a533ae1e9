//! Figures of an experiment's file: the tables `[[figure]]`, whose keys are explained in `docs/book/src/experiment-file.md`.

use std::collections::BTreeMap;

use mcsa_core::Error;
use mcsa_plot::{Axis, Color, Dash, Figure, Layer, Marker, Panel, Style};
use serde::Deserialize;
use toml::{Table, Value};

use super::{
    Curve, EIGHTY, FEWEST, FigureFile, Line, banded, intervals, late, provenance, provenance_of_means, status,
};
use crate::catalog::Method;
use crate::exact::Value as Exact;
use crate::interval::{Interval, bootstrap};
use crate::look;
use crate::metric::{Vector, metric};
use crate::published;
use crate::results::{Results, Series, medians_of_parts};
use crate::selector::{Row, Settings, base_of, combinations, family, named, rows as all_rows};
use crate::tables::{distinct, in_groups};
use crate::task::{Labels, Task};
use mcsa_diagnostics::quantile;

/// A table `[[figure]]`: keys of the page, and keys of all panels, which a table `[[figure.panel]]` can replace.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Drawn {
    /// Name, unique within the experiment.
    pub(crate) name: String,
    #[serde(default)]
    caption: String,
    columns: Option<usize>,
    aspect: Option<f64>,
    width: Option<f64>,
    #[serde(default)]
    shares: Vec<Shared>,
    #[serde(default)]
    optional: bool,
    #[serde(rename = "panel", default)]
    panels: Vec<Table>,
    #[serde(flatten)]
    common: Table,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Shared {
    X,
    Y,
    Legend,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Written {
    metric: String,
    #[serde(rename = "where")]
    place: Table,
    panels: Table,
    title: String,
    titles: BTreeMap<String, String>,
    names: BTreeMap<String, String>,
    value: Scaled,
    x: Scaled,
    against: Against,
    summary: Summary,
    level: Option<f64>,
    series: By,
    rules: Vec<Rule>,
    readings: Option<Readings>,
    from: u64,
    steps: Option<(u64, u64)>,
    first_start: bool,
    base: Option<Table>,
    times: Option<f64>,
    per_step: bool,
    exponent: bool,
    marks: Marks,
    failed_at: Option<f64>,
    except: Option<Table>,
    all_rows: bool,
}

impl Written {
    fn level(&self) -> f64 {
        self.level.unwrap_or(0.8)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Marks {
    #[default]
    Band,
    Intervals,
    Points,
    Replicates,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Scaled {
    label: Option<String>,
    log: bool,
    range: Option<(f64, f64)>,
    late: bool,
    reach: Option<f64>,
    near: bool,
}

/// What a metric is drawn against.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Against {
    #[default]
    Step,
    Setting(String),
    Metrics {
        sum: Vec<String>,
        per: f64,
        #[serde(default)]
        skip: usize,
    },
    Rows(String),
    Metric(String),
    Vector {
        x: Vector,
        y: Vector,
        within: f64,
    },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Summary {
    #[default]
    Median,
    Mean,
}

/// What series differ in, by name and style.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum By {
    #[default]
    Method,
    Family,
    Alike,
    Budgets(Vec<usize>),
}

/// A line at a value, horizontal where the metric is the ordinate.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Rule {
    at: Option<Exact>,
    metric: Option<String>,
    name: Option<String>,
    like: Option<String>,
    #[serde(default)]
    dotted: bool,
}

/// Points read off a published curve.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Readings {
    citation: String,
    curve: Option<String>,
}

/// A panel with its place among the combinations of its settings.
struct Shown {
    written: Written,
    place: Table,
}

impl Drawn {
    /// Panels as written, each with one combination of settings.
    fn shown(&self) -> Result<Vec<Vec<Shown>>, Error> {
        let place = |error: toml::de::Error| {
            Error::invalid(error.message().to_owned()).within(format!("[[figure]] {:?}", self.name))
        };
        let none = [Table::new()];
        let tables = if self.panels.is_empty() { &none[..] } else { &self.panels };
        let each = |table: &Table| {
            let mut all = self.common.clone();
            all.extend(table.clone());
            let written = Written::deserialize(Value::Table(all)).map_err(place)?;
            let shown = combinations(&written.panels).into_iter();
            Ok(shown.map(|place| Shown { written: written.clone(), place }).collect())
        };
        tables.iter().map(each).collect()
    }

    /// Unknown keys, metrics and values are errors, and panels of which no preset has fits.
    pub(crate) fn check(&self, labels: &Labels, tasks: &[Task]) -> Result<(), Error> {
        let settings: Vec<Settings> = tasks.iter().map(|task| Settings::of(task, labels)).collect();
        let place = |reason: String| Error::invalid(reason).within(format!("[[figure]] {:?}", self.name));
        for Shown { written, place: panel } in self.shown()?.into_iter().flatten() {
            let (own, others) = match &written.against {
                Against::Metrics { sum, .. } => (Some(&written.metric), sum.as_slice()),
                Against::Metric(name) => (Some(&written.metric), std::slice::from_ref(name)),
                Against::Vector { .. } => (None, &[][..]),
                _ => (Some(&written.metric), &[][..]),
            };
            let metrics = written.rules.iter().filter_map(|rule| rule.metric.as_ref());
            let mut metrics = own.into_iter().chain(others).chain(metrics);
            if let Some(name) = metrics.find(|name| metric(name).is_none()) {
                return Err(place(format!("{name:?} is not a metric")));
            }
            for rule in &written.rules {
                match &rule.at {
                    Some(at) => drop(at.number().map_err(|error| place(error.to_string()))?),
                    None if rule.metric.is_some() => {}
                    None => return Err(place("a rule has `at` or `metric`".to_owned())),
                }
            }
            if !(written.level() > 0.0 && written.level() < 1.0) {
                return Err(place(format!("level is {}, expected between 0 and 1", written.level())));
            }
            let mut here = settings.iter().filter(|settings| is_in(settings, &written, &panel)).peekable();
            if here.peek().is_none() {
                let pairs = written.place.iter().chain(&panel).map(|(key, value)| format!("{key} = {value}"));
                return Err(place(format!("no job has {}", pairs.collect::<Vec<_>>().join(", "))));
            }
            if let Against::Setting(key) = &written.against
                && here.any(|settings| settings.number(key).is_none())
            {
                return Err(place(format!("against: {key:?} is no number of every job")));
            }
        }
        Ok(())
    }

    /// The figure; `None` if it is optional and no fits are shown.
    pub(crate) fn figure(&self, results: &Results) -> Option<FigureFile> {
        let all = all_rows(results);
        let with = |shown: Shown| {
            let here: Vec<Row<'_>> = all.iter().filter(|row| shown.has(results, row)).cloned().collect();
            (shown, here)
        };
        // Experiments are checked when they are read.
        let shown = self.shown().unwrap_or_default().into_iter();
        let mut rows: Vec<Vec<(Shown, Vec<Row<'_>>)>> =
            shown.map(|row| row.into_iter().map(with).collect()).collect();
        let is_empty = rows.iter().flatten().all(|(_, here)| here.is_empty());
        if is_empty && self.optional {
            return None;
        }
        if !is_empty {
            rows.iter_mut().for_each(|row| row.retain(|(_, here)| !here.is_empty()));
            rows.retain(|row| !row.is_empty());
        }
        let per_row = rows.iter().map(Vec::len).max().unwrap_or(1);
        let first = rows.first()?.first()?.0.written.clone();
        let is_of_stand_in =
            |series: &Series<'_>| series.outcomes.iter().any(|outcome| outcome.job.is_stand_in());
        let mut series = rows.iter().flatten().flat_map(|(_, here)| here);
        let is_stand_in = !is_empty && series.all(|(_, series)| is_of_stand_in(series));
        let panels: Vec<Panel> =
            rows.iter().flatten().map(|(shown, here)| shown.panel(here, is_stand_in)).collect();
        let (count, many) = (panels.len(), rows.len() > 1 && per_row > 1);
        let mut figure = Figure::new(panels);
        let columns = match count {
            _ if many => per_row,
            0..=3 => count,
            _ => count.div_ceil(2),
        };
        figure.columns = self.columns.unwrap_or(columns).clamp(1, count.max(1));
        let shares = |what| self.shares.contains(&what);
        figure.shares_x = shares(Shared::X) && (many || self.columns.is_some() || figure.columns == count);
        (figure.shares_y, figure.shares_legend) = (shares(Shared::Y), shares(Shared::Legend) && count > 1);
        figure.aspect = self.aspect;
        figure.width_mm = self.width.unwrap_or(figure.width_mm);
        if is_stand_in {
            figure.title = "SYNTHETIC data".to_owned();
        }
        let replicates = results.replicates();
        let text = match (&first.against, first.marks, first.summary) {
            (Against::Metric(_), ..) => status(results),
            (Against::Vector { .. }, ..) => provenance_of_means(results, first.level(), false),
            (_, Marks::Replicates, _) => {
                format!("Rings: {replicates} replicates; points: medians.{}", status(results))
            }
            (Against::Rows(_), ..) => format!(
                "Means over {replicates} replicates at the end, with {:.0} % bootstrap intervals.{}",
                100.0 * first.level(),
                status(results)
            ),
            (Against::Setting(_), Marks::Points, Summary::Median) => {
                format!("Medians of {replicates} replicates.{}", status(results))
            }
            (_, _, Summary::Median) => provenance(results),
            (_, marks, Summary::Mean) => {
                provenance_of_means(results, first.level(), marks == Marks::Intervals)
            }
        };
        let caption = format!("{} {}", self.caption, text.trim());
        Some(FigureFile::new(self.name.clone(), figure.captioned(caption.trim())))
    }
}

/// Returns true if a job has the settings of a panel.
fn is_in(settings: &Settings, written: &Written, place: &Table) -> bool {
    let is_left_out = written.except.as_ref().is_some_and(|except| settings.admits(except));
    settings.admits(&written.place) && settings.admits(place) && !is_left_out
}

/// Factor between the abscissae of series whose intervals would cover each other.
const SHIFT: f64 = 1.03;

impl Shown {
    fn has(&self, results: &Results, (settings, series): &Row<'_>) -> bool {
        let Written { steps, first_start, .. } = &self.written;
        let length = series.task.length();
        is_in(settings, &self.written, &self.place)
            && steps.is_none_or(|(from, to)| (from..=to).contains(&length))
            && (!first_start || results.is_from_first_start(series))
    }

    /// A text with the values of the panel's settings in place of `{budget}` and the like; their names if `settings` of a job are
    /// absent.
    fn filled(&self, text: &str, settings: Option<&Settings>) -> String {
        let mut text = text.to_owned();
        for (key, value) in &self.place {
            let value = match value {
                Value::String(word) if settings.is_some() => word.clone(),
                Value::String(word) => self.name_of(key, word),
                value => self.name_of(key, value.to_string().trim_end_matches(".0")),
            };
            text = text.replace(&format!("{{{key}}}"), &value);
        }
        for key in ["method", "budget", "gap"] {
            if let Some(value) = settings.and_then(|settings| settings.shown(key)) {
                text = text.replace(&format!("{{{key}}}"), value.trim_end_matches(".0"));
            }
        }
        text
    }

    fn name_of(&self, key: &str, value: &str) -> String {
        match self.written.titles.get(value) {
            Some(title) => title.clone(),
            None if key == "method" => look::name(value).to_owned(),
            None => value.to_owned(),
        }
    }

    /// Name and style of a series among those that are shown. Further budgets of a method are dotted, with hollow markers.
    fn look(&self, row: &Row<'_>, here: &[Row<'_>]) -> (String, Style) {
        let (_, series) = row;
        let (kind, budget) = (series.method().kind(), series.method().budget());
        match &self.written.series {
            By::Alike => (String::new(), Style::series(0)),
            By::Family => {
                let name = |row: &Row<'_>| named(row, "family", &self.written.names);
                let style = look::of(family(series)).2;
                let first = here.iter().find(|(_, other)| family(other) == family(series));
                match first.is_none_or(|first| name(first) == name(row)) {
                    true => (name(row), style),
                    false => (name(row), Style { dash: Dash::Short, marker: Marker::Wedge, ..style }),
                }
            }
            By::Budgets(budgets) => {
                let member = budgets.iter().position(|known| *known == budget).unwrap_or(0);
                (format!("*N* = {budget}"), look::shade(series.method(), member, budgets.len()))
            }
            By::Method => {
                let style = look::style(series.method());
                let name = self.written.names.get(kind).map_or_else(|| look::name(kind), String::as_str);
                let same = here.iter().map(|(_, other)| other.method()).filter(|other| other.kind() == kind);
                let budgets: Vec<usize> = same.map(Method::budget).collect();
                let is_against_budget = self.written.against == Against::Setting("budget".to_owned());
                if is_against_budget || budgets.iter().all(|other| *other == budget) {
                    return (name.to_owned(), style);
                }
                let name = format!("{name}, *N* = {budget}");
                match budgets.first() == Some(&budget) {
                    true => (name, style),
                    false => (name, Style { dash: Dash::Dotted, marker: Marker::Ring, ..style }),
                }
            }
        }
    }

    /// As [`Self::look`]; series from another start than the first have its label and hollow markers.
    fn look_with_start(&self, row: &Row<'_>, here: &[Row<'_>]) -> (String, Style) {
        let ((name, style), (settings, series)) = (self.look(row, here), row);
        let is_alike = |other: &Series<'_>| {
            other.target() == series.target()
                && other.method() == series.method()
                && other.shape() == series.shape()
        };
        let first = here.iter().find(|(_, other)| is_alike(other));
        match settings.label("start") {
            Some(label) if first.is_some_and(|(_, first)| first.task != series.task) => {
                (format!("{name}, {label}"), Style { marker: Marker::Ring, ..style })
            }
            _ => (name, style),
        }
    }

    fn axis(&self, scaled: &Scaled, default: &str, here: &[Row<'_>]) -> Axis {
        let label = scaled.label.as_deref().unwrap_or(default);
        let axis = if scaled.log { Axis::log(label) } else { Axis::linear(label) };
        let last = here.iter().filter_map(|(_, series)| series.steps().last().copied()).max().unwrap_or(1);
        match (scaled.range, scaled.reach) {
            (Some((low, high)), _) => axis.spanning(low, high),
            (None, Some(reach)) => axis.spanning(0.0, reach * last as f64),
            _ if scaled.late => {
                match late(here.iter().map(|(_, series)| self.curve(series, &self.written.metric))) {
                    Some((_, (low, high))) => axis.spanning(low, high),
                    None => axis,
                }
            }
            _ => axis,
        }
    }

    /// Steps with the lower end, middle and upper end of the band of a metric.
    fn curve(&self, series: &Series<'_>, metric: &str) -> Curve {
        match self.written.summary {
            Summary::Median => series.quantiles(metric, EIGHTY),
            Summary::Mean => series.means(metric, self.written.level()),
        }
    }

    /// The line of a series with a band, if there are enough replicates.
    fn line(&self, row: &Row<'_>, here: &[Row<'_>], curve: Curve) -> Line {
        (self.look(row, here), row.1.outcomes.len() >= FEWEST, curve)
    }

    fn panel(&self, here: &[Row<'_>], is_stand_in: bool) -> Panel {
        let written = &self.written;
        let value = self.axis(&written.value, &written.metric, here);
        let title = self.filled(&written.title, None);
        let ruled = |x: &str, value| self.ruled(Panel::new(self.axis(&written.x, x, here), value), here);
        let panel = match &written.against {
            Against::Rows(key) => return self.rows(key, value, here).titled(title),
            Against::Metric(x) => return self.scatter(ruled(x, value), x, here).titled(title),
            Against::Vector { x, y, within } => return self.vectors([*x, *y], *within, here).titled(title),
            Against::Step => {
                let line = |row: &Row<'_>| self.line(row, here, self.curve(&row.1, &written.metric));
                banded(ruled("Iteration", value), Some(written.from), here.iter().map(line).collect())
            }
            Against::Setting(key) => self.ends(ruled(key, value), key, here),
            Against::Metrics { sum, per, skip } => {
                let line = |row: &Row<'_>| self.against_metrics(row, here, sum, *per, *skip);
                banded(ruled("", value), None, here.iter().filter_map(line).collect())
            }
        };
        let panel = if is_stand_in { panel } else { self.read(panel, here) };
        panel.titled(title)
    }

    /// Points of two metrics in each row, and lines through medians of eighths by the abscissa.
    fn scatter(&self, mut panel: Panel, x: &str, here: &[Row<'_>]) -> Panel {
        let mut lines = Vec::new();
        for row in here {
            let (name, style) = self.look(row, here);
            let points = row.1.pairs(x, &self.written.metric);
            panel = panel.with(Layer::points(points.clone()).styled(style.sized(1.6).faint(0.35)));
            lines.push(Layer::line(medians_of_parts(points, 8)).named(name).styled(style));
        }
        lines.into_iter().fold(panel, Panel::with)
    }

    /// Means over replicates of the entries of a vector against those of another, with bands.
    fn vectors(&self, [x, y]: [Vector; 2], within: f64, here: &[Row<'_>]) -> Panel {
        let line = |row: &Row<'_>| {
            let grids = row.1.last_vectors(x);
            let grid = grids.first().copied().unwrap_or_default().iter().enumerate();
            let means = grid.filter(|(_, place)| place.abs() <= within).filter_map(|(k, place)| {
                let found = bootstrap(&row.1.last_entries(y, k), self.written.level())?;
                Some((*place, [found.low, found.value, found.high]))
            });
            self.line(row, here, means.collect())
        };
        let lines: Vec<Line> = here.iter().map(line).collect();
        let edge = lines.iter().rev().find_map(|(.., curve)| Some(curve.last()?.0));
        let high = lines.iter().flat_map(|(.., curve)| curve).map(|(_, [.., high])| *high);
        let highest = high.filter(|value| value.is_finite()).fold(f64::MIN_POSITIVE, f64::max);
        let edge = edge.unwrap_or(within);
        let x = self.axis(&self.written.x, "", here).spanning(-edge, edge);
        let value = self.axis(&self.written.value, "", here).spanning(0.0, 1.05 * highest);
        banded(Panel::new(x, value), None, lines)
    }

    /// Adds the rules; in rows, where values are abscissae, they are vertical.
    fn ruled(&self, mut panel: Panel, here: &[Row<'_>]) -> Panel {
        let is_rows = matches!(self.written.against, Against::Rows(_));
        for rule in &self.written.rules {
            let found = match (&rule.at, &rule.metric) {
                (Some(at), _) => at.number().ok(),
                (None, Some(name)) => here.iter().find_map(|(_, series)| {
                    series.outcomes.first()?.rows.first()?.values.get(name.as_str()).copied()
                }),
                _ => None,
            };
            let Some(value) = found else { continue };
            let mut layer = if is_rows { Layer::vertical_rule(value) } else { Layer::horizontal_rule(value) };
            let like = rule.like.as_ref();
            let known =
                here.iter().find(|(_, series)| like.is_some_and(|kind| kind == series.method().kind()));
            let style = match (like, rule.dotted) {
                (None, false) => Style::reference(),
                (None, true) => Style { dash: Dash::Dotted, ..Style::reference() },
                (Some(_), _) => {
                    let color = known.map_or(Color::BLACK, |(_, series)| look::style(series.method()).color);
                    Style { color, dash: Dash::Short, ..Style::reference() }
                }
            };
            layer = layer.styled(style);
            panel = panel.with(rule.name.iter().fold(layer, |layer, name| layer.named(name.clone())));
        }
        panel
    }

    /// Values at the end: none of the base itself.
    fn values(&self, row: &Row<'_>, here: &[Row<'_>]) -> Vec<f64> {
        let Written { metric, base, per_step, .. } = &self.written;
        let (_, series) = row;
        let steps = if *per_step { series.task.length().max(1) as f64 } else { 1.0 };
        let values = match base {
            Some(base) => {
                base_of(row, base, here).map_or_else(Vec::new, |base| series.differences(base, metric))
            }
            None if self.written.all_rows => {
                series.pairs(metric, metric).into_iter().unzip::<_, _, _, Vec<_>>().0
            }
            None => series.last(metric),
        };
        values.into_iter().map(|value| self.written.times.unwrap_or(1.0) / steps * value).collect()
    }

    /// Lower end, middle and upper end of the band at the end, or a place beyond the axis for fits that ended early.
    fn end(&self, row: &Row<'_>, here: &[Row<'_>]) -> Option<[f64; 3]> {
        let mut values = self.values(row, here);
        if self.written.failed_at.is_some() {
            // Interpolation between infinite values would give NaN.
            values.iter_mut().filter(|value| value.is_infinite()).for_each(|value| *value = f64::MAX);
            values.extend(std::iter::repeat_n(f64::MAX, row.1.failures()));
        }
        let far = self.written.failed_at.unwrap_or(f64::INFINITY);
        match self.written.summary {
            Summary::Mean if self.written.failed_at.is_none() => {
                bootstrap(&values, self.written.level()).map(|found| [found.low, found.value, found.high])
            }
            _ => (!values.is_empty()).then(|| EIGHTY.map(|level| quantile(&mut values, level).min(far))),
        }
    }

    /// Lines with points and bands against a setting.
    fn ends(&self, mut panel: Panel, key: &str, here: &[Row<'_>]) -> Panel {
        let end = |row: &Row<'_>| {
            let (x, [low, middle, high], (name, style)) =
                (row.0.number(key)?, self.end(row, here)?, self.look(row, here));
            Some((name, (style, [x, middle, low, high])))
        };
        let lines = in_groups(here.iter().filter_map(end));
        let has_bands =
            self.written.marks == Marks::Band && here.iter().all(|row| row.1.outcomes.len() >= FEWEST);
        for (_, ends) in lines.iter().filter(|_| has_bands) {
            let edges = ends.iter().map(|(_, [x, _, low, high])| [*x, *low, *high]);
            panel = panel.with(Layer::band(edges).styled(ends[0].0));
        }
        for (place, (mut name, ends)) in lines.into_iter().enumerate() {
            if let Some(slope) =
                self.written.exponent.then(|| exponent(ends.iter().map(|(_, end)| end))).flatten()
            {
                name = format!("{name}: exponent {slope:.2}");
            }
            let style = ends[0].0;
            let mut rows: Vec<[f64; 4]> = ends.into_iter().map(|(_, row)| row).collect();
            if self.written.marks == Marks::Intervals {
                rows.iter_mut().for_each(|[x, ..]| *x *= SHIFT.powi(place as i32));
            }
            let points: Vec<(f64, f64)> = rows.iter().map(|[x, middle, ..]| (*x, *middle)).collect();
            panel = panel.with(Layer::line(points.clone()).named(name.clone()).styled(style));
            panel = panel.with(match self.written.marks {
                Marks::Intervals => Layer::intervals(rows).styled(style).named(name),
                _ => Layer::points(points).named(name).styled(style.sized(3.0)),
            });
        }
        panel
    }

    /// A line against the middle of a sum of metrics, with a band of medians.
    fn against_metrics(
        &self,
        row: &Row<'_>,
        here: &[Row<'_>],
        sum: &[String],
        per: f64,
        skip: usize,
    ) -> Option<Line> {
        let mut curve = self.curve(&row.1, &self.written.metric);
        let all: Vec<Curve> = sum.iter().map(|name| self.curve(&row.1, name)).collect();
        let steps = |curve: &Curve| curve.iter().map(|(step, _)| *step).collect::<Vec<f64>>();
        if all.iter().any(|found| steps(found) != steps(&curve)) || curve.len() <= skip {
            return None;
        }
        for (k, (x, _)) in curve.iter_mut().enumerate() {
            *x = all.iter().map(|found| found[k].1[1]).sum::<f64>() / per;
        }
        let is_banded = row.1.outcomes.len() >= FEWEST && self.written.summary == Summary::Median;
        Some((self.look(row, here), is_banded, curve.split_off(skip)))
    }

    /// Means with intervals at the end, or all replicates with their median, a row for each value of a setting.
    fn rows(&self, key: &str, value: Axis, all: &[Row<'_>]) -> Panel {
        let is_base =
            |settings: &Settings| self.written.base.as_ref().is_some_and(|base| settings.admits(base));
        let here: Vec<Row<'_>> = all.iter().filter(|(settings, _)| !is_base(settings)).cloned().collect();
        let place = |row: &Row<'_>| named(row, key, &self.written.names);
        let (places, mut rows, mut points) = (distinct(here.iter().map(place)), Vec::new(), Vec::new());
        for row in &here {
            let at = places.iter().position(|known| *known == place(row)).unwrap_or(0) as f64;
            let (look, mut values) = (self.look_with_start(row, &here), self.values(row, all));
            if self.written.marks != Marks::Replicates {
                rows.push((look, at, bootstrap(&values, self.written.level())));
            } else if !values.is_empty() {
                let ring = Style { marker: Marker::Ring, ..look.1 }.sized(2.4);
                points.push(Layer::points(values.iter().map(|value| (*value, at))).styled(ring));
                points.push(Layer::points([(quantile(&mut values, 0.5), at)]).styled(look.1.sized(4.0)));
            }
        }
        let names = places.iter().map(|place| self.name_of(key, place).replace('±', "^{±}"));
        let mut panel = self.ruled(Panel::new(value, Axis::categories("", names)), all);
        if self.written.base.is_some() {
            panel = panel.with(Layer::vertical_rule(0.0));
        }
        let means: Vec<Interval> = rows.iter().filter_map(|(_, _, mean)| *mean).collect();
        if let Some((low, high)) = near(&means).filter(|_| self.written.value.near) {
            panel.x = panel.x.spanning(low, high);
        }
        points.into_iter().fold(intervals(panel, &rows), Panel::with)
    }

    /// Hollow rings at values read off published curves, within the axes and the steps of the fits.
    fn read(&self, mut panel: Panel, here: &[Row<'_>]) -> Panel {
        let Some(Readings { citation, curve }) = &self.written.readings else { return panel };
        let is_within = |range: Option<(f64, f64)>, value: f64| {
            range.is_none_or(|(low, high)| low <= value && value <= high)
        };
        let curve = |row: &Row<'_>| self.filled(curve.as_deref().unwrap_or("{method}"), Some(&row.0));
        for (curve, rows) in in_groups(here.iter().map(|row| (curve(row), row))) {
            let last = match self.written.against {
                Against::Step => rows[0].1.steps().last().copied().unwrap_or(0) as f64,
                _ => f64::INFINITY,
            };
            let mut points = published::readings(citation, &curve);
            points
                .retain(|(x, y)| *x <= last && is_within(panel.x.range, *x) && is_within(panel.y.range, *y));
            let ring = Style { marker: Marker::Ring, ..self.look(rows[0], here).1 };
            panel = panel.with(Layer::points(points).styled(ring.sized(3.6)));
        }
        panel
    }
}

/// Slope of the least-squares line through the logarithms of both numbers.
fn exponent<'a>(points: impl Iterator<Item = &'a [f64; 4]>) -> Option<f64> {
    let logs: Vec<(f64, f64)> = points.map(|[x, y, ..]| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let (x, y) = logs.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let spread: f64 = logs.iter().map(|(u, _)| (u - x).powi(2)).sum();
    let slope = logs.iter().map(|(u, v)| (u - x) * (v - y)).sum::<f64>() / spread;
    slope.is_finite().then_some(slope)
}

/// Range of an axis that leaves out means farther from zero than a hundred medians, if there are any: fits that diverged without
/// ending early would make one point of all the others.
fn near(means: &[Interval]) -> Option<(f64, f64)> {
    let mut sizes: Vec<f64> = means.iter().map(|mean| mean.value.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let largest = 100.0 * sizes.get(sizes.len() / 2)?;
    let (near, far): (Vec<&Interval>, Vec<&Interval>) =
        means.iter().partition(|mean| mean.value.abs() <= largest);
    let ends = near.iter().flat_map(|mean| [mean.low, mean.high]);
    let (low, high) = ends.fold((0.0_f64, 0.0_f64), |(low, high), end| (low.min(end), high.max(end)));
    let margin = 0.05 * (high - low);
    (!far.is_empty() && margin > 0.0).then_some((low - margin, high + margin))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The axis leaves out a mean of a fit that diverged, and is that of the data where there is none.
    #[test]
    fn the_exponent_is_the_slope_of_logarithms() {
        let points = [1.0, 2.0, 5.0].map(|x: f64| [x, 3.0 * x.powf(1.5), 0.0, 0.0]);
        assert!((exponent(points.iter()).expect("three points") - 1.5).abs() < 1e-12);
        assert_eq!(exponent(points[..1].iter()), None);
    }

    #[test]
    fn diverged_fits_do_not_widen_an_axis() {
        let mean = |value: f64| Interval { value, low: value - 1.0, high: value + 1.0, replicates: 5 };
        let close = [mean(10.0), mean(23.0), mean(28.0)];
        assert_eq!(near(&close), None);
        let (low, high) = near(&[close[0], close[1], close[2], mean(-7e8)]).unwrap();
        assert!(low > -2.0 && low < 0.0 && high > 29.0 && high < 31.0, "{low} to {high}");
        assert_eq!(near(&[]), None);
    }
}
