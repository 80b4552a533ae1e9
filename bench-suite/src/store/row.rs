//! Rows of metrics, and the end of a job.

use std::collections::BTreeMap;

use mcsa_estimators::Health;
use serde::{Deserialize, Serialize};

use crate::number;
use crate::plan::Job;

/// Metrics recorded at one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Number of steps made.
    pub step: u64,
    /// Metrics by name.
    #[serde(flatten, with = "number")]
    pub values: BTreeMap<String, f64>,
}

/// End of a job, and its cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Ended {
    /// Reason of an early end; such a job is a result too.
    pub failure: Option<String>,
    /// Reason for the end of a fit.
    #[serde(default)]
    pub outcome: Option<mcsa_estimators::Outcome>,
    /// State of a fit at its end.
    #[serde(default)]
    pub health: Option<Health>,
    /// Evaluations by name, without those for metrics.
    pub counts: BTreeMap<String, u64>,
    /// Seconds of one processor, without those for metrics.
    pub seconds: f64,
    /// Seconds for metrics.
    #[serde(default)]
    pub measuring: f64,
}

/// A job with its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The job.
    pub job: Job,
    /// Recorded rows.
    pub rows: Vec<Row>,
    /// End of the job.
    pub ended: Ended,
}

/// Contents of the store for a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// A result of this code.
    Fresh(Outcome),
    /// A result of other code with this fingerprint: may be shown as stale, and is never mixed with fresh ones.
    Stale(String, Outcome),
    /// No result.
    Missing,
}
