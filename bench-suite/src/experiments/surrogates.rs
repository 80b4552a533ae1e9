//! Bounds of surrogate ansaetze on a logistic regression (SL-DAIS, Tab. 1 and 6).

use mcsa_plot::{Axis, Figure, Layer, Panel, Style};

use crate::catalog::FamilyConfig;
use crate::figures::Plate;
use crate::figures::curves::status;
use crate::interval::{Interval, bootstrap};
use crate::look;
use crate::results::{Results, Series};
use crate::tables::Sheet;

/// Level of the intervals, as in claims.
const LEVEL: f64 = 0.9;

/// Differences of the bound to that of the mean field, a row for each other family.
pub(crate) fn figures(results: &Results) -> Vec<Plate> {
    let all = results.series();
    let gains: Vec<(String, Interval)> = all
        .iter()
        .filter(|series| !is_base(series))
        .filter_map(|series| Some((name(series), gain(&all, series)?)))
        .collect();
    let target = all.first().map_or("", |series| series.target().label());
    let names = gains.iter().map(|(name, _)| name.replace('±', "^{±}"));
    let column = |of: fn(&Interval) -> f64| gains.iter().map(|(_, gain)| of(gain)).collect::<Vec<f64>>();
    let at: Vec<f64> = (0..gains.len()).map(|row| row as f64).collect();
    let layer =
        Layer::intervals(at, column(|gain| gain.value), column(|gain| gain.low), column(|gain| gain.high));
    let panel = Panel::new(Axis::linear("ELBO − ELBO of mean field, nats"), Axis::categories("", names))
        .titled(format!("SYNTHETIC rows ({target})"))
        .with(Layer::vertical_rule(0.0))
        .with(layer.horizontal().styled(Style::series(0)));
    let caption = format!(
        "Paired differences of the evidence lower bound to that of the mean field: means over {} replicates, which share the synthetic \
         rows, with 90 % bootstrap intervals.{}",
        results.replicates(),
        status(results)
    );
    vec![Plate::new("elbo", Figure::new(vec![panel]).wide(120.0).captioned(caption))]
}

fn is_base(series: &Series<'_>) -> bool {
    matches!(series.shape(), Some(FamilyConfig::MeanField { .. }))
}

/// Name of a family: that of its ansatz, if it has one.
fn name(series: &Series<'_>) -> String {
    match series.shape() {
        Some(FamilyConfig::Annealed(annealed)) => annealed.surrogate.name().to_owned(),
        shape => look::family(shape.map_or("", FamilyConfig::kind)).0.to_owned(),
    }
}

/// Mean difference of the bound to that of the mean field on the same target, paired by replicates.
fn gain(all: &[Series<'_>], series: &Series<'_>) -> Option<Interval> {
    let base = all.iter().find(|other| is_base(other) && other.target() == series.target())?;
    let difference = |replicate| Some(series.end(replicate, "elbo")? - base.end(replicate, "elbo")?);
    let replicates = series.outcomes.iter().map(|outcome| outcome.job.replicate);
    bootstrap(&replicates.filter_map(difference).collect::<Vec<f64>>(), LEVEL)
}

/// Bounds, predictions, clipped step sizes and seconds of every family.
pub(crate) fn tables(results: &Results) -> Vec<Sheet> {
    let all = results.series();
    let interval = |found: Option<Interval>, digits: usize| match found {
        None => "–".to_owned(),
        Some(Interval { value, replicates: 1, .. }) => format!("{value:.digits$}"),
        Some(Interval { value, low, high, .. }) => {
            format!("{value:.digits$} [{low:.digits$}, {high:.digits$}]")
        }
    };
    let row = |series: &Series<'_>| {
        let cell = |metric: &str, digits| interval(bootstrap(&series.last(metric), LEVEL), digits);
        let mean = |metric: &str, digits: usize| {
            bootstrap(&series.last(metric), LEVEL)
                .map_or_else(|| "–".to_owned(), |found| format!("{:.digits$}", found.value))
        };
        vec![
            series.target().label().to_owned(),
            name(series),
            cell("elbo", 3),
            if is_base(series) { "–".to_owned() } else { interval(gain(&all, series), 3) },
            mean("lpd", 4),
            mean("accuracy", 3),
            format!("{}; {}", mean("zero_steps", 1), mean("longest_steps", 1)),
            mean("seconds", 1),
            (series.outcomes.len() - series.failures()).to_string(),
        ]
    };
    let head = [
        "Target",
        "Family",
        "ELBO, nats",
        "ELBO − mean field",
        "Test log predictive density",
        "Test accuracy",
        "Steps of size zero; of the largest",
        "Seconds",
        "Replicates",
    ];
    vec![Sheet {
        name: "elbo",
        title: "Bounds on SYNTHETIC rows".to_owned(),
        head: head.map(str::to_owned).into(),
        rows: all.iter().map(row).collect(),
        note: "Means over replicates, which share the rows, with 90 % bootstrap intervals; differences are paired.".to_owned(),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::PresetName;
    use crate::registry::REGISTRY;

    /// Replicate r of every family has bound 10 r, and that of one ansatz is 3 above: the difference is 3 in every replicate, which
    /// no interval of unpaired means would be.
    #[test]
    fn gains_are_paired() {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("sl-dais/tab1")).unwrap();
        let rows = |task: &crate::task::Task, replicate: u64, _| {
            let is_rand = task.variant().contains("RAND,");
            vec![("elbo", 10.0 * replicate as f64 + if is_rand { 3.0 } else { 0.0 })]
        };
        let results = Results::synthetic(entry.experiment().unwrap(), PresetName::Default, rows);
        let all = results.series();
        let of = |wanted: &str| {
            let series = all.iter().find(|series| name(series) == wanted).unwrap();
            gain(&all, series).unwrap()
        };
        let Interval { value, low, high, replicates } = of("RAND");
        assert!((value - 3.0).abs() < 1e-12 && (low - 3.0).abs() < 1e-12 && (high - 3.0).abs() < 1e-12);
        assert!(replicates > 2);
        assert_eq!(of("CS-FIX").value, 0.0);
    }
}
