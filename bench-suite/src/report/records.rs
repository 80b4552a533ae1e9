//! Results as CSV.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::results::Results;
use mcsa_diagnostics::quantile;

/// One line per task, with all its settings.
pub(super) fn tasks(results: &Results) -> String {
    let mut text = String::from("task,settings\n");
    for (number, series) in results.series().iter().enumerate() {
        let settings = serde_json::to_string(series.task).unwrap_or_default().replace('"', "\"\"");
        let _ = writeln!(text, "{number},\"{settings}\"");
    }
    text
}

/// One line per task, step and metric: tenth, fiftieth and ninetieth percentile over replicates. Entries of vectors, which
/// belong to the last row, are called `means[3]`.
pub(super) fn csv(results: &Results) -> String {
    let mut text =
        String::from("task,target,method,budget,optimizer,step,metric,replicates,q10,median,q90\n");
    for (number, series) in results.series().iter().enumerate() {
        let (target, method) = (series.target().label(), series.method());
        let rule = series.rule().map_or("", |rule| rule.kind());
        let task = format!("{number},{target},{},{},{rule}", method.kind(), method.budget());
        for step in series.steps() {
            let mut columns = BTreeMap::<String, Vec<f64>>::new();
            let mut add = |name: String, value| columns.entry(name).or_default().push(value);
            let rows = series.outcomes.iter().flat_map(|outcome| &outcome.rows);
            for row in rows.filter(|row| row.step == step) {
                row.values.iter().for_each(|(name, value)| add((*name).to_owned(), *value));
                for (vector, entries) in &row.vectors {
                    let named = |k: usize| format!("{}[{k}]", vector.name());
                    entries.iter().enumerate().for_each(|(k, value)| add(named(k), *value));
                }
            }
            for (name, mut values) in columns {
                let [low, median, high] = [0.1, 0.5, 0.9].map(|level| quantile(&mut values, level));
                let _ = writeln!(text, "{task},{step},{name},{},{low},{median},{high}", values.len());
            }
        }
    }
    text
}
