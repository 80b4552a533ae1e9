//! Results as CSV.

use std::fmt::Write as _;

use crate::evidence::Evidence;
use crate::quantile::quantile;

/// One line per task, with all its settings.
pub(super) fn tasks(evidence: &Evidence) -> String {
    let mut text = String::from("task,settings\n");
    for (number, series) in evidence.series().iter().enumerate() {
        let settings = serde_json::to_string(series.task).unwrap_or_default().replace('"', "\"\"");
        let _ = writeln!(text, "{number},\"{settings}\"");
    }
    text
}

/// One line per task, step and metric: tenth, fiftieth and ninetieth percentile over replicates.
pub(super) fn csv(evidence: &Evidence) -> String {
    let mut text =
        String::from("task,target,method,budget,optimizer,step,metric,replicates,q10,median,q90\n");
    let names = names(evidence);
    for (number, series) in evidence.series().iter().enumerate() {
        let rule = series.rule().map_or("", |rule| rule.kind());
        for step in series.steps() {
            for name in &names {
                let mut values = series.at(step, name);
                if values.is_empty() {
                    continue;
                }
                let [low, median, high] = [0.1, 0.5, 0.9].map(|level| quantile(&mut values, level));
                let (target, method) = (series.target().label(), series.method());
                let _ = writeln!(
                    text,
                    "{number},{target},{},{},{rule},{step},{name},{},{low},{median},{high}",
                    method.kind(),
                    method.budget(),
                    values.len(),
                );
            }
        }
    }
    text
}

/// Names of all metrics.
fn names(evidence: &Evidence) -> std::collections::BTreeSet<String> {
    let rows = evidence.outcomes.iter().filter_map(|outcome| outcome.rows.last());
    rows.flat_map(|row| row.values.keys().cloned()).collect()
}
