//! Final metrics of families of different shape.

use crate::interval::bootstrap;
use crate::look;
use crate::results::{Results, Series};
use crate::tables::Sheet;
use crate::task::Fit;

/// Divergence, acceptance, k-hat and the largest weight of every family on every target.
pub(crate) fn tables(results: &Results) -> Vec<Sheet> {
    let head = [
        "Target",
        "Family",
        "Warmed up",
        "Method",
        "KL(p ∥ q), nats",
        "Acceptance",
        "k-hat",
        "log largest p/q",
        "Replicates",
    ];
    let row = |series: &Series<'_>| {
        let cell = |name: &str, digits: usize| {
            bootstrap(&series.last(name), 0.8).filter(|all| all.value.is_finite()).map_or_else(
                || "–".to_owned(),
                |all| {
                    let Some(low) = Some(all.low).filter(|_| all.replicates > 1) else {
                        return format!("{:.digits$}", all.value);
                    };
                    format!("{:.digits$} [{low:.digits$}, {:.digits$}]", all.value, all.high)
                },
            )
        };
        vec![
            series.target().title(),
            look::family(series.shape().map_or("", |shape| shape.kind())).0.to_owned(),
            series.fit().and_then(Fit::begun).map_or_else(String::new, |(schedule, mean, scale)| {
                format!("{schedule}, from N({mean}, {scale}²)")
            }),
            format!("{} ({})", look::name(series.method().kind()), series.method().budget()),
            cell("kl", 3),
            cell("acceptance", 2),
            cell("k_hat", 2),
            cell("log_weight_bound", 1),
            (series.outcomes.len() - series.failures()).to_string(),
        ]
    };
    vec![Sheet {
        name: "ends",
        title: "At the end".to_owned(),
        head: head.map(str::to_owned).into(),
        rows: results.series().iter().map(row).collect(),
        note: "Means over replicates with 80 % bootstrap intervals. k-hat and weights are of draws of q; acceptance is a running mean \
               of what the chains did, draws of the tail included."
            .to_owned(),
    }]
}
