//! Predictions and bounds when one label is rare (SL-DAIS, Fig. 1).

use mcsa_plot::{Axis, Figure, Layer, Panel, Style};

use super::ranks::{differences, name, style};
use crate::catalog::{Ansatz, FamilyConfig, Target};
use crate::claims::resampling::{Columns, mean};
use crate::claims::{Check, Finding, least};
use crate::figures::Plate;
use crate::figures::curves::status;
use crate::interval::{Interval, bootstrap};
use crate::results::{Results, Series};
use crate::tables::Sheet;

/// Level of the intervals, as in claims.
const LEVEL: f64 = 0.9;

/// Ratios between which a gap is to grow, from frequent to rare.
const ENDS: [f64; 2] = [0.5, 0.03];

/// Least number of steps of fits that claims are about, as in the file.
const STEPS: u64 = 30_000;

/// Label of the target, scale of its prior and seed of its rows: what series have in common that differ in ratio and family alone.
type Facet = (String, f64, u64);

/// Facet and ratio of a series.
fn place(series: &Series<'_>) -> Option<(Facet, f64)> {
    match *series.target() {
        Target::SubsetLogistic { ratio: Some(ratio), prior_scale, seed, .. } => {
            Some(((series.place(), prior_scale, seed), ratio))
        }
        _ => None,
    }
}

