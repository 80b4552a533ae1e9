//! How far lambda is from the optimum, step by step.

use crate::draw::{Axis, Figure, Layer, Panel, Style};
use crate::experiment::Experiment;
use crate::quantile::quantile;
use crate::store::{Outcome, Row};

/// The exact inclusive divergence against steps: for each method the median over replicates, and the band from the tenth
/// to the ninetieth percentile.
pub fn descent(experiment: &Experiment, preset: &str, outcomes: &[Outcome]) -> Figure {
    let mut panel = Panel::new(Axis::log("Step"), Axis::log("KL(*p* ∥ *q*)"));
    let mut replicates = 0;
    let (mut bands, mut lines) = (Vec::new(), Vec::new());
    for (index, method) in experiment.methods.iter().enumerate() {
        let runs: Vec<&[Row]> =
            outcomes.iter().filter(|o| o.job.method == *method).map(|o| o.rows.as_slice()).collect();
        replicates = replicates.max(runs.len());
        let rows = runs.iter().map(|rows| rows.len()).min().unwrap_or(0);
        let mut columns = [const { Vec::new() }; 4];
        // Row 0 is the start, which has no place on a logarithmic axis.
        for k in 1..rows {
            let mut values: Vec<f64> =
                runs.iter().filter_map(|rows| rows[k].values.get("kl").copied()).collect();
            columns[0].push(runs[0][k].step as f64);
            for (column, level) in columns[1..].iter_mut().zip([0.1, 0.5, 0.9]) {
                column.push(quantile(&mut values, level));
            }
        }
        let [steps, low, median, high] = columns;
        bands.push(Layer::band(steps.clone(), low, high).styled(Style::series(index)));
        lines.push(Layer::line(steps, median).named(method.label.clone()).styled(Style::series(index)));
    }
    let floor = outcomes.iter().find_map(|o| o.rows.first()?.values.get("kl_floor").copied());
    panel.layers.extend(floor.map(|floor| Layer::horizontal_rule(floor).named("best in the family")));
    panel.layers.extend(bands);
    panel.layers.extend(lines);
    let caption = format!(
        "Exact inclusive divergence. Median of {replicates} replicates; bands from the 10^{{th}} to the 90^{{th}} \
         percentile. Preset *{preset}*."
    );
    Figure::new(vec![panel]).titled(experiment.title.clone()).captioned(caption)
}
