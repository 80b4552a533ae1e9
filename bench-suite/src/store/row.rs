//! Rows of numbers, and how a job ended.

use std::collections::BTreeMap;

use mcsa_estimators::Health;
use serde::{Deserialize, Serialize};

use crate::number;
use crate::plan::Job;

/// The numbers recorded at one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Steps made.
    pub step: u64,
    /// Each number by its name.
    #[serde(flatten, with = "number")]
    pub values: BTreeMap<String, f64>,
}

/// How a job ended, and what it cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Ended {
    /// Why it ended early, if it did: a result like any other.
    pub failure: Option<String>,
    /// Of a fit: why it ended.
    #[serde(default)]
    pub outcome: Option<mcsa_estimators::Outcome>,
    /// Of a fit: what it looked like at its end.
    #[serde(default)]
    pub health: Option<Health>,
    /// Evaluations, by name. What was measured along the way is not among them.
    pub counts: BTreeMap<String, u64>,
    /// Seconds of one processor, without what was measured along the way.
    pub seconds: f64,
    /// Seconds spent on measuring.
    #[serde(default)]
    pub measuring: f64,
}

/// A job with the rows it gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What was run.
    pub job: Job,
    /// What it recorded.
    pub rows: Vec<Row>,
    /// How it ended.
    pub ended: Ended,
}

/// What the store has of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// A result of this code.
    Fresh(Outcome),
    /// A result of other code, whose fingerprint this is: it may be shown as such, and is never mixed with fresh ones.
    Stale(String, Outcome),
    /// Nothing.
    Missing,
}
