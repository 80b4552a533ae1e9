//! Synthetic results, for tests of checks.

use super::{Basis, Verdict};
use crate::evidence::Evidence;
use crate::experiment::PresetName;
use crate::kinds::Task;
use crate::registry::{Entry, REGISTRY};

/// The experiment with this name.
pub(crate) fn entry(id: &str) -> Entry {
    REGISTRY.iter().find(|entry| entry.file == format!("experiments/{id}.toml")).unwrap().clone()
}

/// Results of an experiment: rows by task, replicate and step.
pub(crate) fn evidence(
    id: &str,
    preset: PresetName,
    rows: impl Fn(&Task, u64, u64) -> Vec<(&'static str, f64)>,
) -> Evidence {
    Evidence::synthetic(entry(id).experiment().unwrap(), preset, rows)
}

/// Verdicts on the claims that are checked in Rust.
pub(crate) fn verdicts(evidence: &Evidence) -> Vec<Verdict> {
    let claims = entry(&evidence.experiment.id).claims(&evidence.experiment).unwrap();
    let checked = claims.iter().filter(|claim| matches!(claim.basis, Basis::Check(..)));
    checked.map(|claim| claim.find(evidence).verdict).collect()
}

/// Verdicts on the claims of an experiment that are checked in Rust, on synthetic results.
pub(crate) fn checks(
    id: &str,
    preset: PresetName,
    rows: impl Fn(&Task, u64, u64) -> Vec<(&'static str, f64)>,
) -> Vec<Verdict> {
    verdicts(&evidence(id, preset, rows))
}
