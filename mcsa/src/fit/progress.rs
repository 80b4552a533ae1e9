//! Progress line of a fit.

use std::fmt;

use indicatif::{ProgressBar, ProgressStyle};
use mcsa_core::counted;

use super::{Fitting, Stage};

/// Line on standard error with the state of a fit; completed stages stay above it. Silent if standard error is not a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    stage: Stage,
    last: String,
}

impl Progress {
    pub(crate) fn new(fitting: &Fitting) -> Self {
        let style = ProgressStyle::with_template("{spinner} {wide_msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new_spinner().with_style(style);
        let last = fitting.to_string();
        bar.set_message(last.clone());
        Self { bar, stage: fitting.stage, last }
    }

    /// Shows the state after a piece of work.
    pub(crate) fn show(&mut self, fitting: &Fitting) {
        if fitting.stage != self.stage {
            self.bar.println(&self.last);
            self.stage = fitting.stage;
        }
        self.last = fitting.to_string();
        self.bar.set_message(self.last.clone());
        self.bar.tick();
        if fitting.stage == Stage::Done {
            self.bar.abandon();
        }
    }
}

/// One line: the stage, and what was found.
impl fmt::Display for Fitting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ascents = || {
            let (made, modes) = (self.ascents.made, &self.ascents.modes);
            format!("{made} of {}, {}", counted(self.options.starts, "ascent"), counted(modes.len(), "mode"))
        };
        match self.stage {
            Stage::Start => write!(f, "start: {}", ascents())?,
            Stage::Climb => {
                write!(f, "climb {}", self.climbs.len())?;
                if let Some(climb) = self.climbs.last() {
                    write!(f, ": {}, {}", climb.shape, counted(climb.rounds.len(), "round"))?;
                    if let Some(round) = climb.rounds.last() {
                        write!(f, ", effective share {:.2}, k-hat {:.2}", round.share, round.shape)?;
                    }
                }
            }
            Stage::Verdict if self.has_more_starts() => write!(f, "verdict: {}", ascents())?,
            Stage::Verdict if self.learnt > 0 => {
                f.write_str("verdict: long chains, and a flow that learnt from them")?;
            }
            Stage::Verdict => f.write_str("verdict: chains of another kernel")?,
            Stage::Done => f.write_str("done")?,
        }
        write!(f, "; {}", counted(self.spent.total(), "evaluation"))
    }
}
