//! Step sizes of annealed paths that end at zero or at the largest, with the bound beside.

use mcsa_plot::{Axis, Figure, Layer, Panel, Style};

use super::titles::{paths, targets, titled};
use crate::catalog::{AnnealedConfig, Momentum};
use crate::figures::Plate;
use crate::figures::curves::status;
use crate::interval::{Interval, bootstrap};
use crate::results::{Results, Series};
use crate::tables::Sheet;

/// Level of the intervals, as in claims, and its normal quantile.
const LEVEL: f64 = 0.9;
const QUANTILE: f64 = 1.6448536269514722;

/// Wilson's interval of a rate.
fn rate(count: usize, of: usize) -> Option<Interval> {
    if of == 0 {
        return None;
    }
    let (n, square) = (of as f64, QUANTILE * QUANTILE);
    let value = count as f64 / n;
    let centre = (value + 0.5 * square / n) / (1.0 + square / n);
    let half = QUANTILE / (1.0 + square / n) * (value * (1.0 - value) / n + 0.25 * square / (n * n)).sqrt();
    Some(Interval { value, low: centre - half, high: centre + half, replicates: of })
}

/// Rate of fits whose metric at the end is `wanted`.
fn rate_of(series: &Series<'_>, metric: &str, wanted: impl Fn(f64) -> bool) -> Option<Interval> {
    let values = series.last(metric);
    rate(values.iter().filter(|value| wanted(**value)).count(), values.len())
}

fn is_still(series: &Series<'_>) -> Option<Interval> {
    rate_of(series, "still", |still| still > 0.5)
}

fn is_pinned(series: &Series<'_>) -> Option<Interval> {
    rate_of(series, "longest_steps", |count| count > 0.5)
}

/// Difference of the bound to that of the mean field, paired by replicates.
fn gain(results: &Results, series: &Series<'_>) -> Option<Interval> {
    let base = results.find(|other| paths(other).is_none() && other.target() == series.target())?;
    let last = |series: &Series<'_>, replicate| {
        let outcome = series.outcomes.iter().find(|outcome| outcome.job.replicate == replicate)?;
        outcome.rows.last().filter(|_| outcome.ended.failure.is_none())?.values.get("elbo").copied()
    };
    let replicates = series.outcomes.iter().map(|outcome| outcome.job.replicate);
    let differences = replicates.filter_map(|r| Some(last(series, r)? - last(&base, r)?));
    bootstrap(&differences.collect::<Vec<f64>>(), LEVEL)
}

fn name(settings: &AnnealedConfig) -> String {
    let law = if settings.mass == Some(Momentum::Numpyro) { "M²" } else { "M" };
    let kappa = if settings.scaled { "share" } else { "κ" };
    format!("{}, {kappa}, {law}", settings.step_size)
}

/// Rates of dead and of pinned fits, and gains of the bound: a row of panels for each target.
pub(crate) fn figures(results: &Results) -> Vec<Plate> {
    let mut panels = Vec::new();
    for label in targets(results) {
        let mut all = results.of_target(&label);
        all.retain(|series| paths(series).is_some());
        let order = |series: &Series<'_>| {
            paths(series)
                .map_or((0.0, false, false), |p| (p.step_size, p.scaled, p.mass == Some(Momentum::Numpyro)))
        };
        all.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
        let names: Vec<String> = all.iter().filter_map(paths_name).collect();
        let share = |text: &str| Axis::linear(text).spanning(-0.03, 1.03);
        let rows = || Axis::categories("", names.clone());
        let gains = |series: &Series<'_>| gain(results, series);
        panels.push(panel(share("Fits that stand still"), rows(), &all, &is_still).titled(titled(&label)));
        panels.push(panel(share("Fits with a step at the largest"), rows(), &all, &is_pinned));
        let last = panel(Axis::linear("ELBO − mean field, nats"), rows(), &all, &gains);
        panels.push(last.with(Layer::vertical_rule(0.0)));
    }
    if panels.is_empty() {
        panels.push(Panel::new(Axis::linear(""), Axis::linear("")));
    }
    let mut figure = Figure::new(panels).shaped(0.8);
    (figure.columns, figure.shares_y) = (3, true);
    let text = format!(
        "Fits of SL-DAIS with 4 steps, {} replicates. Names: first step size; kappa itself, κ, or as a share of the largest step size; \
         variance of the momentum, M as in the paper or M² as in numpyro. Rates have Wilson's 90 % intervals, differences paired 90 % bootstrap intervals of the mean.",
        results.replicates()
    );
    vec![Plate::new("rates", figure.captioned(format!("{text}{}", status(results))))]
}

fn paths_name(series: &Series<'_>) -> Option<String> {
    paths(series).map(name)
}

fn panel(x: Axis, y: Axis, all: &[Series<'_>], of: &dyn Fn(&Series<'_>) -> Option<Interval>) -> Panel {
    let mut columns = [const { Vec::new() }; 4];
    for (row, series) in all.iter().enumerate() {
        let Some(found) = of(series) else { continue };
        let values = [row as f64, found.value, found.low, found.high];
        columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
    }
    let [at, value, low, high] = columns;
    Panel::new(x, y).with(Layer::intervals(at, value, low, high).horizontal().styled(Style::series(0)))
}

/// Rates and bounds of every setting.
pub(crate) fn tables(results: &Results) -> Vec<Sheet> {
    let cell = |found: Option<Interval>, digits: usize| {
        found.map_or_else(
            || "–".to_owned(),
            |Interval { value, low, high, .. }| format!("{value:.digits$} [{low:.digits$}, {high:.digits$}]"),
        )
    };
    let row = |series: &Series<'_>| {
        let mean = |metric: &str| bootstrap(&series.last(metric), LEVEL);
        vec![
            series.target().label().to_owned(),
            paths_name(series).unwrap_or_else(|| "mean field".to_owned()),
            cell(is_still(series).filter(|_| paths(series).is_some()), 2),
            cell(is_pinned(series).filter(|_| paths(series).is_some()), 2),
            cell(mean("zero_steps"), 1),
            cell(mean("longest_steps"), 1),
            cell(mean("elbo"), 3),
            cell(gain(results, series).filter(|_| paths(series).is_some()), 3),
        ]
    };
    let head = [
        "Target",
        "Family",
        "Fits that stand still",
        "Fits with a step at the largest",
        "Steps of size zero",
        "Steps of the largest size",
        "ELBO, nats",
        "ELBO − mean field",
    ];
    vec![Sheet {
        name: "rates",
        title: "Dead and pinned step sizes on SYNTHETIC rows".to_owned(),
        head: head.map(str::to_owned).into(),
        rows: results.series().iter().map(row).collect(),
        note: "Rates have Wilson's 90 % intervals, means 90 % bootstrap intervals; paths have 4 steps."
            .to_owned(),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wilson's interval for 3 of 20 at 90 %, from the roots of `(p - 3/20)^2 = z^2 p (1 - p) / 20`.
    #[test]
    fn rates_have_wilson_intervals() {
        let found = rate(3, 20).unwrap();
        for end in [found.low, found.high] {
            let residual = (end - 0.15).powi(2) - QUANTILE.powi(2) * end * (1.0 - end) / 20.0;
            assert!(residual.abs() < 1e-12, "{end}");
        }
        assert!(found.low < 0.15 && found.high > 0.15);
        assert!(rate(0, 20).unwrap().low.abs() < 1e-12 && rate(0, 0).is_none());
    }
}
