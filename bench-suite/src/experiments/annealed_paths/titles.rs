//! Settings of series of annealed paths, and titles of their targets.

use crate::catalog::{AnnealedConfig, FamilyConfig};
use crate::results::{Results, Series};

/// Settings of the paths of a series.
pub(super) fn paths<'a>(series: &'a Series<'_>) -> Option<&'a AnnealedConfig> {
    match series.shape() {
        Some(FamilyConfig::Annealed(annealed)) => Some(annealed),
        _ => None,
    }
}

/// Labels of the targets, in the order of the plan.
pub(super) fn targets(results: &Results) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for series in results.series() {
        if !labels.iter().any(|label| label == series.target().label()) {
            labels.push(series.target().label().to_owned());
        }
    }
    labels
}

/// Title of a panel of a target; synthetic rows are named as such.
pub(super) fn titled(label: &str) -> String {
    match label {
        "synthetic-line" => "SYNTHETIC rows, linear regression".to_owned(),
        "synthetic-labels" => "SYNTHETIC rows, logistic regression".to_owned(),
        "synthetic-plain" => "SYNTHETIC rows, even classes".to_owned(),
        "synthetic-rare" => "SYNTHETIC rows, a rare class".to_owned(),
        label if label.starts_with("synthetic") => "SYNTHETIC rows".to_owned(),
        label => label.to_owned(),
    }
}
