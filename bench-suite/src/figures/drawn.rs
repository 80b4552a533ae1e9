//! Figures of an experiment's file: the tables `[[figure]]`, whose keys are explained in `docs/experiment-file.md`.

use std::collections::BTreeMap;

use mcsa_core::Error;
use mcsa_plot::{Axis, Color, Dash, Figure, Layer, Marker, Panel, Style};
use serde::Deserialize;
use toml::{Table, Value};

use super::FigureFile;
use super::curves::{EIGHTY, provenance, provenance_of_means, status, with};
use crate::catalog::{Ansatz, FamilyConfig, Method};
use crate::exact::Value as Exact;
use crate::interval::bootstrap;
use crate::look;
use crate::metric::Metric;
use crate::published;
use crate::results::{Results, Series};
use crate::selector::{Row, Settings, combinations, gains, named, rows as all_rows};
use crate::task::{Labels, Task};
use mcsa_diagnostics::quantile;

/// A table `[[figure]]`: keys of the page, and keys of all panels, which a table `[[figure.panel]]` can replace.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Drawn {
    /// Name, unique within the experiment.
    pub(crate) name: String,
    /// Text before the one on replicates and bands.
    #[serde(default)]
    caption: String,
    columns: Option<usize>,
    aspect: Option<f64>,
    width: Option<f64>,
    #[serde(default)]
    shares: Vec<Shared>,
    /// True if the figure is left out where no fits are shown.
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

/// A panel as written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    metric: String,
    /// Settings of the fits; of a list one member suffices.
    #[serde(rename = "where", default)]
    place: Table,
    /// Settings by which panels differ; each combination is a panel.
    #[serde(default)]
    panels: Table,
    /// Title, in which `{budget}` is the value of a setting.
    #[serde(default)]
    title: String,
    /// Names of values in titles and categories.
    #[serde(default)]
    titles: BTreeMap<String, String>,
    /// Names of kinds of methods in the legend.
    #[serde(default)]
    names: BTreeMap<String, String>,
    #[serde(default)]
    value: Scaled,
    #[serde(default)]
    x: Scaled,
    #[serde(default)]
    against: Against,
    #[serde(default)]
    summary: Summary,
    /// Level of the intervals of means.
    #[serde(default = "eighty")]
    level: f64,
    #[serde(default)]
    series: By,
    #[serde(default)]
    rules: Vec<Rule>,
    readings: Option<Readings>,
    /// First step that is drawn.
    #[serde(default)]
    from: u64,
    /// Least and greatest number of steps of the fits.
    steps: Option<(u64, u64)>,
    /// True for fits from the first start of their method alone.
    #[serde(default)]
    first_start: bool,
    /// Metrics at the end are less those of the series with these settings on the same target, paired over replicates.
    base: Option<Table>,
    #[serde(default = "one")]
    times: f64,
    /// True if metrics at the end are divided by the number of steps.
    #[serde(default)]
    per_step: bool,
    #[serde(default)]
    marks: Marks,
    /// Value at which a fit that ended early is drawn; it is left out if absent.
    failed_at: Option<f64>,
}

fn one() -> f64 {
    1.0
}

/// What is drawn beside a line at the end of fits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Marks {
    #[default]
    Band,
    /// Intervals, each series a little beside the others.
    Intervals,
    /// Points alone.
    Points,
}

fn eighty() -> f64 {
    0.8
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Scaled {
    label: Option<String>,
    #[serde(default)]
    log: bool,
    range: Option<(f64, f64)>,
    /// The range is that of the bands after the first tenth of the steps.
    #[serde(default)]
    late: bool,
    /// The range is from 0 to this many times the last step.
    reach: Option<f64>,
}

/// What a metric is drawn against.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Against {
    /// Recorded steps.
    #[default]
    Step,
    /// A number among the settings, at the end of fits.
    Setting(String),
    /// The sum of metrics along the fits, in units of `per`.
    Metrics {
        sum: Vec<String>,
        per: f64,
        #[serde(default)]
        skip: usize,
    },
    /// Values of a setting as rows, at the end of fits.
    Rows(String),
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
    /// Nothing: the rows have the names.
    Alike,
    /// Budgets of one method, from light to dark.
    Budgets(Vec<usize>),
}

/// A line at a value, horizontal where the metric is the ordinate.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Rule {
    at: Option<Exact>,
    /// A metric of the fits, in place of a value.
    metric: Option<String>,
    name: Option<String>,
    /// Kind of method whose colour the line has.
    like: Option<String>,
    #[serde(default)]
    dotted: bool,
}

