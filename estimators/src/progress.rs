//! Progress bar of a run.

use std::ops::ControlFlow;

use indicatif::{ProgressBar, ProgressStyle};
use mcsa_core::{Error, Metric};

use crate::{AscentState, Observer, Outcome, Stop, View};

/// Progress bar on standard error: steps, time left, acceptance rate. Silent if standard error is not a terminal.
pub struct Progress {
    bar: ProgressBar,
    /// Running mean of the acceptance rate.
    acceptance: Option<f64>,
    since: u64,
}

/// Number of steps between two updates of the text.
const EVERY: u64 = 64;

impl Progress {
    /// A progress bar, shown from the first step of a run on.
    pub fn new() -> Self {
        Self { bar: ProgressBar::hidden(), acceptance: None, since: 0 }
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl<S, O> Observer<S, O> for Progress {
    fn begin(&mut self, _: &AscentState<S, O>, steps: u64) -> Result<(), Error> {
        let form = "{bar:30} step {human_pos} of {human_len}, {eta} left{msg}";
        let style = ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar());
        self.bar = ProgressBar::new(steps).with_style(style);
        Ok(())
    }

    fn observe(&mut self, view: &View<'_, S, O>) -> ControlFlow<Stop> {
        view.info.record(&mut |metric, value| {
            if metric.is(Metric::ACCEPTANCE) {
                let mean = self.acceptance.get_or_insert(value);
                *mean += 0.01 * (value - *mean);
            }
        });
        self.since += 1;
        if self.since == EVERY {
            self.bar.inc(std::mem::take(&mut self.since));
            if let Some(mean) = self.acceptance {
                self.bar.set_message(format!(", acceptance {mean:.2}"));
            }
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self, _: &AscentState<S, O>, outcome: &Outcome) -> Result<(), Error> {
        self.bar.inc(std::mem::take(&mut self.since));
        self.bar.abandon_with_message(format!(": {outcome}"));
        Ok(())
    }
}
