//! Figures: pure functions from results to drawings. Here are the standard figures and what figures have in common: lines with bands,
//! means in rows, captions. Those of single experiments are in `experiments`.

mod drawn;

pub use drawn::Drawn;

use mcsa_core::counted;
use mcsa_plot::{Axis, Dash, Figure, Layer, Panel, Style};

use crate::catalog::FamilyConfig;
use crate::interval::{Interval, bootstrap};
use crate::look;
use crate::results::{Results, Series};
use crate::tables::{NamedSeries, distinct, in_groups, metrics, with_names};

/// A figure with its file name.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureFile {
    /// Unique within the experiment.
    pub(crate) name: String,
    pub(crate) figure: Figure,
}

/// For experiments without figures in Rust: the standard ones if the file has none.
pub fn from_file(results: &Results) -> Vec<FigureFile> {
    if results.experiment.figures.is_empty() { standard(results) } else { Vec::new() }
}

impl FigureFile {
    pub(crate) fn new(name: impl Into<String>, figure: Figure) -> Self {
        Self { name: name.into(), figure }
    }
}

/// Levels of the lower end, middle and upper end of a band of quantiles.
const EIGHTY: [f64; 3] = [0.1, 0.5, 0.9];

/// Smallest number of replicates for which a band is drawn.
const FEWEST: usize = 5;

/// Abscissae with low, middle and high ordinates.
type Curve = Vec<(f64, [f64; 3])>;

/// A line with its name and style; true if it has a band.
type Line = ((String, Style), bool, Curve);

/// Adds lines with bands, those of traces from a first step on. Bands come first, so that they cover no line; those of many traces are
/// paler.
fn banded(mut panel: Panel, from: Option<u64>, lines: Vec<Line>) -> Panel {
    let (many, mut layers) = (from.is_some() && lines.len() > 4, Vec::new());
    for ((name, style), is_banded, curve) in lines {
        let curve = || curve.iter().skip_while(|(step, _)| from.is_some_and(|from| *step < from as f64));
        if is_banded {
            let band = if many { style.faint(0.6) } else { style };
            let edges = curve().map(|(x, [low, _, high])| [*x, *low, *high]);
            panel = panel.with(Layer::band(edges).styled(band));
        }
        let line = curve().map(|(x, [_, middle, _])| (*x, *middle));
        layers.push(Layer::line(line).named(name).styled(style));
    }
    layers.into_iter().fold(panel, Panel::with)
}

/// Range of bands after the first tenth of the steps with a margin, after the number of times that the bands at all steps are wider;
/// `None` if it is empty.
fn late(curves: impl Iterator<Item = Curve>) -> Option<(f64, (f64, f64))> {
    let (mut all, mut late) = ([f64::INFINITY, f64::NEG_INFINITY], [f64::INFINITY, f64::NEG_INFINITY]);
    for curve in curves {
        let border = 0.1 * curve.last().map_or(0.0, |(step, _)| *step);
        let values = curve.iter().flat_map(|(step, values)| values.map(|value| (*step, value)));
        for (step, value) in values.filter(|(_, value)| value.is_finite()) {
            for [low, high] in
                [Some(&mut all), Some(&mut late).filter(|_| step >= border)].into_iter().flatten()
            {
                (*low, *high) = (low.min(value), high.max(value));
            }
        }
    }
    let ([low, high], margin) = (late, 0.05 * (late[1] - late[0]));
    (margin > 0.0 && margin.is_finite())
        .then_some(((all[1] - all[0]) / (high - low), (low - margin, high + margin)))
}

/// The panels, or an empty one with these axes.
pub(crate) fn or_empty(panels: Vec<Panel>, [x, y]: [Axis; 2]) -> Vec<Panel> {
    if panels.is_empty() { vec![Panel::new(x, y)] } else { panels }
}

/// A row of a panel: name and style, place, and mean, if there is one.
type Mean = ((String, Style), f64, Option<Interval>);

/// Adds means with intervals in rows, those of one name and style beside the others.
fn intervals(mut panel: Panel, rows: &[Mean]) -> Panel {
    let looks = in_groups(rows.iter().map(|(look, at, mean)| (look, (at, mean))));
    let count = looks.len();
    for (index, ((name, style), rows)) in looks.into_iter().enumerate() {
        let means = rows.into_iter().filter_map(|(at, mean)| Some((at, mean.as_ref()?)));
        let means = means.map(|(at, mean)| [*at, mean.value, mean.low, mean.high]);
        let layer = Layer::intervals(means).horizontal().dodged(index, count);
        let layer = if name.is_empty() { layer } else { layer.named(name.clone()) };
        panel = panel.with(layer.styled(*style));
    }
    panel
}

/// Caption of medians: replicates, band, and [`status`].
fn provenance(results: &Results) -> String {
    caption(results, "Medians", "bands from the 10^{th} to the 90^{th} percentile")
}

