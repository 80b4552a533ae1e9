//! Evaluations and seconds of a job, over all of its runs.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::now;

/// Cost of a job so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Spent {
    /// Evaluations by name, without those for metrics.
    pub(super) counts: BTreeMap<String, u64>,
    /// Seconds without those for metrics.
    pub(super) seconds: f64,
    /// Seconds for metrics.
    pub(super) measuring: f64,
}

/// Meter of the cost of a job in this run, added to that of its earlier runs.
pub(super) struct Meter {
    before: Spent,
    since: Instant,
    aside: f64,
}

impl Meter {
    /// Continues from the cost of earlier runs.
    pub(super) fn after(before: Spent) -> Self {
        Self { before, since: now(), aside: 0.0 }
    }

    /// Counts the time since `start` as spent on metrics.
    pub(super) fn set_aside(&mut self, start: Instant) {
        self.aside += start.elapsed().as_secs_f64();
    }

    /// Total cost, where `counts` are the evaluations of this run.
    pub(super) fn spent(&self, mut counts: BTreeMap<String, u64>) -> Spent {
        for (name, count) in &self.before.counts {
            *counts.entry(name.clone()).or_default() += count;
        }
        Spent {
            counts,
            seconds: self.before.seconds + self.since.elapsed().as_secs_f64() - self.aside,
            measuring: self.before.measuring + self.aside,
        }
    }
}
