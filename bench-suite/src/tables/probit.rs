//! Test errors of probit regression in the printed form (MSC, Tab. 1).

use super::Sheet;
use crate::evidence::Evidence;
use crate::look;
use crate::published::cells;

/// Mean and standard deviation of the test error over splits, ours beside the printed values.
pub fn probit(evidence: &Evidence) -> Vec<Sheet> {
    let printed = evidence.experiment.published.as_ref().map(|published| cells(&published.table));
    let printed = printed.and_then(Result::ok).unwrap_or_default();
    let mut rows = Vec::new();
    for series in evidence.series() {
        let (label, method) = (series.target().label(), series.method());
        let errors = series.last("error");
        let count = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / count;
        let square: f64 = errors.iter().map(|error| (error - mean).powi(2)).sum();
        let cell = printed.iter().find(|cell| cell.data == label && cell.method == method.kind());
        let theirs = cell.map_or_else(String::new, |cell| {
            // The interval was computed from the standard deviation.
            let half = 0.5 * (cell.interval.high - cell.interval.low);
            let deviation = half / 1.96 * (cell.interval.replicates as f64).sqrt();
            format!("{:.3} ± {deviation:.3}", cell.interval.value)
        });
        let ours = match errors.len() {
            0 => "–".to_owned(),
            1 => format!("{mean:.3}"),
            _ => format!("{mean:.3} ± {:.3}", (square / (count - 1.0)).sqrt()),
        };
        rows.push(vec![
            label.to_owned(),
            look::name(method.kind()).to_owned(),
            ours,
            theirs,
            errors.len().to_string(),
        ]);
    }
    let head = ["Data", "Method", "Ours", "Printed", "Splits"];
    vec![Sheet {
        name: "error",
        title: "Test error".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows,
        note: "Mean and standard deviation over splits; printed are 100 splits.".to_owned(),
    }]
}