/// Points read off a published curve.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Readings {
    citation: String,
    /// Name of the curve, in which `{method}` and the like are settings.
    #[serde(default = "by_kind")]
    curve: String,
}

fn by_kind() -> String {
    "{method}".to_owned()
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

    /// Refuses unknown keys, metrics and values, and panels of which no preset has fits.
    pub(crate) fn check(&self, labels: &Labels, tasks: &[Task]) -> Result<(), Error> {
        let settings: Vec<Settings> = tasks.iter().map(|task| Settings::of(task, labels)).collect();
        let place = |reason: String| Error::invalid(reason).within(format!("[[figure]] {:?}", self.name));
        for Shown { written, place: panel } in self.shown()?.into_iter().flatten() {
            let sums = match &written.against {
                Against::Metrics { sum, .. } => sum.as_slice(),
                _ => &[],
            };
            let metrics = written.rules.iter().filter_map(|rule| rule.metric.as_ref());
            if let Some(name) = std::iter::once(&written.metric)
                .chain(sums)
                .chain(metrics)
                .find(|name| Metric::named(name).is_none())
            {
                return Err(place(format!("{name:?} is not a metric")));
            }
            for rule in &written.rules {
                match &rule.at {
                    Some(at) => drop(at.number().map_err(|error| place(error.to_string()))?),
                    None if rule.metric.is_some() => {}
                    None => return Err(place("a rule has `at` or `metric`".to_owned())),
                }
            }
            if !(written.level > 0.0 && written.level < 1.0) {
                return Err(place(format!("level is {}, expected between 0 and 1", written.level)));
            }
            let here: Vec<&Settings> =
                settings.iter().filter(|settings| is_in(settings, &written, &panel)).collect();
            if here.is_empty() {
                return Err(place(format!("no job has {}", listed(&written.place, &panel))));
            }
            if let Against::Setting(key) = &written.against
                && here.iter().any(|settings| settings.number(key).is_none())
            {
                return Err(place(format!("against: {key:?} is no number of every job")));
            }
        }
        Ok(())
    }

    /// The figure; `None` if it is optional and no fits are shown.
    pub(crate) fn plate(&self, results: &Results) -> Option<FigureFile> {
        let all = all_rows(results);
        let mut rows: Vec<Vec<(Shown, Vec<Row<'_>>)>> = Vec::new();
        // Experiments are checked when they are read.
        for shown in self.shown().unwrap_or_default() {
            let with = |shown: Shown| {
                let is_it = |row: &&Row<'_>| shown.has(results, row);
                let here: Vec<Row<'_>> = all.iter().filter(is_it).cloned().collect();
                (shown, here)
            };
            rows.push(shown.into_iter().map(with).collect());
        }
        let is_empty = rows.iter().flatten().all(|(_, here)| here.is_empty());
        if is_empty && self.optional {
            return None;
        }
        if !is_empty {
            rows.iter_mut().for_each(|row| row.retain(|(_, here)| !here.is_empty()));
            rows.retain(|row| !row.is_empty());
        }
        let per_row = rows.iter().map(Vec::len).max().unwrap_or(1);
        let (first, is_rows) = match rows.first().and_then(|row| row.first()) {
            Some((shown, _)) => (shown.written.clone(), matches!(shown.written.against, Against::Rows(_))),
            None => return None,
        };
        let is_stand_in = !is_empty
            && rows.iter().flatten().flat_map(|(_, here)| here).all(|(_, series)| is_of_stand_in(series));
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
        if let Some(width) = self.width {
            figure.width_mm = width;
        }
        if is_stand_in {
            figure.title = "SYNTHETIC data".to_owned();
        }
        let text = match first.summary {
            _ if is_rows => format!(
                "Means over {} replicates at the end, with {:.0} % bootstrap intervals.{}",
                results.replicates(),
                100.0 * first.level,
                status(results)
            ),
            Summary::Median
                if matches!((&first.against, first.marks), (Against::Setting(_), Marks::Points)) =>
            {
                format!("Medians of {} replicates.{}", results.replicates(), status(results))
            }
            Summary::Median => provenance(results),
            Summary::Mean => provenance_of_means(results, first.level, first.marks == Marks::Intervals),
        };
        let caption = format!("{} {text}", self.caption);
        Some(FigureFile::new(self.name.clone(), figure.captioned(caption.trim())))
    }
}

/// Returns true if a job has the settings of a panel.
fn is_in(settings: &Settings, written: &Written, place: &Table) -> bool {
    settings.admits(&written.place) && settings.admits(place)
}

fn listed(place: &Table, panel: &Table) -> String {
    let pairs = place.iter().chain(panel).map(|(key, value)| format!("{key} = {value}"));
    pairs.collect::<Vec<_>>().join(", ")
}

fn is_of_stand_in(series: &Series<'_>) -> bool {
    series.outcomes.iter().any(|outcome| outcome.job.is_stand_in())
}

/// Factor between the abscissae of series whose intervals would cover each other.
const SHIFT: f64 = 1.03;

/// Key of a family in the list of looks: annealed paths by their surrogates.
fn family(series: &Series<'_>) -> &'static str {
    match series.shape() {
        Some(FamilyConfig::Annealed(annealed)) => match annealed.surrogate {
            Ansatz::Posterior => "posterior",
            Ansatz::Minibatch => "minibatch",
            _ => "surrogate",
        },
        shape => shape.map_or("", FamilyConfig::kind),
    }
}

/// Returns true if the fits begin at the first start of their method.
fn is_from_first(results: &Results, series: &Series<'_>) -> bool {
    let first = results.experiment.fits.as_ref().map(|fits| fits.start_of(series.method()));
    series.fit().map(|fit| fit.start) == first
}

impl Shown {
    fn has(&self, results: &Results, (settings, series): &Row<'_>) -> bool {
        let Written { steps, first_start, .. } = &self.written;
        let length = series.task.length();
        is_in(settings, &self.written, &self.place)
            && steps.is_none_or(|(from, to)| (from..=to).contains(&length))
            && (!first_start || is_from_first(results, series))
    }

    /// A text with the values of the panel's settings in place of `{budget}` and the like; their names if `settings` of a job are
    /// absent.
    fn filled(&self, text: &str, settings: Option<&Settings>) -> String {
        let mut text = text.to_owned();
        for (key, value) in &self.place {
            let value = match value {
                Value::String(word) if settings.is_some() => word.clone(),
                Value::String(word) => self.name_of(key, word),
                value => value.to_string().trim_end_matches(".0").to_owned(),
            };
            text = text.replace(&format!("{{{key}}}"), &value);
        }
        for key in ["method", "budget", "gap"] {
            let shown = settings.and_then(|settings| settings.shown(key));
            let shown = shown.map(|value| value.trim_end_matches(".0").to_owned());
            text = shown.map_or(text.clone(), |value| text.replace(&format!("{{{key}}}"), &value));
        }
        text
    }

    /// Name of the value of a setting.
    fn name_of(&self, key: &str, value: &str) -> String {
        match self.written.titles.get(value) {
            Some(title) => title.clone(),
            None if key == "method" => look::name(value).to_owned(),
            None => value.to_owned(),
        }
    }

    /// Name and style of a series among those that are shown. Further budgets of a method are dotted, with hollow markers.
    fn look(&self, series: &Series<'_>, here: &[Row<'_>]) -> (String, Style) {
        let (kind, budget) = (series.method().kind(), series.method().budget());
        match &self.written.series {
            By::Alike => (String::new(), Style::series(0)),
            By::Family => {
                let name = |series: &Series<'_>| {
                    let row = here.iter().find(|(_, other)| other.task == series.task);
                    row.map_or_else(String::new, |row| named(row, "family"))
                };
                let (name, key) = (name(series), family(series));
                let first = here.iter().find(|(_, other)| family(other) == key);
                let style = look::family(key).1;
                match first.is_none_or(|first| named(first, "family") == name) {
                    true => (name, style),
                    false => (name, Style { dash: Dash::Short, marker: Marker::Wedge, ..style }),
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
    fn look_with_start(&self, (settings, series): &Row<'_>, here: &[Row<'_>]) -> (String, Style) {
        let (name, style) = self.look(series, here);
        let first = here.iter().find(|(_, other)| {
            other.target() == series.target()
                && other.method() == series.method()
                && other.shape() == series.shape()
        });
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
            _ if scaled.late => match self.late(here) {
                Some((low, high)) => axis.spanning(low, high),
                None => axis,
            },
            _ => axis,
        }
    }

    /// Steps with the lower end, middle and upper end of the band of a metric.
    fn curve(&self, series: &Series<'_>, metric: &str) -> (Vec<f64>, [Vec<f64>; 3]) {
        match self.written.summary {
            Summary::Median => series.quantiles(metric, EIGHTY),
            Summary::Mean => series.means(metric, self.written.level),
        }
    }

    /// Range of the bands after the first tenth of the steps, with a margin.
    fn late(&self, here: &[Row<'_>]) -> Option<(f64, f64)> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (_, series) in here {
            let (steps, [lower, _, upper]) = self.curve(series, &self.written.metric);
            let border = 0.1 * steps.last().copied().unwrap_or(0.0);
            let first = steps.iter().take_while(|step| **step < border).count();
            for value in lower[first..].iter().chain(&upper[first..]).filter(|value| value.is_finite()) {
                (low, high) = (low.min(*value), high.max(*value));
            }
        }
        let margin = 0.05 * (high - low);
        (margin > 0.0 && margin.is_finite()).then_some((low - margin, high + margin))
    }

    fn panel(&self, here: &[Row<'_>], is_stand_in: bool) -> Panel {
        let written = &self.written;
        let value = self.axis(&written.value, &written.metric, here);
        let title = self.filled(&written.title, None);
        let all: Vec<Series<'_>> = here.iter().map(|(_, series)| series.clone()).collect();
        let panel = match &written.against {
            Against::Rows(key) => return self.rows(key, value, here).titled(title),
            Against::Step => {
                let panel = self.ruled(Panel::new(self.axis(&written.x, "Iteration", here), value), here);
                let look = |series: &Series<'_>| self.look(series, here);
                with(panel, &all, written.from, look, |series| self.curve(series, &written.metric))
            }
            Against::Setting(key) => {
                let panel = self.ruled(Panel::new(self.axis(&written.x, key, here), value), here);
                self.ends(panel, key, here)
            }
            Against::Metrics { sum, per, skip } => {
                let panel = self.ruled(Panel::new(self.axis(&written.x, "", here), value), here);
                self.against_metrics(panel, here, sum, *per, *skip)
            }
        };
        let panel = if is_stand_in { panel } else { self.read(panel, here) };
        panel.titled(title)
    }

    fn ruled(&self, mut panel: Panel, here: &[Row<'_>]) -> Panel {
        for rule in &self.written.rules {
            let found = match (&rule.at, &rule.metric) {
                (Some(at), _) => at.number().ok(),
                (None, Some(name)) => here.iter().find_map(|(_, series)| {
                    series.outcomes.first()?.rows.first()?.values.get(name.as_str()).copied()
                }),
                _ => None,
            };
            let Some(value) = found else { continue };
            let mut layer = Layer::horizontal_rule(value);
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
        let (written, (_, series)) = (&self.written, row);
        let scale = written.times / if written.per_step { series.task.length().max(1) as f64 } else { 1.0 };
        let values = match &written.base {
            Some(base) => gains(row, base, &written.metric, here).unwrap_or_default(),
            None => series.last(&written.metric),
        };
        values.into_iter().map(|value| scale * value).collect()
    }

    /// Middle and band at the end, or beyond the axis for fits that ended early.
    fn end(&self, row: &Row<'_>, here: &[Row<'_>]) -> Option<[f64; 3]> {
        let (_, series) = row;
        let mut values = self.values(row, here);
        if let Some(far) = self.written.failed_at {
            // Interpolation between infinite values would give NaN.
            let failed = series.failures();
            values.iter_mut().filter(|value| value.is_infinite()).for_each(|value| *value = f64::MAX);
            values.extend(std::iter::repeat_n(f64::MAX, failed));
            return (!values.is_empty()).then(|| EIGHTY.map(|level| quantile(&mut values, level).min(far)));
        }
        match self.written.summary {
            Summary::Median => (!values.is_empty()).then(|| EIGHTY.map(|level| quantile(&mut values, level))),
            Summary::Mean => {
                bootstrap(&values, self.written.level).map(|found| [found.low, found.value, found.high])
            }
        }
    }

    /// Lines with points and bands against a setting.
    fn ends(&self, mut panel: Panel, key: &str, here: &[Row<'_>]) -> Panel {
        type Line = (String, Style, [Vec<f64>; 4]);
        let mut lines: Vec<Line> = Vec::new();
        for row in here {
            let (settings, series) = row;
            let (Some(x), Some(ends)) = (settings.number(key), self.end(row, here)) else { continue };
            let (name, style) = self.look(series, here);
            let known = lines.iter().position(|(known, ..)| *known == name).unwrap_or_else(|| {
                lines.push((name, style, [const { Vec::new() }; 4]));
                lines.len() - 1
            });
            let columns = lines[known].2.iter_mut();
            columns.zip([x, ends[0], ends[1], ends[2]]).for_each(|(column, value)| column.push(value));
        }
        for (_, style, [x, low, _, high]) in lines.iter().filter(|_| self.written.marks == Marks::Band) {
            panel = panel.with(Layer::band(x.clone(), low.clone(), high.clone()).styled(*style));
        }
        for (place, (name, style, [mut x, low, middle, high])) in lines.into_iter().enumerate() {
            if self.written.marks == Marks::Intervals {
                x.iter_mut().for_each(|x| *x *= SHIFT.powi(place as i32));
            }
            panel = panel.with(Layer::line(x.clone(), middle.clone()).named(name.clone()).styled(style));
            panel = panel.with(match self.written.marks {
                Marks::Intervals => Layer::intervals(x, middle, low, high).styled(style).named(name),
                _ => Layer::points(x, middle).named(name).styled(style.sized(3.0)),
            });
        }
        panel
    }

    /// Lines with bands against the middle of a sum of metrics.
    fn against_metrics(
        &self,
        mut panel: Panel,
        here: &[Row<'_>],
        sum: &[String],
        per: f64,
        skip: usize,
    ) -> Panel {
        let mut lines = Vec::new();
        for (_, series) in here {
            let (steps, [low, middle, high]) = self.curve(series, &self.written.metric);
            let all: Vec<_> = sum.iter().map(|name| self.curve(series, name)).collect();
            if all.iter().any(|(found, _)| *found != steps) || steps.len() <= skip {
                continue;
            }
            let spent = |k: usize| all.iter().map(|(_, [_, middle, _])| middle[k]).sum::<f64>() / per;
            let x: Vec<f64> = (skip..steps.len()).map(spent).collect();
            let (name, style) = self.look(series, here);
            if series.outcomes.len() > 1 && self.written.summary == Summary::Median {
                panel = panel.with(Layer::band(x.clone(), &low[skip..], &high[skip..]).styled(style));
            }
            lines.push(Layer::line(x, &middle[skip..]).named(name).styled(style));
        }
        lines.into_iter().fold(panel, Panel::with)
    }

    /// Means with intervals at the end, a row for each value of a setting.
    fn rows(&self, key: &str, value: Axis, all: &[Row<'_>]) -> Panel {
        let here = all;
        let (mut places, mut looks) = (Vec::new(), Vec::new());
        let here: Vec<Row<'_>> = match &self.written.base {
            Some(base) => here.iter().filter(|(settings, _)| !settings.admits(base)).cloned().collect(),
            None => here.to_vec(),
        };
        for row in &here {
            let (place, look) = (named(row, key), self.look_with_start(row, &here));
            if !places.contains(&place) {
                places.push(place);
            }
            if !looks.contains(&look) {
                looks.push(look);
            }
        }
        let names = places.iter().map(|place| self.name_of(key, place).replace('±', "^{±}"));
        let mut panel = Panel::new(value, Axis::categories("", names));
        if self.written.base.is_some() {
            panel = panel.with(Layer::vertical_rule(0.0));
        }
        for (index, look) in looks.iter().enumerate() {
            let mut columns = [const { Vec::new() }; 4];
            for row in here.iter().filter(|row| self.look_with_start(row, &here) == *look) {
                let place = named(row, key);
                let at = places.iter().position(|known| *known == place).unwrap_or(0) as f64;
                let Some(found) = bootstrap(&self.values(row, all), self.written.level) else {
                    continue;
                };
                let values = [at, found.value, found.low, found.high];
                columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
            }
            let [at, value, low, high] = columns;
            let layer = Layer::intervals(at, value, low, high).horizontal().dodged(index, looks.len());
            let layer = if look.0.is_empty() { layer } else { layer.named(look.0.clone()) };
            panel = panel.with(layer.styled(look.1));
        }
        panel
    }

    /// Hollow rings at values read off published curves, within the axes and the steps of the fits.
    fn read(&self, mut panel: Panel, here: &[Row<'_>]) -> Panel {
        let Some(Readings { citation, curve }) = &self.written.readings else { return panel };
        let is_within = |range: Option<(f64, f64)>, value: f64| {
            range.is_none_or(|(low, high)| low <= value && value <= high)
        };
        let mut read = Vec::new();
        for (settings, series) in here {
            let curve = self.filled(curve, Some(settings));
            if read.contains(&curve) {
                continue;
            }
            let last = match self.written.against {
                Against::Step => series.steps().last().copied().unwrap_or(0) as f64,
                _ => f64::INFINITY,
            };
            let mut points = published::readings(citation, &curve);
            points
                .retain(|(x, y)| *x <= last && is_within(panel.x.range, *x) && is_within(panel.y.range, *y));
            let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
            let ring = Style { marker: Marker::Ring, ..self.look(series, here).1 };
            panel = panel.with(Layer::points(x, y).styled(ring.sized(3.6)));
            read.push(curve);
        }
        panel
    }
}