/// Caption of means: replicates, level of the bands or intervals, and [`status`].
fn provenance_of_means(results: &Results, level: f64, are_intervals: bool) -> String {
    let marks = if are_intervals { "bars" } else { "bands" };
    caption(results, "Means", &format!("{marks} are {:.0} % bootstrap intervals of the mean", 100.0 * level))
}

fn caption(results: &Results, middle: &str, band: &str) -> String {
    let text = match results.replicates() {
        0 => "No results yet.".to_owned(),
        1 => "One replicate.".to_owned(),
        few if few < FEWEST => format!("{middle} of {few} replicates, too few for bands."),
        many => format!("{middle} of {many} replicates; {band}."),
    };
    text + &status(results)
}

/// Text on methods that are planned with fewer replicates than the others.
fn fewer(results: &Results) -> String {
    let Ok(preset) = results.experiment.preset(results.preset) else { return String::new() };
    let few = |series: &Series<'_>| {
        let count = preset.replicates_of(series.task);
        let name = match series.shape() {
            Some(FamilyConfig::Annealed(annealed)) => annealed.surrogate.name(),
            _ => look::name(series.method().kind()),
        };
        (count < preset.replicates).then(|| format!("{name} {count}"))
    };
    let listed = distinct(results.series().iter().filter_map(few));
    if listed.is_empty() { String::new() } else { format!(" Fewer replicates: {}.", listed.join(", ")) }
}

/// Text on preset, missing jobs, and failures.
pub(crate) fn status(results: &Results) -> String {
    let mut text = format!(" Preset *{}*.", results.preset.name());
    text.push_str(&fewer(results));
    if results.missing > 0 {
        let (missing, have) =
            (counted(results.missing, "job"), if results.missing == 1 { "has" } else { "have" });
        text.push_str(&format!(" {missing} {have} not been run."));
    }
    if results.has_stale() {
        text.push_str(" *Results of an older version.*");
    }
    let failures: usize = results.series().iter().map(Series::failures).sum();
    if failures > 0 {
        text.push_str(&format!(" {} ended early.", counted(failures, "fit")));
    }
    text
}

/// A figure for each metric that is recorded along the way, with a panel for each target, and one of all metrics at the end.
pub fn standard(results: &Results) -> Vec<FigureFile> {
    let (names, all) = (metrics(results), with_names(results));
    let is_traced = all.iter().any(|one| one.series.steps().len() > 2);
    let traces = names.iter().filter(|_| is_traced).map(|name| trace(results, &all, name));
    traces.chain([FigureFile::new("end", end(results, &all, &names))]).collect()
}

fn label(name: &str) -> String {
    match name {
        "kl" => "KL(*p* ∥ *q*)".to_owned(),
        "accuracy" => "Test accuracy".to_owned(),
        "lpd" => "Test log predictive density".to_owned(),
        "rmse" => "Test RMSE".to_owned(),
        "log_z" => "Estimate of log *p*(*y*)".to_owned(),
        name => escaped(name),
    }
}

pub(crate) fn escaped(text: &str) -> String {
    let letters = text.chars().flat_map(|c| "\\*^_{}".contains(c).then_some('\\').into_iter().chain([c]));
    letters.collect()
}

/// Name and style of a series; members of one kind of method go from light and broken to dark and solid.
fn style(NamedSeries { series, method, member: (member, members), .. }: &NamedSeries<'_>) -> (String, Style) {
    let name = escaped(method).replace(", N = ", ", *N* = ");
    let (member, members) = (*member, *members);
    let dash = [Dash::Short, Dash::Long, Dash::Dotdash][member % 3];
    match (members, member + 1 == members) {
        (1, _) => (name, look::style(series.method())),
        (_, true) => (name, look::shade(series.method(), member, members)),
        _ => (name, Style { dash, ..look::shade(series.method(), member, members) }),
    }
}

fn trace(results: &Results, all: &[NamedSeries<'_>], name: &str) -> FigureFile {
    let medians = all.iter().flat_map(|one| one.series.quantiles(name, [0.5]));
    let is_log = spans(medians.map(|(_, [median])| median), 10.0);
    let panel = |(place, here): (&String, Vec<&NamedSeries<'_>>)| {
        let steps = here[0].series.steps();
        let (x, from) =
            if doubles(&steps) { (Axis::log("Iteration"), 1) } else { (Axis::linear("Iteration"), 0) };
        // Early values may compress the rest.
        let range = late(here.iter().map(|one| one.series.quantiles(name, EIGHTY)));
        let y = match range.filter(|(times, _)| from == 0 && *times > 4.0) {
            _ if is_log => Axis::log(label(name)),
            Some((_, (low, high))) => Axis::linear(label(name)).spanning(low, high),
            None => Axis::linear(label(name)),
        };
        let mut panel = Panel::new(x, y).titled(escaped(place));
        let floor = here.iter().find_map(|one| one.series.last(&format!("{name}_floor")).first().copied());
        let floor = floor.filter(|floor| !is_log || *floor > 0.0);
        panel.layers.extend(floor.map(|floor| Layer::horizontal_rule(floor).named("best in the family")));
        let line = |one: &&NamedSeries<'_>| {
            (style(one), one.series.outcomes.len() >= FEWEST, one.series.quantiles(name, EIGHTY))
        };
        banded(panel, Some(from), here.iter().map(line).collect())
    };
    let panels: Vec<Panel> =
        in_groups(all.iter().map(|one| (&one.place, one))).into_iter().map(panel).collect();
    let columns = if panels.len() == 4 { 2 } else { panels.len().clamp(1, 3) };
    let is_single = panels.len() == 1;
    let mut figure = Figure::new(panels).captioned(provenance(results));
    (figure.columns, figure.shares_legend, figure.shares_y) = (columns, !is_single, is_log && !is_single);
    if is_single {
        figure = figure.wide(120.0);
    }
    FigureFile::new(name, figure)
}

