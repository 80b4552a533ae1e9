//! Estimated log evidence against steps (MCMC-SE, Fig. 6; CW, Fig. 4).

use mcsa_plot::{Axis, Dash, Figure, Layer, Panel, Style};

use crate::claims::curves::Curves;
use crate::claims::resampling::median;
use crate::claims::{Check, Finding, greatest, least};
use crate::figures::Plate;
use crate::figures::curves::{by_method, provenance, with_medians, with_readings};
use crate::results::{Results, Series};

/// Radon, with the exact evidence, the published reference, and values read off the published curves.
pub(crate) fn radon(results: &Results) -> Vec<Plate> {
    let y = Axis::linear("Estimate of log *p*(*y*)").spanning(-1160.0, -1098.0);
    let mut panel = Panel::new(Axis::linear("Iteration"), y)
        .with(Layer::horizontal_rule(RADON).named("exact"))
        .with(published_reference());
    panel = with_medians(panel, &results.series(), "log_z", 0, by_method);
    panel = with_readings(panel, &results.series(), "MCMC-SE, Fig. 6");
    vec![Plate::new("evidence", figure(panel, results))]
}

/// Stock index, without reference: none is published, and our series differs from the published one. Values read off the published
/// curves are not drawn beside those of a synthetic series.
pub(crate) fn stock(results: &Results) -> Vec<Plate> {
    let last = results.series().iter().filter_map(|series| series.steps().last().copied()).max();
    let is_stand_in = |set: &str| results.of_target(set).iter().any(|series| series.place() != set);
    let panel = |set: &str| {
        let y = Axis::linear("Estimate of log *p*(*y*)").spanning(-50e3, -18e3);
        let x = Axis::linear("Iteration").spanning(0.0, last.unwrap_or(10_000) as f64 * 1.02);
        let series = results.of_target(set);
        // The first estimate, before any step, is lower by a factor of a thousand.
        let panel = with_medians(Panel::new(x, y), &series, "log_z", 1, by_method);
        if is_stand_in(set) { panel } else { with_readings(panel, &series, "CW, Fig. 4b") }
    };
    let closes = match is_stand_in(CLOSES) {
        true => medians(panel(CLOSES), provenance(results)).titled("SYNTHETIC levels"),
        false => figure(panel(CLOSES), results),
    };
    let mut plates = vec![Plate::new("evidence", closes)];
    if !results.of_target(AS_PUBLISHED).is_empty() {
        plates.push(Plate::new("evidence-published-series", figure(panel(AS_PUBLISHED), results)));
    }
    plates
}

/// The closes of trading days, and the published series.
const CLOSES: &str = "sp500_close_2007_2017";
const AS_PUBLISHED: &str = "sp500_klpqvi_2610";

/// The papers' reference value.
fn published_reference() -> Layer {
    let style = Style { dash: Dash::Dotted, ..Style::reference() };
    Layer::horizontal_rule(-1115.6).styled(style).named("published as exact")
}

fn figure(panel: Panel, results: &Results) -> Figure {
    medians(panel, format!("{} Rings: read off the published figure.", provenance(results)))
}

fn medians(panel: Panel, caption: String) -> Figure {
    Figure::new(vec![panel]).wide(120.0).captioned(caption)
}

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 2] =
    [("parallel_is_fast", parallel_is_fast), ("single_is_slow", single_is_slow)];

/// Exact log evidence of the radon model.
const RADON: f64 = -1105.872;

fn of<'a>(results: &'a Results, kind: &str) -> Option<Series<'a>> {
    results.find(|series| series.method().kind() == kind)
}

const MISSING: &str = "not every method was run";

/// Estimates along fits, for kinds of methods.
fn curves(results: &Results, kinds: &[&str]) -> Option<Curves> {
    Curves::of(&kinds.iter().map(|kind| of(results, kind)).collect::<Option<Vec<_>>>()?, "log_z")
}

/// For each curve the first recorded step after which it stays within 5 nats of its last value; NaN if the last value is NaN.
fn arrivals(curves: &Curves, columns: &[Vec<f64>]) -> Vec<f64> {
    let arrival = |curve: &Vec<f64>| {
        let last = curve.last().copied().unwrap_or(f64::NAN);
        let late = curve.iter().rposition(|value| (value - last).abs() > 5.0 || value.is_nan());
        curves.steps.get(late.map_or(0, |at| at + 1)).map_or(f64::NAN, |step| *step as f64)
    };
    curves.each(columns, median).iter().map(arrival).collect()
}

fn parallel_is_fast(results: &Results) -> Finding {
    let Some(curves) = curves(results, &["pmcsa"]) else { return Finding::too_little(MISSING) };
    let what = "step from which on the median stays within 5 nats of its last";
    Finding::at_most_of(&curves.columns, |columns| greatest(arrivals(&curves, columns)), 2_000.0, what)
}

fn single_is_slow(results: &Results) -> Finding {
    let Some(curves) = curves(results, &["msc", "jsa"]) else { return Finding::too_little(MISSING) };
    let what = "the same, the earlier of MSC and JSA";
    Finding::at_least_of(&curves.columns, |columns| least(arrivals(&curves, columns)), 6_000.0, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict::{self, Agree, Disagree, TooLittle};
    use crate::claims::tests::checks;
    use crate::experiment::PresetName;
    use crate::kinds::Task;
    use mcsa_data::Catalogue;

    #[test]
    fn the_reference_is_that_of_the_model() {
        let data = Catalogue::new(None).radon().unwrap();
        let model =
            mcsa_models::Radon::new(data.counties.len(), data.county, data.floor, data.log_radon).unwrap();
        let (exact, change) = model.log_evidence(1e-5);
        assert!((exact - RADON).abs() < 1e-3 && change < 1e-4, "{exact} {change}");
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        /// Curves that rise to an end; the remaining distance halves every `half` steps.
        fn found(end: f64, half: fn(&str) -> f64) -> Vec<Verdict> {
            checks("k000-fig6-radon", PresetName::Quick, |task: &Task, _, step| {
                vec![("log_z", end - 1000.0 * 0.5_f64.powf(step as f64 / half(task.method().kind())))]
            })
        }
        assert_eq!(found(RADON, |kind| if kind == "pmcsa" { 200.0 } else { 900.0 }), [Agree; 2]);
        assert_eq!(found(RADON, |kind| if kind == "pmcsa" { 900.0 } else { 200.0 }), [Disagree; 2]);
        assert_eq!(found(f64::NAN, |_| 200.0), [TooLittle; 2]);
    }
}