/// Facets in the order of the plan.
fn facets(all: &[Series<'_>]) -> Vec<Facet> {
    let mut facets = Vec::new();
    for (facet, _) in all.iter().filter_map(place) {
        if !facets.contains(&facet) {
            facets.push(facet);
        }
    }
    facets
}

fn is_base(series: &Series<'_>) -> bool {
    matches!(series.shape(), Some(FamilyConfig::MeanField { .. }))
}

/// Differences of a metric to the mean field on the same rows, paired by replicates.
fn gains(all: &[Series<'_>], series: &Series<'_>, metric: &str) -> Vec<f64> {
    let base = all.iter().find(|other| is_base(other) && other.target() == series.target());
    base.map_or_else(Vec::new, |base| differences(series, base, metric))
}

/// Title of a facet: with the number of surrogate points.
fn title(all: &[Series<'_>], facet: &Facet) -> String {
    let points = all.iter().filter(|series| place(series).is_some_and(|(found, _)| found == *facet));
    let points = points.filter_map(|series| match series.shape() {
        Some(FamilyConfig::Annealed(annealed)) if annealed.surrogate == Ansatz::Rand => Some(annealed.points),
        _ => None,
    });
    let points = points.max().map_or_else(String::new, |points| format!(", {points} points"));
    format!("{}: prior scale {}{points}", facet.0, facet.1)
}

/// A row of panels for each facet: accuracy, then gains over the mean field in accuracy and bound.
pub(crate) fn figures(results: &Results) -> Vec<Plate> {
    let all = results.series();
    type Values = fn(&[Series<'_>], &Series<'_>) -> Vec<f64>;
    let columns: [(&str, bool, Values); 3] = [
        ("Test accuracy", false, |_, series| series.last("accuracy")),
        ("Accuracy − mean field, %", true, |all, series| {
            gains(all, series, "accuracy").into_iter().map(|gain| 100.0 * gain).collect()
        }),
        ("ELBO − mean field, nats", true, |all, series| gains(all, series, "elbo")),
    ];
    let mut panels = Vec::new();
    for facet in facets(&all) {
        for (column, (label, is_gain, values)) in columns.iter().enumerate() {
            let mut panel = Panel::new(Axis::log("Share of the rare label"), Axis::linear(*label));
            if column == 0 {
                panel = panel.titled(title(&all, &facet));
            }
            if *is_gain {
                panel = panel.with(Layer::horizontal_rule(0.0));
            }
            for (name, style, points) in curves(&all, &facet, *is_gain, *values) {
                let at: Vec<f64> = points.iter().map(|(ratio, _)| *ratio).collect();
                let of = |of: fn(&Interval) -> f64| points.iter().map(|(_, x)| of(x)).collect::<Vec<f64>>();
                let (middle, low, high) = (of(|x| x.value), of(|x| x.low), of(|x| x.high));
                panel = panel
                    .with(Layer::line(at.clone(), middle.clone()).styled(style).named(name.clone()))
                    .with(Layer::intervals(at, middle, low, high).styled(style).named(name));
            }
            panels.push(panel);
        }
    }
    if panels.is_empty() {
        panels.push(Panel::new(Axis::linear(""), Axis::linear("")));
    }
    let mut figure = Figure::new(panels).shaped(0.75);
    (figure.columns, figure.shares_legend) = (3, true);
    let caption = format!(
        "Means over {} replicates, which share the rows, with 90 % bootstrap intervals; gains are paired. Held-out rows have the labels \
         of the whole data set in their shares at every ratio.{}",
        results.replicates(),
        status(results)
    );
    vec![Plate::new("imbalance", figure.captioned(caption))]
}

/// Name and style of a family, and its intervals by ratio.
type Curve = (String, Style, Vec<(f64, Interval)>);

/// Means with intervals by ratio, for each family: a small shift of the ratios keeps intervals apart.
fn curves(
    all: &[Series<'_>],
    facet: &Facet,
    is_gain: bool,
    values: fn(&[Series<'_>], &Series<'_>) -> Vec<f64>,
) -> Vec<Curve> {
    const SHIFT: f64 = 1.03;
    let mut curves: Vec<Curve> = Vec::new();
    for series in all.iter().filter(|series| !(is_gain && is_base(series))) {
        let Some((_, ratio)) = place(series).filter(|(found, _)| found == facet) else { continue };
        let Some(interval) = bootstrap(&values(all, series), LEVEL) else { continue };
        let name = name(series);
        let known = curves.iter().position(|(known, ..)| *known == name).unwrap_or_else(|| {
            curves.push((name, style(series), Vec::new()));
            curves.len() - 1
        });
        curves[known].2.push((ratio * SHIFT.powi(known as i32), interval));
    }
    curves
}

/// Predictions and bounds of every family at every ratio.
pub(crate) fn tables(results: &Results) -> Vec<Sheet> {
    let all = results.series();
    let row = |series: &Series<'_>| {
        let ((label, prior_scale, _), ratio) = place(series)?;
        let cell = |values: &[f64], scale: f64, digits: usize| {
            let values: Vec<f64> = values.iter().map(|value| scale * value).collect();
            match bootstrap(&values, LEVEL) {
                None => "–".to_owned(),
                Some(Interval { value, replicates: 1, .. }) => format!("{value:.digits$}"),
                Some(Interval { value, low, high, .. }) => {
                    format!("{value:.digits$} [{low:.digits$}, {high:.digits$}]")
                }
            }
        };
        let mean = |metric: &str, digits: usize| {
            bootstrap(&series.last(metric), LEVEL)
                .map_or_else(|| "–".to_owned(), |found| format!("{:.digits$}", found.value))
        };
        let gain = |metric: &str, scale, digits| match is_base(series) {
            true => "–".to_owned(),
            false => cell(&gains(&all, series, metric), scale, digits),
        };
        Some(vec![
            label,
            format!("{prior_scale}"),
            format!("{ratio}"),
            name(series),
            cell(&series.last("accuracy"), 100.0, 2),
            gain("accuracy", 100.0, 2),
            cell(&series.last("balanced_accuracy"), 100.0, 2),
            mean("lpd", 4),
            mean("lpd_as_trained", 4),
            gain("lpd_as_trained", 1e3, 2),
            cell(&series.last("elbo"), 1.0, 2),
            gain("elbo", 1.0, 2),
            mean("zero_steps", 1),
            mean("seconds", 1),
            (series.outcomes.len() - series.failures()).to_string(),
        ])
    };
    let head = [
        "Target",
        "Prior scale",
        "Ratio",
        "Family",
        "Accuracy, %",
        "− mean field",
        "Balanced accuracy, %",
        "Test log predictive density",
        "As trained",
        "− mean field, 1e-3",
        "ELBO, nats",
        "− mean field",
        "Steps of size zero",
        "Seconds",
        "Replicates",
    ];
    vec![Sheet {
        name: "imbalance",
        title: "Predictions and bounds with a rare label".to_owned(),
        head: head.map(str::to_owned).into(),
        rows: all.iter().filter_map(row).collect(),
        note: "Means over replicates, which share the rows, with 90 % bootstrap intervals; differences are paired. As trained: held-out \
               labels weighted by their shares among the training rows."
            .to_owned(),
    }]
}

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 2] = [
    ("accuracy_gap_grows", |results| gap_grows(results, "accuracy")),
    ("bound_gap_grows", |results| gap_grows(results, "elbo")),
];

/// Growth of the gap between SL-DAIS and NS-DAIS from the first to the second of [`ENDS`]: the least over facets that have both.
fn gap_grows(results: &Results, metric: &str) -> Finding {
    let all = results.series();
    let is_of = |series: &Series<'_>, wanted| match series.shape() {
        Some(FamilyConfig::Annealed(annealed)) => annealed.surrogate == wanted,
        _ => false,
    };
    let what = format!("growth of the gap in {metric} from ratio {} to {}", ENDS[0], ENDS[1]);
    if all.iter().any(|series| series.task.length() < STEPS) {
        return Finding::too_little(format!("{what}: the claim is of {STEPS} steps"));
    }
    let mut columns: Columns = Vec::new();
    for facet in facets(&all) {
        let gap = |end: f64| {
            let find = |wanted| {
                all.iter().find(|series| {
                    is_of(series, wanted)
                        && place(series).is_some_and(|(found, ratio)| found == facet && ratio == end)
                })
            };
            Some(differences(find(Ansatz::Rand)?, find(Ansatz::Minibatch)?, metric))
        };
        if let [Some(even), Some(rare)] = ENDS.map(gap) {
            columns.extend([even, rare]);
        }
    }
    if columns.iter().any(|column| column.len() < crate::claims::ENOUGH) {
        return Finding::too_little(format!("{what}: too few replicates"));
    }
    let growth =
        |columns: &[Vec<f64>]| least(columns.chunks_exact(2).map(|gaps| mean(&gaps[1]) - mean(&gaps[0])));
    Finding::at_least_of(&columns, growth, 0.0, &what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict::{self, Agree, Disagree, TooLittle};
    use crate::claims::tests as synthetic;
    use crate::experiment::PresetName;
    use crate::task::Task;

    /// SL-DAIS is above NS-DAIS by `slope * (1 - ratio)`, and both move together over replicates, far more than that.
    fn verdicts(preset: PresetName, slope: f64) -> Vec<Verdict> {
        synthetic::checks("sl-dais/fig1-imbalance", preset, |task: &Task, replicate, _| {
            let ratio = match *task.target() {
                Target::SubsetLogistic { ratio: Some(ratio), .. } => ratio,
                _ => panic!("every target has a ratio"),
            };
            let is_learned = task.variant().contains("RAND");
            let value = 10.0 * replicate as f64 + if is_learned { slope * (1.0 - ratio) } else { 0.0 };
            vec![("accuracy", value), ("elbo", value)]
        })
    }

    #[test]
    fn gaps_grow_shrink_or_are_unknown() {
        assert_eq!(verdicts(PresetName::Default, 1e-3), [Agree; 2]);
        assert_eq!(verdicts(PresetName::Default, -1e-3), [Disagree; 2]);
        assert_eq!(verdicts(PresetName::Quick, 1e-3), [TooLittle; 2]);
    }
}