/// Returns true if the second half of the recorded steps covers most of the range, as logarithmic spacing does.
pub(crate) fn doubles(steps: &[u64]) -> bool {
    match (steps.get(steps.len() / 2), steps.last()) {
        (Some(middle), Some(last)) => *last > 30 && 5 * middle < *last,
        _ => false,
    }
}

/// Returns true if all finite values are positive and differ by more than a factor.
pub(crate) fn spans(values: impl Iterator<Item = f64>, times: f64) -> bool {
    let finite = values.filter(|value| value.is_finite());
    let (low, high) =
        finite.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    low > 0.0 && high > times * low
}

/// Means at the end with intervals: a panel for each metric, a row for each target.
fn end(results: &Results, all: &[NamedSeries<'_>], names: &[String]) -> Figure {
    let places = distinct(all.iter().map(|one| &one.place));
    let panel = |name: &String| {
        let row = |one: &NamedSeries<'_>| {
            let at = places.iter().position(|known| **known == one.place).unwrap_or(0) as f64;
            (style(one), at, bootstrap(&one.series.last(name), 0.8))
        };
        let rows: Vec<Mean> = all.iter().map(row).collect();
        let ends = rows.iter().filter_map(|(_, _, mean)| *mean).flat_map(|mean| [mean.low, mean.high]);
        let x = if spans(ends, 10.0) { Axis::log(label(name)) } else { Axis::linear(label(name)) };
        let panel = Panel::new(x, Axis::categories("", places.iter().map(|place| escaped(place))));
        intervals(panel, &rows)
    };
    let panels = or_empty(names.iter().map(panel).collect(), [Axis::linear(""), Axis::linear("")]);
    let columns = panels.len().min(2);
    let rows = places.len() as f64;
    let mut figure = Figure::new(panels).shaped((0.14 + 0.12 * rows).clamp(0.3, 1.4));
    (figure.columns, figure.shares_y, figure.shares_legend) = (columns, true, true);
    if columns == 1 {
        figure = figure.wide(120.0);
    }
    figure.captioned(format!(
        "Means over {} replicates at the end, with 80 % bootstrap intervals.{}",
        results.replicates(),
        status(results)
    ))
}

#[cfg(test)]
mod tests {
    use crate::experiment::PresetName;
    use crate::metric::{METRICS, Vector};
    use crate::registry::{Entry, REGISTRY};
    use crate::results::Results;

    /// Figures can be drawn from any results: complete, absent, or infinite; rows of tables are as wide as their heads.
    #[test]
    fn every_figure_and_table_can_be_made_at_any_time() {
        use Vector::{DrawsX, DrawsY, LogScales, Means, Ranks, Weight, WeightDensity};
        let vectors = [DrawsX, DrawsY, LogScales, Means, Ranks, Weight, WeightDensity];
        let check = |entry: &Entry, results: &Results| {
            for file in entry.figures(results) {
                assert!(file.figure.draw().is_ok(), "{} {}", entry.file, file.name);
            }
            for table in entry.tables(results) {
                assert!(!table.head.is_empty(), "{} {}", entry.file, table.name);
                assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{}", table.name);
                assert_eq!(table.csv().lines().count(), 1 + table.rows.len());
            }
        };
        for entry in &REGISTRY {
            for value in [None, Some(1.0), Some(f64::INFINITY), Some(f64::NAN)] {
                let rows = |_: &_, _, _| {
                    let metrics = METRICS.iter().filter_map(|name| Some((*name, value?)));
                    let vectors = vectors.iter().filter_map(|vector| Some((*vector, vec![value?; 3])));
                    (metrics.collect(), vectors.collect())
                };
                let mut results = Results::with_vectors(entry.experiment().unwrap(), PresetName::Quick, rows);
                check(entry, &results);
                // Nothing of an exhibit rests on results, and absent results have no value.
                if results.outcomes.is_empty() {
                    break;
                }
                if value.is_none() {
                    results.outcomes.clear();
                    check(entry, &results);
                }
            }
        }
    }
}
