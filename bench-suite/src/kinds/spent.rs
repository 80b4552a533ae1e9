//! Evaluations and seconds of a job, over all of its runs.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::{Tally, now};
use crate::store::Ended;

/// Cost of a job so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Spent {
    /// Evaluations by name, without those for metrics.
    pub(super) counts: Tally,
    /// Seconds without those for metrics.
    pub(super) seconds: f64,
    /// Seconds for metrics.
    pub(super) measuring: f64,
    /// Part of them for the health of the fit.
    pub(super) judging: f64,
}

impl Spent {
    /// The end of a job of this cost.
    pub(super) fn ended(self) -> Ended {
        let Self { counts, seconds, measuring, judging } = self;
        Ended { counts, seconds, measuring, judging, ..Ended::default() }
    }
}

/// Meter of the cost of a job in this run, added to that of its earlier runs.
pub(super) struct Meter {
    before: Spent,
    since: Instant,
    aside: f64,
    judging: f64,
    uncounted: Tally,
}

impl Meter {
    /// Continues from the cost of earlier runs.
    pub(super) fn after(before: Spent) -> Self {
        Self { before, since: now(), aside: 0.0, judging: 0.0, uncounted: Tally::new() }
    }

    /// Runs `look`, whose time is spent on metrics, and whose evaluations are not counted: `counts` are those of this run.
    pub(super) fn aside<T>(&mut self, counts: &dyn Fn() -> Tally, look: impl FnOnce() -> T) -> T {
        let (start, before) = (now(), counts());
        let seen = look();
        for (name, count) in counts() {
            let made = count - before.get(&name).unwrap_or(&0);
            *self.uncounted.entry(name).or_default() += made;
        }
        self.aside += start.elapsed().as_secs_f64();
        seen
    }

    /// As [`aside`](Self::aside), for the health of the fit.
    pub(super) fn judge<T>(&mut self, counts: &dyn Fn() -> Tally, look: impl FnOnce() -> T) -> T {
        let before = self.aside;
        let seen = self.aside(counts, look);
        self.judging += self.aside - before;
        seen
    }

    /// Total cost, where `counts` are the evaluations of this run.
    pub(super) fn spent(&self, mut counts: Tally) -> Spent {
        for (name, count) in &mut counts {
            *count -= self.uncounted.get(name).unwrap_or(&0);
        }
        for (name, count) in &self.before.counts {
            *counts.entry(name.clone()).or_default() += count;
        }
        Spent {
            counts,
            seconds: self.before.seconds + self.since.elapsed().as_secs_f64() - self.aside,
            measuring: self.before.measuring + self.aside,
            judging: self.before.judging + self.judging,
        }
    }
}
