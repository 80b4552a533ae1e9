//! Traces with bands, for figures of metrics against steps.

use crate::catalog::FamilyConfig;
use crate::interval::Interval;
use crate::look;
use crate::results::{Results, Series};
use mcsa_plot::{Layer, Panel, Style};

/// Levels of the lower end, middle and upper end of a band of quantiles.
pub(crate) const EIGHTY: [f64; 3] = [0.1, 0.5, 0.9];

/// Smallest number of replicates for which a band is drawn.
pub(crate) const FEWEST: usize = 3;

/// Abscissae; then low, middle and high ordinates.
pub(super) type Curve = (Vec<f64>, [Vec<f64>; 3]);

/// Adds the median of a metric over replicates against steps, and the band from the tenth to the ninetieth percentile; `from`
/// is the first step drawn, which on a logarithmic axis is at least 1.
pub(crate) fn with_medians(
    panel: Panel,
    series: &[Series<'_>],
    name: &str,
    from: u64,
    look: impl Fn(&Series<'_>) -> (String, Style),
) -> Panel {
    with(panel, series, from, look, |series| series.quantiles(name, EIGHTY))
}

/// Adds lines with bands; bands come first, so that they cover no line.
pub(super) fn with(
    mut panel: Panel,
    series: &[Series<'_>],
    from: u64,
    look: impl Fn(&Series<'_>) -> (String, Style),
    curve: impl Fn(&Series<'_>) -> Curve,
) -> Panel {
    let mut lines = Vec::new();
    let many = series.len() > 4;
    for series in series {
        let (steps, columns) = curve(series);
        let first = steps.iter().take_while(|step| **step < from as f64).count();
        let [low, middle, high] = columns.map(|column| column[first..].to_vec());
        let steps = steps[first..].to_vec();
        let (label, style) = look(series);
        if series.outcomes.len() >= FEWEST {
            // Several overlapping bands would hide the lines.
            let band = if many { style.faint(0.6) } else { style };
            panel = panel.with(Layer::band(steps.clone(), low, high).styled(band));
        }
        lines.push(Layer::line(steps, middle).named(label).styled(style));
    }
    lines.into_iter().fold(panel, Panel::with)
}

/// Range of bands after the first tenth of the steps with a margin, after the number of times that the bands at all steps are wider;
/// `None` if it is empty.
pub(super) fn late(curves: impl Iterator<Item = Curve>) -> Option<(f64, (f64, f64))> {
    let (mut all, mut late) = ((f64::INFINITY, f64::NEG_INFINITY), (f64::INFINITY, f64::NEG_INFINITY));
    for (steps, columns) in curves {
        let border = 0.1 * steps.last().copied().unwrap_or(0.0);
        let values = columns.iter().flat_map(|column| steps.iter().zip(column));
        for (step, &value) in values.filter(|(_, value)| value.is_finite()) {
            all = (all.0.min(value), all.1.max(value));
            if *step >= border {
                late = (late.0.min(value), late.1.max(value));
            }
        }
    }
    let margin = 0.05 * (late.1 - late.0);
    (margin > 0.0 && margin.is_finite())
        .then_some(((all.1 - all.0) / (late.1 - late.0), (late.0 - margin, late.1 + margin)))
}

/// A row of a panel: name and style, place, and mean, if there is one.
pub(super) type Mean = ((String, Style), f64, Option<Interval>);

/// Adds means with intervals in rows, those of one name and style beside the others.
pub(super) fn intervals(mut panel: Panel, rows: &[Mean]) -> Panel {
    let mut looks: Vec<&(String, Style)> = Vec::new();
    for (look, ..) in rows {
        if !looks.contains(&look) {
            looks.push(look);
        }
    }
    for (index, look) in looks.iter().enumerate() {
        let mut columns = [const { Vec::new() }; 4];
        for (_, at, mean) in rows.iter().filter(|(known, ..)| known == *look) {
            let Some(mean) = mean else { continue };
            let values = [*at, mean.value, mean.low, mean.high];
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
        let [at, value, low, high] = columns;
        let layer = Layer::intervals(at, value, low, high).horizontal().dodged(index, looks.len());
        let layer = if look.0.is_empty() { layer } else { layer.named(look.0.clone()) };
        panel = panel.with(layer.styled(look.1));
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
    let mut listed: Vec<String> = Vec::new();
    for series in results.series() {
        let count = preset.replicates_of(series.task);
        let name = match series.shape() {
            Some(FamilyConfig::Annealed(annealed)) => annealed.surrogate.name(),
            _ => look::name(series.method().kind()),
        };
        let text = format!("{name} {count}");
        if count < preset.replicates && !listed.contains(&text) {
            listed.push(text);
        }
    }
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
