//! Classification: held-out accuracy and log predictive density (MCMC-SE, Fig. 4 and 5, Tab. 2 and 3; CW, Fig. 2), and tail
//! of the importance weights (CW, Fig. 3 and 5).

use mcsa_plot::{Axis, Figure, Layer, Panel};

use crate::figures::Plate;
use crate::figures::curves::{
    by_method, provenance, provenance_of_means, status, with_means, with_medians, with_readings,
};
use crate::interval::bootstrap;
use crate::results::Results;

/// Medians of the traces for the methods of CW (CW, Fig. 2), and k-hat (CW, Fig. 3 and 5).
pub(crate) fn logistic_speed(results: &Results) -> Vec<Plate> {
    let drawn = |panel, set: &str, name| with_medians(panel, &results.of_target(set), name, 0, by_method);
    let figure = traces(results, &SETS, ["accuracy", "lpd"], drawn).captioned(provenance(results));
    vec![Plate::new("test", figure), Plate::new("tail", tails(results))]
}

/// Published curves of k-hat in CW, by data set.
const READINGS: [(&str, &str); 2] =
    [("heart_cleveland_303", "CW, Fig. 5"), ("german_credit_numeric", "CW, Fig. 3")];

/// k-hat against steps, a panel for each data set; rings are values read off the published figures.
fn tails(results: &Results) -> Figure {
    let sets = sets(results, &SETS);
    let panel = |&(set, title): &(&str, &str)| {
        let all = results.of_target(set);
        let last = all.iter().filter_map(|series| series.steps().last().copied()).max().unwrap_or(1);
        let x = Axis::linear("Iteration").spanning(0.0, last as f64);
        let y = Axis::log("k-hat of *p* / *q*").spanning(0.3, 20.0);
        let panel = Panel::new(x, y).titled(title).with(Layer::horizontal_rule(0.7).named("0.7"));
        let panel = with_medians(panel, &all, "k_hat", 1, by_method);
        let citation = READINGS.iter().find(|(known, _)| *known == set).map_or("", |(_, citation)| citation);
        with_readings(panel, &all, citation)
    };
    let panels = sets.iter().map(panel).collect();
    let caption = format!("{} Rings: read off the published figures.", provenance(results));
    Figure::new(panels).as_multiples(sets.len().max(1)).shaped(0.8).captioned(caption)
}

/// Gaussian process classification (MCMC-SE, Fig. 5 and Tab. 3). Rings are values read off the published figure.
pub(crate) fn processes(results: &Results) -> Vec<Plate> {
    const SETS: [(&str, &str); 3] =
        [("sonar", "sonar"), ("ionosphere", "ionosphere"), ("breast_wdbc", "breast")];
    let drawn = |panel, set: &str, name: &str| {
        let all = results.of_target(set);
        let citation = if (set, name) == ("ionosphere", "lpd") { "MCMC-SE, Fig. 5" } else { "" };
        with_readings(with_means(panel, &all, name, 0, by_method), &all, citation)
    };
    let figure = traces(results, &SETS, ["accuracy", "lpd"], drawn).captioned(provenance_of_means(results));
    vec![Plate::new("test", figure)]
}

/// Data sets with their names in the paper.
const SETS: [(&str, &str); 3] =
    [("pima", "pima"), ("heart_cleveland_303", "heart"), ("german_credit_numeric", "german")];

/// Test metrics, then training metrics, against steps; then final values as a forest plot.
pub(crate) fn logistic(results: &Results) -> Vec<Plate> {
    let drawn = |panel, set: &str, name| with_means(panel, &results.of_target(set), name, 0, by_method);
    let plate = |name: &str, metrics| {
        Plate::new(name, traces(results, &SETS, metrics, drawn).captioned(provenance_of_means(results)))
    };
    vec![
        plate("test", ["accuracy", "lpd"]),
        Plate::new("end", forest(results)),
        plate("training", ["train_accuracy", "train_lpd"]),
    ]
}

fn side(name: &str) -> &'static str {
    if name.starts_with("train") { "Training" } else { "Test" }
}

/// Data sets that were fitted; all if none was.
fn sets<'s>(results: &Results, all: &[(&'s str, &'s str)]) -> Vec<(&'s str, &'s str)> {
    let found = |(set, _): &&(&str, &str)| results.outcomes.is_empty() || !results.of_target(set).is_empty();
    all.iter().filter(found).copied().collect()
}

/// A row of panels for each metric, a column for each data set.
fn traces<'n>(
    results: &Results,
    all: &[(&str, &str)],
    names: [&'n str; 2],
    drawn: impl Fn(Panel, &str, &'n str) -> Panel,
) -> Figure {
    let sets = sets(results, all);
    let mut panels = Vec::new();
    for name in names {
        for &(set, title) in &sets {
            let what = if name.ends_with("accuracy") { "accuracy" } else { "log predictive density" };
            let mut y = Axis::linear(format!("{} {what}", side(name)));
            // Early densities are tens of nats below all later ones, which would become one line.
            if all.iter().any(|(set, _)| *set == "pima") {
                y = if what == "accuracy" { y.spanning(0.3, 0.92) } else { y.spanning(-1.3, -0.3) };
            }
            let panel = Panel::new(Axis::linear("Iteration"), y).titled(title);
            panels.push(drawn(panel, set, name));
        }
    }
    let mut figure = Figure::new(panels).shaped(0.75);
    // A single data set has its two panels side by side.
    (figure.columns, figure.shares_x) = if sets.len() > 1 { (sets.len(), true) } else { (2, false) };
    figure.shares_legend = true;
    figure
}

fn forest(results: &Results) -> Figure {
    let panels =
        [("accuracy", "Test accuracy"), ("lpd", "Test log predictive density")].map(|(name, label)| {
            let axis = Axis::categories("", SETS.map(|(_, title)| title));
            let mut panel = Panel::new(Axis::linear(label), axis);
            let mut kinds: Vec<String> = Vec::new();
            for series in results.series() {
                if !kinds.iter().any(|kind| kind == series.method().kind()) {
                    kinds.push(series.method().kind().to_owned());
                }
            }
            for (index, kind) in kinds.iter().enumerate() {
                let (mut columns, mut look) = ([const { Vec::new() }; 4], None);
                for (place, (set, _)) in SETS.iter().enumerate() {
                    let all = results.of_target(set);
                    let Some(series) = all.iter().find(|series| series.method().kind() == kind) else {
                        continue;
                    };
                    look = Some(by_method(series));
                    let Some(interval) = bootstrap(&series.last(name), 0.8) else { continue };
                    let values = [place as f64, interval.value, interval.low, interval.high];
                    columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
                }
                let Some((name, style)) = look else { continue };
                let [at, value, low, high] = columns;
                let layer = Layer::intervals(at, value, low, high).horizontal().dodged(index, kinds.len());
                panel = panel.with(layer.named(name).styled(style));
            }
            panel
        });
    let mut figure = Figure::new(panels.into()).shaped(0.7);
    (figure.shares_y, figure.shares_legend) = (true, true);
    let replicates = results.replicates();
    figure.captioned(format!(
        "Means over {replicates} splits at the last iteration, with 80 % bootstrap intervals.{}",
        status(results)
    ))
}
