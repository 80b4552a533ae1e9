//! Evaluations and seconds of a job, over all of its runs.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::now;

/// What a job has cost so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Spent {
    /// Evaluations, by name. What was measured along the way is not among them.
    pub(super) counts: BTreeMap<String, u64>,
    /// Seconds without what was measured along the way.
    pub(super) seconds: f64,
    /// Seconds spent on measuring.
    pub(super) measuring: f64,
}

/// Measures what a job costs in this run, and adds it to what earlier runs of the job had cost.
pub(super) struct Meter {
    before: Spent,
    since: Instant,
    aside: f64,
}

impl Meter {
    /// Goes on from what was spent before.
    pub(super) fn after(before: Spent) -> Self {
        Self { before, since: now(), aside: 0.0 }
    }

    /// Counts the time since `start` as measuring.
    pub(super) fn set_aside(&mut self, start: Instant) {
        self.aside += start.elapsed().as_secs_f64();
    }

    /// The sum, where `counts` are those of this run.
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
