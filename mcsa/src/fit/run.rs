//! Run of a fit to its end, with limit of time, checkpoint file and progress.

use std::ops::ControlFlow;

use mcsa_core::Error;

use super::pace::{Pace, now};
use super::{Fitting, Objection, Stage, Target};

impl Fitting {
    /// Does all that is left, piece by piece; `after` sees the state after each, and can end the run. Limit of time, progress and
    /// checkpoint file are those of the options.
    ///
    /// # Errors
    /// As [`advance`](Self::advance); if the checkpoint file cannot be written, or holds something that is not an earlier state of this
    /// fit.
    pub fn run(
        &mut self,
        target: &Target<'_>,
        after: &mut dyn FnMut(&Self) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut pace = Pace::begin(self)?;
        let deadline = pace.deadline(self);
        while self.stage != Stage::Done {
            target.gate().until(deadline);
            self.is_late = deadline.is_some_and(|end| now() >= end);
            if self.is_late {
                self.cut(target, Objection::Time)?;
            }
            self.advance(target)?;
            pace.after(self);
            if after(self).is_break() {
                break;
            }
        }
        target.gate().until(None);
        pace.end(self)
    }
}
