//! Variance of the score estimate against the divergence, a point for each parameter (MCMC-SE, Fig. 3).

use mcsa_plot::{Axis, Figure, Layer, Panel};

use crate::claims::{Check, Finding, greatest, least};
use crate::figures::FigureFile;
use crate::figures::curves::{by_method, status};
use crate::results::{Results, Series};
use mcsa_diagnostics::quantile;

/// Trace of the covariance above, published variance below, a column for each N.
pub(crate) fn figures(results: &Results) -> Vec<FigureFile> {
    let metrics =
        [("variance", "tr Cov(*g*)", [0.08, 10.0]), ("pooled_variance", "Pooled variance", [0.03, 2.0])];
    let mut panels = Vec::new();
    for (metric, label, [low, high]) in metrics {
        for budget in BUDGETS {
            let (x, y) = (Axis::log("KL(*p* ∥ *q*)"), Axis::log(label).spanning(low, high));
            let mut panel = Panel::new(x, y).titled(format!("*N* = {budget}"));
            let mut lines = Vec::new();
            for series in results.series().iter().filter(|series| series.method().budget() == budget) {
                let (name, style) = by_method(series);
                let all = points(series, metric);
                let (x, y): (Vec<f64>, Vec<f64>) = all.iter().copied().unzip();
                panel = panel.with(Layer::points(x, y).styled(style.sized(1.6).faint(0.35)));
                let (x, y): (Vec<f64>, Vec<f64>) = by_divergence(all, 8).into_iter().unzip();
                lines.push(Layer::line(x, y).named(name).styled(style));
            }
            panels.push(lines.into_iter().fold(panel, Panel::with));
        }
    }
    let count: usize = results.series().first().map_or(0, |series| points(series, "kl").len());
    let caption = format!(
        "{count} parameters; lines: medians of eighths by divergence. Below: as published, with the spread of mean scores \
         between coordinates.{}",
        status(results)
    );
    let mut figure = Figure::new(panels).shaped(0.8).captioned(caption);
    (figure.columns, figure.shares_x, figure.shares_legend) = (BUDGETS.len(), true, true);
    vec![FigureFile::new("scatter", figure)]
}

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 5] = [
    ("single_gains_little", |results| single_gains_little(results, "variance")),
    ("single_gains_little_as_published", |results| single_gains_little(results, "pooled_variance")),
    ("parallel_gains", parallel_gains),
    ("parallel_is_least", parallel_is_least),
    ("equally_biased", equally_biased),
];

const BUDGETS: [usize; 3] = [4, 8, 16];

/// Divergence and a metric at each parameter of each replicate.
fn points(series: &Series<'_>, name: &str) -> Vec<(f64, f64)> {
    let rows = series.outcomes.iter().flat_map(|outcome| &outcome.rows);
    rows.filter_map(|row| Some((*row.values.get("kl")?, *row.values.get(name)?))).collect()
}

/// Medians of divergence and metric in `parts` groups of equal size, ordered by divergence. Empty if a divergence is NaN.
fn by_divergence(mut points: Vec<(f64, f64)>, parts: usize) -> Vec<(f64, f64)> {
    if points.len() < parts || points.iter().any(|point| point.0.is_nan()) {
        return Vec::new();
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let part = |k: usize| &points[k * points.len() / parts..(k + 1) * points.len() / parts];
    let median = |part: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
        quantile(&mut part.iter().map(of).collect::<Vec<_>>(), 0.5)
    };
    (0..parts).map(|k| (median(part(k), |point| point.0), median(part(k), |point| point.1))).collect()
}

/// Medians of a metric of one method in groups by divergence.
fn parts(results: &Results, kind: &str, budget: usize, name: &str, parts: usize) -> Vec<f64> {
    let found = results.find(|series| series.is(kind, budget));
    let points = found.map(|series| points(&series, name)).unwrap_or_default();
    by_divergence(points, parts).into_iter().map(|point| point.1).collect()
}

/// The last tenth by divergence counts as far from the target.
fn single_gains_little(results: &Results, name: &str) -> Finding {
    let far = |kind, budget| parts(results, kind, budget, name, 10).last().copied().unwrap_or(f64::NAN);
    let ratios = ["jsa", "msc"].map(|kind| far(kind, 16) / far(kind, 4));
    Finding::at_least(
        least(ratios),
        0.6,
        "median variance at N = 16 over that at N = 4 in the last tenth by divergence, the less of JSA and MSC",
    )
}

fn parallel_gains(results: &Results) -> Finding {
    let [few, many] = [4, 16].map(|budget| parts(results, "pmcsa", budget, "variance", 4));
    let off = few.iter().zip(&many).map(|(few, many)| (4.0 * many / few).ln().abs());
    Finding::at_most(
        greatest(off),
        0.26,
        "largest log of four times the ratio of median variances at N = 16 and N = 4, over quarters by divergence",
    )
}

fn parallel_is_least(results: &Results) -> Finding {
    let mut ratios = Vec::new();
    for budget in BUDGETS {
        let parallel = parts(results, "pmcsa", budget, "variance", 4);
        for kind in ["jsa", "msc"] {
            let single = parts(results, kind, budget, "variance", 4);
            ratios.extend(parallel.iter().zip(&single).map(|(parallel, single)| parallel / single));
        }
    }
    let what =
        "median variance of pMCSA over that of JSA or MSC, the largest over N and quarters by divergence";
    Finding::at_most(greatest(ratios), 1.0, what)
}

/// Differences in units of `sqrt(variance / 128)`, the standard error of a mean over 128 chains.
fn equally_biased(results: &Results) -> Finding {
    let mut off = Vec::new();
    for budget in BUDGETS {
        let of = |kind, name| parts(results, kind, budget, name, 4);
        let parallel = of("pmcsa", "bias");
        for kind in ["jsa", "msc"] {
            let single = of(kind, "bias").into_iter().zip(of(kind, "variance"));
            off.extend(
                parallel
                    .iter()
                    .zip(single)
                    .map(|(parallel, (bias, variance))| (parallel - bias).abs() / (variance / 128.0).sqrt()),
            );
        }
    }
    let what = "largest difference of median biases between pMCSA and the others in units of the error of a mean, over N and \
                quarters by divergence";
    Finding::at_most(greatest(off), 1.0, what)
}

#[cfg(test)]
mod tests {
    use crate::claims::Verdict::{self, Agree, Disagree, TooLittle};
    use crate::claims::tests::checks;
    use crate::experiment::PresetName;
    use crate::task::Task;

    fn verdicts(variance: fn(&str, f64) -> f64, bias: fn(&str) -> f64) -> Vec<Verdict> {
        let rows = |task: &Task, _: u64, step: u64| {
            let (kind, n) = (task.method().kind(), task.method().budget() as f64);
            let variance = variance(kind, n);
            vec![
                ("kl", step as f64),
                ("variance", variance),
                ("pooled_variance", variance),
                ("bias", bias(kind)),
            ]
        };
        checks("mcmc-se/fig3-variance", PresetName::Quick, rows)
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        let published = |kind: &str, n: f64| if kind == "pmcsa" { 2.0 / n } else { 2.0 };
        assert_eq!(verdicts(published, |_| 0.1), [Agree; 5]);
        let opposite = |kind: &str, n: f64| if kind == "pmcsa" { 20.0 } else { 2.0 / n };
        let biased = |kind: &str| if kind == "pmcsa" { 9.0 } else { 0.1 };
        assert_eq!(verdicts(opposite, biased), [Disagree; 5]);
        assert_eq!(verdicts(|_, _| f64::NAN, |_| 0.1), [TooLittle; 5]);
    }
}
