//! Likelihood terms and seconds of a step against the number of data (SL-DAIS, Fig. 3 and 5).

use mcsa_plot::{Axis, Dash, Figure, Layer, Marker, Panel, Style};

use super::ranks::{name, style};
use crate::catalog::{Ansatz, FamilyConfig, Target};
use crate::figures::Plate;
use crate::figures::curves::status;
use crate::results::{Results, Series};
use crate::tables::Sheet;
use mcsa_diagnostics::quantile;

/// Number of training rows.
fn rows(series: &Series<'_>) -> usize {
    match *series.target() {
        Target::SubsetLogistic { rows, .. } => rows,
        _ => 0,
    }
}

/// Median of a metric over replicates, per step.
fn per_step(series: &Series<'_>, metric: &str) -> Option<f64> {
    let (steps, mut values) = (series.task.length().max(1) as f64, series.last(metric));
    (!values.is_empty()).then(|| quantile(&mut values, 0.5) / steps)
}

/// Returns true for DAIS with two steps, to which others are compared.
fn is_reference(series: &Series<'_>) -> bool {
    matches!(
        series.shape(),
        Some(FamilyConfig::Annealed(annealed)) if annealed.surrogate == Ansatz::Posterior && annealed.steps == 2
    )
}

/// Two panels: likelihood terms and milliseconds per step.
pub(crate) fn figures(results: &Results) -> Vec<Plate> {
    let all = results.series();
    let panel = |label: &str, metric: &str, scale: f64| {
        let mut panel = Panel::new(Axis::log("Number of data, *N*"), Axis::log(label));
        let mut curves: Vec<(String, Style, Vec<f64>, Vec<f64>)> = Vec::new();
        for series in &all {
            let Some(value) = per_step(series, metric) else { continue };
            let name = name(series);
            let known = curves.iter().position(|curve| curve.0 == name).unwrap_or_else(|| {
                let other = Style { dash: Dash::Short, marker: Marker::Wedge, ..style(series) };
                let style = if is_reference(series) { other } else { style(series) };
                curves.push((name, style, Vec::new(), Vec::new()));
                curves.len() - 1
            });
            curves[known].2.push(rows(series) as f64);
            curves[known].3.push(scale * value);
        }
        for (name, style, x, y) in curves {
            panel = panel
                .with(Layer::line(x.clone(), y.clone()).styled(style).named(name.clone()))
                .with(Layer::points(x, y).styled(style).named(name));
        }
        panel
    };
    let mut panels = vec![
        panel("Likelihood terms per step", "terms", 1.0),
        panel("Milliseconds per step", "seconds", 1e3),
    ];
    if let Some(series) = all.first() {
        panels[0] = panels[0].clone().titled(series.place());
    }
    let mut figure = Figure::new(panels).shaped(0.8);
    (figure.columns, figure.shares_legend) = (2, true);
    let caption = format!(
        "Likelihood terms of single data per step, counted, and milliseconds of one processor, medians over {} \
         replicates. Families without paths have equal terms, and so have NS-DAIS and SL-DAIS.{}",
        results.replicates(),
        status(results)
    );
    vec![Plate::new("cost", figure.captioned(caption))]
}

/// Terms and milliseconds per step of every family, and their ratios to those of DAIS with two steps.
pub(crate) fn tables(results: &Results) -> Vec<Sheet> {
    let all = results.series();
    let row = |series: &Series<'_>| {
        let reference = all.iter().find(|other| is_reference(other) && other.target() == series.target());
        let cell = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
        };
        let share = |metric: &str| {
            let share =
                reference.and_then(|of| Some(100.0 * per_step(series, metric)? / per_step(of, metric)?));
            cell(share, 2)
        };
        vec![
            series.place(),
            rows(series).to_string(),
            name(series),
            cell(per_step(series, "terms"), 0),
            share("terms"),
            cell(per_step(series, "seconds").map(|seconds| 1e3 * seconds), 3),
            share("seconds"),
            (series.outcomes.len() - series.failures()).to_string(),
        ]
    };
    let head = [
        "Target",
        "Data",
        "Family",
        "Likelihood terms per step",
        "% of DAIS 2",
        "Milliseconds per step",
        "% of DAIS 2",
        "Replicates",
    ];
    vec![Sheet {
        name: "cost",
        title: "Cost of a step".to_owned(),
        head: head.map(str::to_owned).into(),
        rows: all.iter().map(row).collect(),
        note: "Counted likelihood terms of single data: values, gradients, products with second derivatives. Seconds of one run on one \
               machine."
            .to_owned(),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::PresetName;
    use crate::registry::REGISTRY;
    use crate::task::Task;

    /// SL-DAIS has a quarter of the terms of DAIS 2, whatever the number of steps and of data.
    #[test]
    fn shares_are_those_of_the_same_rows() {
        let entry = REGISTRY.iter().find(|entry| entry.file.contains("sl-dais/fig3")).unwrap();
        let values = |task: &Task, _, _| {
            let terms = if task.variant().contains("RAND") { 25.0 } else { 100.0 };
            vec![("terms", terms * task.target().title().len() as f64), ("seconds", 1.0)]
        };
        let results = Results::synthetic(entry.experiment().unwrap(), PresetName::Default, values);
        let sheet = tables(&results).remove(0);
        let learned: Vec<_> = sheet.rows.iter().filter(|row| row[2].starts_with("SL-DAIS")).collect();
        assert!(learned.len() > 1 && learned.iter().all(|row| row[4] == "25.00" && row[6] == "100.00"));
        assert!(learned.iter().all(|row| row[0] == "SYNTHETIC susy"));
        let others = sheet.rows.iter().filter(|row| !row[2].starts_with("SL-DAIS"));
        assert!(others.into_iter().all(|row| row[4] == "100.00"));
    }
}
