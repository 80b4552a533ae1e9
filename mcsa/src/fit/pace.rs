//! Limit of time, checkpoint file and progress line of a run.

use std::time::{Duration, Instant};

use mcsa_core::Error;

use super::progress::Progress;
use super::{Fitting, Stage};

/// Clock of a run, with what is due by time: the end, and the next checkpoint. No number of a fit comes from it.
pub(crate) struct Pace {
    begun: Instant,
    saved: Instant,
    /// Time that the last save took.
    took: Duration,
    progress: Option<Progress>,
}

/// Time between two saves in units of the time that a save takes.
const SPARSE: u32 = 20;

#[expect(
    clippy::disallowed_methods,
    reason = "limits of time and progress; no number of a fit comes from the clock"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

impl Pace {
    /// Starts the clock and writes the first checkpoint.
    ///
    /// # Errors
    /// If the file cannot be written, or holds something that is not an earlier state of this fit.
    pub(crate) fn begin(fitting: &Fitting) -> Result<Self, Error> {
        let begun = now();
        if let Some(path) = &fitting.options.checkpoint {
            fitting.may_overwrite(path)?;
            fitting.save(path)?;
        }
        let progress = fitting.options.progress.then(|| Progress::new(fitting));
        Ok(Self { begun, saved: now(), took: begun.elapsed(), progress })
    }

    /// The end of the time; `None` without a limit, or one beyond what a clock can show.
    pub(crate) fn deadline(&self, fitting: &Fitting) -> Option<Instant> {
        let seconds = Duration::try_from_secs_f64(fitting.options.seconds?).ok()?;
        self.begun.checked_add(seconds)
    }

    /// Shows a piece of work, and saves the state if that is due.
    pub(crate) fn after(&mut self, fitting: &Fitting) {
        if let Some(progress) = &mut self.progress {
            progress.show(fitting);
        }
        let is_due = self.saved.elapsed() >= SPARSE * self.took;
        if let Some(path) =
            fitting.options.checkpoint.as_ref().filter(|_| is_due && fitting.stage != Stage::Done)
        {
            let before = now();
            // A failure is reported by the last save, if that fails as well.
            let _ = fitting.save(path);
            self.took = before.elapsed();
            self.saved = now();
        }
    }

    /// Writes the last checkpoint.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn end(self, fitting: &Fitting) -> Result<(), Error> {
        fitting.options.checkpoint.as_ref().map_or(Ok(()), |path| fitting.save(path))
    }
}
