//! Traces with bands, for figures of metrics against steps.

use crate::catalog::FamilyConfig;
use crate::look;
use crate::results::{Results, Series};
use mcsa_plot::{Layer, Panel, Style};

/// Levels of the lower end, middle and upper end of a band of quantiles.
pub(crate) const EIGHTY: [f64; 3] = [0.1, 0.5, 0.9];

/// Smallest number of replicates for which a band is drawn.
pub(crate) const FEWEST: usize = 3;

/// Abscissae; then low, middle and high ordinates.
type Curve = (Vec<f64>, [Vec<f64>; 3]);

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
    let mut told: Vec<String> = Vec::new();
    for series in results.series() {
        let count = preset.replicates_of(series.task);
        let name = match series.shape() {
            Some(FamilyConfig::Annealed(annealed)) => annealed.surrogate.name(),
            _ => look::name(series.method().kind()),
        };
        let text = format!("{name} {count}");
        if count < preset.replicates && !told.contains(&text) {
            told.push(text);
        }
    }
    if told.is_empty() { String::new() } else { format!(" Fewer replicates: {}.", told.join(", ")) }
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
