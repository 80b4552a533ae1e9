//! Lines with bands, means in rows, and captions.

use crate::catalog::FamilyConfig;
use crate::interval::Interval;
use crate::look;
use crate::results::{Results, Series};
use crate::tables::{distinct, in_groups};
use mcsa_plot::{Axis, Layer, Panel, Style};

/// Levels of the lower end, middle and upper end of a band of quantiles.
pub(crate) const EIGHTY: [f64; 3] = [0.1, 0.5, 0.9];

/// Smallest number of replicates for which a band is drawn.
pub(crate) const FEWEST: usize = 3;

/// Abscissae; then low, middle and high ordinates.
pub(super) type Curve = (Vec<f64>, [Vec<f64>; 3]);

/// A line with its name and style; true if it has a band.
pub(super) type Line = ((String, Style), bool, Curve);

/// Adds lines with bands, those of traces from a first step on. Bands come first, so that they cover no line; those of many traces are
/// paler.
pub(super) fn banded(mut panel: Panel, from: Option<u64>, lines: Vec<Line>) -> Panel {
    let (many, mut layers) = (from.is_some() && lines.len() > 4, Vec::new());
    for ((name, style), is_banded, (x, columns)) in lines {
        let first = from.map_or(0, |from| x.iter().take_while(|step| **step < from as f64).count());
        let [low, middle, high] = columns.map(|column| column[first..].to_vec());
        let x = x[first..].to_vec();
        if is_banded {
            let band = if many { style.faint(0.6) } else { style };
            panel = panel.with(Layer::band(x.clone(), low, high).styled(band));
        }
        layers.push(Layer::line(x, middle).named(name).styled(style));
    }
    layers.into_iter().fold(panel, Panel::with)
}

/// Range of bands after the first tenth of the steps with a margin, after the number of times that the bands at all steps are wider;
/// `None` if it is empty.
pub(super) fn late(curves: impl Iterator<Item = Curve>) -> Option<(f64, (f64, f64))> {
    let (mut all, mut late) = ([f64::INFINITY, f64::NEG_INFINITY], [f64::INFINITY, f64::NEG_INFINITY]);
    for (steps, columns) in curves {
        let border = 0.1 * steps.last().copied().unwrap_or(0.0);
        let values = columns.iter().flat_map(|column| steps.iter().zip(column));
        for (step, &value) in values.filter(|(_, value)| value.is_finite()) {
            for [low, high] in
                [Some(&mut all), Some(&mut late).filter(|_| *step >= border)].into_iter().flatten()
            {
                (*low, *high) = (low.min(value), high.max(value));
            }
        }
    }
    let ([low, high], margin) = (late, 0.05 * (late[1] - late[0]));
    (margin > 0.0 && margin.is_finite())
        .then_some(((all[1] - all[0]) / (high - low), (low - margin, high + margin)))
}

/// Columns of rows.
pub(crate) fn columns<const K: usize>(rows: impl IntoIterator<Item = [f64; K]>) -> [Vec<f64>; K] {
    let mut columns = [const { Vec::new() }; K];
    for row in rows {
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    columns
}

/// The panels, or an empty one with these axes.
pub(crate) fn or_empty(panels: Vec<Panel>, [x, y]: [Axis; 2]) -> Vec<Panel> {
    if panels.is_empty() { vec![Panel::new(x, y)] } else { panels }
}

/// A row of a panel: name and style, place, and mean, if there is one.
pub(super) type Mean = ((String, Style), f64, Option<Interval>);

/// Adds means with intervals in rows, those of one name and style beside the others.
pub(super) fn intervals(mut panel: Panel, rows: &[Mean]) -> Panel {
    let looks = in_groups(rows.iter().map(|(look, at, mean)| (look, (at, mean))));
    let count = looks.len();
    for (index, ((name, style), rows)) in looks.into_iter().enumerate() {
        let means = rows.into_iter().filter_map(|(at, mean)| Some((at, mean.as_ref()?)));
        let [at, value, low, high] = columns(means.map(|(at, mean)| [*at, mean.value, mean.low, mean.high]));
        let layer = Layer::intervals(at, value, low, high).horizontal().dodged(index, count);
        let layer = if name.is_empty() { layer } else { layer.named(name.clone()) };
        panel = panel.with(layer.styled(*style));
    }
    panel
}

/// Caption of medians: replicates, band, and [`status`].
pub(crate) fn provenance(results: &Results) -> String {
    caption(results, "Medians", "bands from the 10^{th} to the 90^{th} percentile")
}

/// Caption of means: replicates, level of the bands or intervals, and [`status`].
pub(crate) fn provenance_of_means(results: &Results, level: f64, are_intervals: bool) -> String {
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
        text.push_str(&format!(" {} jobs have not been run.", results.missing));
    }
    if results.has_stale() {
        text.push_str(" *Results of other code.*");
    }
    let failures: usize = results.series().iter().map(Series::failures).sum();
    if failures > 0 {
        text.push_str(&format!(" {failures} fits ended early."));
    }
    text
}
