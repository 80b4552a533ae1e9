//! Ladder of dimension: errors and weights of each family as the dimension grows.

use mcsa_plot::{Axis, Figure, Layer, Panel};

use crate::catalog::Case;
use crate::claims::{Check, Finding, greatest};
use crate::figures::FigureFile;
use crate::figures::curves::status;
use crate::look;
use crate::results::{Results, Series};
use crate::task::{Climber, Rung, Task};
use mcsa_diagnostics::quantile;

/// Targets of the ladder: kind and title.
const LADDERS: [(&str, &str); 4] = [
    ("wishart", "Gaussian"),
    ("student", "Student t, 5 degrees"),
    ("bananas", "Pairs of bananas"),
    ("synthetic-rows", "Logistic, SYNTHETIC rows"),
];
/// Error, k-hat and share at which a family has stopped working.
const STOPPED: (f64, f64) = (0.3, 0.7);

fn rung<'s>(series: &Series<'s>) -> Option<(&'s Rung, &'s Case)> {
    match series.task {
        Task::Rung(rung) => Some((rung, rung.case()?)),
        _ => None,
    }
}

/// True for the climbs within a given number of evaluations.
fn is_goal(series: &Series<'_>) -> bool {
    rung(series).is_some_and(|(rung, case)| {
        let is_ladder = LADDERS.iter().any(|(kind, _)| *kind == case.kind());
        !is_ladder || case.dim().map(|dim| dim.clamp(10, 256)) != Some(rung.method.budget())
    })
}

/// Median of a metric over all runs.
fn median(series: &Series<'_>, metric: &str) -> f64 {
    let rows = series.outcomes.iter().flat_map(|outcome| &outcome.rows);
    let mut values: Vec<f64> = rows.filter_map(|row| row.values.get(metric).copied()).collect();
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        f64::NAN
    } else {
        quantile(&mut values, 0.5)
    }
}

/// Error of q, k-hat and share of the draws against the dimension, a column for each target.
pub(crate) fn figures(results: &Results) -> Vec<FigureFile> {
    let all = results.series();
    let metrics = [
        ("fit_error", "Error of the mean of *q*, sd", Some(STOPPED.0)),
        ("k_hat", "k-hat", Some(STOPPED.1)),
        ("sample_share", "ESS per draw", None),
    ];
    let mut panels = Vec::new();
    for (metric, label, limit) in metrics {
        for (kind, title) in LADDERS {
            let y = match metric {
                "fit_error" => Axis::log(label).spanning(0.01, 1.5),
                "k_hat" => Axis::linear(label).spanning(-0.2, 2.0),
                _ => Axis::log(label).spanning(2e-4, 1.2),
            };
            let mut panel = Panel::new(Axis::log("Dimension"), y);
            if metric == "fit_error" {
                panel = panel.titled(title);
            }
            if let Some(limit) = limit {
                panel = panel.with(Layer::horizontal_rule(limit));
            }
            for family in Climber::ALL {
                let of_family = all.iter().filter(|series| !is_goal(series)).filter_map(|series| {
                    let (rung, case) = rung(series)?;
                    let is_here = rung.family == family && case.kind() == kind;
                    is_here.then(|| (case.dim().unwrap_or(1) as f64, median(series, metric)))
                });
                let mut points: Vec<(f64, f64)> = of_family.collect();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
                let style = look::family(key(family)).1;
                panel = panel
                    .with(Layer::line(x.clone(), y.clone()).styled(style))
                    .with(Layer::points(x, y).styled(style).named(family.name()));
            }
            panels.push(panel);
        }
    }
    let mut figure = Figure::new(panels).shaped(0.8);
    (figure.columns, figure.shares_x, figure.shares_y, figure.shares_legend) =
        (LADDERS.len(), true, true, true);
    let caption = format!(
        "Medians over climbs of running moments, about as many chains as dimensions, from starts that are off. Broken lines: 0.3 standard \
         deviations, k-hat 0.7.{}",
        status(results)
    );
    vec![FigureFile::new("ladder", figure.captioned(caption))]
}

/// Kind of a family in [`look`].
fn key(family: Climber) -> &'static str {
    match family {
        Climber::MeanField => "mean-field",
        Climber::LowRank => "low-rank",
        Climber::FullRank => "full-rank",
        Climber::StudentT => "student-t",
    }
}

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 3] = [
    ("pima_within_budget", |results| goal(results, "hierarchical logistic: pima", 0.1, Some((0.7, 0.45)))),
    ("german_within_budget", |results| {
        goal(results, "hierarchical logistic: german_credit_numeric", 0.15, None)
    }),
    ("wishart_within_budget", |results| goal(results, "Gaussian: d 100", 0.05, Some((0.7, 0.4)))),
];

/// The claim that the median error is at most `error`, and that k-hat and share of the draws keep their limits.
fn goal(results: &Results, title: &str, error: f64, weights: Option<(f64, f64)>) -> Finding {
    let all = results.series();
    let is_it =
        |series: &&Series<'_>| is_goal(series) && rung(series).is_some_and(|(_, case)| case.title() == title);
    let Some(series) = all.iter().find(is_it) else { return Finding::too_little("no climbs") };
    let [found, k_hat, share] =
        ["answer_error", "k_hat", "sample_share"].map(|metric| median(series, metric));
    let of_q = median(series, "fit_error");
    let mut ratios = vec![found / error];
    ratios.extend(weights.into_iter().flat_map(|(shape, least)| [k_hat / shape, least / share]));
    let ratio = greatest(ratios);
    let what = format!(
        "largest ratio of a median to its limit: error {found:.3} of {error} (of the mean of q {of_q:.3}), k-hat {k_hat:.2}, draws worth {:.0} %",
        100.0 * share
    );
    Finding::at_most(ratio, 1.0, what)
}

#[cfg(test)]
mod tests {
    use crate::claims::Verdict::{Agree, Disagree, TooLittle};
    use crate::claims::tests::checks;
    use crate::experiment::PresetName;

    #[test]
    fn they_hold_fail_and_abstain() {
        let found = |error, share| {
            checks("ours/fit-ladder", PresetName::Default, |_, _, _| {
                vec![("answer_error", error), ("k_hat", 0.2), ("sample_share", share)]
            })
        };
        assert_eq!(found(0.04, 0.6), [Agree; 3]);
        assert_eq!(found(0.2, 0.6), [Disagree; 3]);
        assert_eq!(found(0.04, 0.1), [Disagree, Agree, Disagree]);
        assert_eq!(found(f64::NAN, 0.6), [TooLittle; 3]);
    }
}
