//! Variance of the score estimate given the states of its chains, against N (CW, Fig. 7).

use mcsa_plot::{Axis, Figure, Layer, Panel, Style};

use crate::claims::resampling::{Columns, median};
use crate::claims::{Check, Finding, greatest};
use crate::figures::Plate;
use crate::figures::curves::{EIGHTY, status};
use crate::kinds::Task;
use crate::look;
use crate::published;
use crate::results::Results;
use mcsa_diagnostics::quantile;

const METHODS: [&str; 3] = ["pmcsa", "msc", "msc-rb"];

/// A panel for each gap; hollow rings are values read off the published figure.
pub(crate) fn figures(results: &Results) -> Vec<Plate> {
    let panels = [0.0, 2.0, 4.0].map(|gap| {
        let x = Axis::log("*N*").spanning(0.9, 145.0);
        let y = Axis::log("Var(*g* | states)").spanning(1e-5, 20.0);
        let mut panel = Panel::new(x, y).titled(format!("*μ_{{q}}* − *μ_{{p}}* = {gap}"));
        for kind in METHODS {
            let mut columns = [const { Vec::new() }; 4];
            let mut style = Style::series(0);
            for series in results.series() {
                let is_here = matches!(series.task, Task::Variance(variance) if variance.gap == gap);
                if !is_here || series.method().kind() != kind {
                    continue;
                }
                style = look::style(series.method());
                let mut values = series.last("variance");
                let levels = EIGHTY.map(|level| quantile(&mut values, level));
                columns[0].push(series.method().budget() as f64);
                columns[1..].iter_mut().zip(levels).for_each(|(column, value)| column.push(value));
            }
            let [n, low, median, high] = columns;
            let readings = published::readings("CW, Fig. 7", &format!("{kind} {gap}"));
            let (x, y): (Vec<f64>, Vec<f64>) = readings.into_iter().unzip();
            let ring = Style { marker: mcsa_plot::Marker::Ring, ..style }.sized(3.6);
            panel = panel
                .with(Layer::band(n.clone(), low, high).styled(style))
                .with(Layer::line(n.clone(), median.clone()).named(look::name(kind)).styled(style))
                .with(Layer::points(n, median).named(look::name(kind)).styled(style.sized(3.2)))
                .with(Layer::points(x, y).styled(ring));
        }
        panel
    });
    let caption = format!(
        "Medians over {} draws of the states, bands from the 10^{{th}} to the 90^{{th}} percentile. Rings: read off the \
         published figure, whose CIS is the variance of an index.{}",
        results.replicates(),
        status(results)
    );
    vec![Plate::new("variance", Figure::new(panels.into()).as_multiples(3).shaped(0.9).captioned(caption))]
}

/// Checks of the claims.
pub(crate) const CHECKS: [(&str, Check); 2] =
    [("parallel_falls", parallel_falls), ("single_saturates", single_saturates)];

/// Variances, one for each draw of the states, in a column for each kind of method with its N.
fn columns(results: &Results, gap: f64, methods: &[(&str, usize)]) -> Option<Columns> {
    let column = |(kind, budget): &(&str, usize)| {
        let series = results.find(|series| {
            let at_gap = matches!(series.task, Task::Variance(variance) if variance.gap == gap);
            at_gap && series.is(kind, *budget)
        })?;
        Some(series.last("variance"))
    };
    methods.iter().map(column).collect()
}

/// Such columns at several gaps, one after the other.
fn at_gaps(results: &Results, gaps: &[f64], methods: &[(&str, usize)]) -> Option<Columns> {
    let all: Vec<Columns> = gaps.iter().map(|gap| columns(results, *gap, methods)).collect::<Option<_>>()?;
    Some(all.concat())
}

/// Ratio of median variances in each pair of columns: second over first.
fn ratios(columns: &[Vec<f64>]) -> impl Iterator<Item = f64> {
    columns.chunks(2).map(|pair| median(&pair[1]) / median(&pair[0]))
}

const MISSING: &str = "not all variances are there";
const GAPS: [f64; 3] = [0.0, 2.0, 4.0];

fn parallel_falls(results: &Results) -> Finding {
    let Some(columns) = at_gaps(results, &GAPS, &[("pmcsa", 8), ("pmcsa", 128)]) else {
        return Finding::too_little(MISSING);
    };
    let off = |columns: &[Vec<f64>]| greatest(ratios(columns).map(|ratio| (16.0 * ratio).ln().abs()));
    let what = "|log| of N times the median variance, N = 128 against 8, the worst over gaps";
    Finding::at_most_of(&columns, off, 1.0, what)
}

fn single_saturates(results: &Results) -> Finding {
    let Some(columns) = at_gaps(results, &GAPS, &[("msc", 128)]) else {
        return Finding::too_little(MISSING);
    };
    let off =
        |columns: &[Vec<f64>]| greatest(columns.iter().map(|column| (16.0 * median(column) - 1.0).abs()));
    let what = "distance of 16 times the median variance of MSC at N = 128 from 1, the largest over gaps";
    Finding::at_most_of(&columns, off, 0.15, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict::{self, Agree, Disagree, TooLittle};
    use crate::claims::tests::checks;
    use crate::experiment::PresetName;

    fn verdicts(variance: fn(&str, f64) -> f64) -> Vec<Verdict> {
        checks("k003-fig7-conditional-variance", PresetName::Quick, |task, _, _| {
            let Task::Variance(of) = task else { return Vec::new() };
            vec![("variance", variance(of.method.kind(), of.method.budget() as f64))]
        })
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        assert_eq!(verdicts(|kind, n| if kind == "pmcsa" { 0.01 / n } else { 0.0625 }), [Agree; 2]);
        assert_eq!(verdicts(|kind, n| if kind == "pmcsa" { n } else { 0.5 }), [Disagree; 2]);
        assert_eq!(verdicts(|_, _| f64::NAN), [TooLittle; 2]);
    }
}
