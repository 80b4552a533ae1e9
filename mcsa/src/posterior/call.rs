//! Calls that fit a posterior from start to verdict; the limit of time, checkpoint file and progress line of a run.

use std::fmt;
use std::ops::ControlFlow;

use indicatif::{ProgressBar, ProgressStyle};
use mcsa_core::{Error, Gradient, LogDensity, counted};
use web_time::{Duration, Instant};

use super::{FitResult, FitState, Objection, Options, Stage, Target};

/// Fits a posterior with a gradient.
///
/// ```
/// use mcsa::prelude::*;
/// let fitted = mcsa::fit(&mcsa::models::EightSchools::non_centred(), &mcsa::Options::seeded(1))?;
/// println!("{fitted}");
/// assert!(fitted.verdict.is_yes());
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// If the options are invalid, no start with a finite density was found, or the checkpoint file cannot be used.
pub fn fit<P: Gradient>(target: &P, options: &Options) -> Result<FitResult, Error> {
    run(&Target::with_gradient(target), options)
}

/// Fits a posterior by its log density alone.
///
/// # Errors
/// As [`fit`].
pub fn fit_density<P: LogDensity>(target: &P, options: &Options) -> Result<FitResult, Error> {
    run(&Target::density_only(target), options)
}

fn run(target: &Target<'_>, options: &Options) -> Result<FitResult, Error> {
    let fitted = || {
        let mut fitting = match &options.checkpoint {
            Some(path) => FitState::resume_or(path, target, options)?,
            None => FitState::new(options)?,
        };
        fitting.run(target, &mut |_| ControlFlow::Continue(()))?;
        fitting.finish(target)
    };
    fitted().map_err(|error: Error| error.within("fit"))
}

impl FitState {
    /// Does the remaining work of the fit, piece by piece. `after` is called with the state after each piece and can end the run.
    /// The options give the limit of time, the progress line and the checkpoint file.
    ///
    /// # Errors
    /// As [`advance`](Self::advance); if the checkpoint file cannot be written, or holds something that is not an earlier state of this
    /// fit.
    pub fn run(
        &mut self,
        target: &Target<'_>,
        after: &mut dyn FnMut(&Self) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let begun = now();
        if let Some(path) = &self.options.checkpoint {
            self.may_overwrite(path)?;
            self.save(path)?;
        }
        let (mut saved, mut took) = (now(), begun.elapsed());
        let mut progress = self.options.progress.then(|| Progress::new(self));
        // There is no end where the limit is beyond what a clock can show.
        let limit = self.options.seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let deadline = limit.and_then(|limit| begun.checked_add(limit));
        while self.stage != Stage::Done {
            target.gate().until(deadline);
            self.is_late = deadline.is_some_and(|end| now() >= end);
            if self.is_late {
                self.cut(target, Objection::Time)?;
            }
            self.advance(target)?;
            if let Some(progress) = &mut progress {
                progress.show(self);
            }
            let is_due = self.stage != Stage::Done && saved.elapsed() >= SPARSE * took;
            if let Some(path) = self.options.checkpoint.as_ref().filter(|_| is_due) {
                let before = now();
                // A failure is reported by the last save, if that fails as well.
                let _ = self.save(path);
                (saved, took) = (now(), before.elapsed());
            }
            if after(self).is_break() {
                break;
            }
        }
        target.gate().until(None);
        self.options.checkpoint.as_ref().map_or(Ok(()), |path| self.save(path))
    }
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

/// Line on standard error with the state of a fit; completed stages stay above it. Silent if standard error is not a terminal.
struct Progress {
    bar: ProgressBar,
    stage: Stage,
}

impl Progress {
    fn new(fitting: &FitState) -> Self {
        let style = ProgressStyle::with_template("{spinner} {wide_msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new_spinner().with_style(style);
        bar.set_message(fitting.to_string());
        Self { bar, stage: fitting.stage }
    }

    /// Shows the state after a piece of work.
    fn show(&mut self, fitting: &FitState) {
        if fitting.stage != self.stage {
            self.bar.println(self.bar.message());
            self.stage = fitting.stage;
        }
        self.bar.set_message(fitting.to_string());
        self.bar.tick();
        if fitting.stage == Stage::Done {
            self.bar.abandon();
        }
    }
}

/// One line: the stage, and what was found.
impl fmt::Display for FitState {
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
            Stage::Chains => match &self.attempt {
                Some(attempt) => write!(f, "chains: {}", attempt.sampler)?,
                None => f.write_str("chains")?,
            },
            Stage::Verdict if self.has_more_starts() => write!(f, "verdict: {}", ascents())?,
            Stage::Verdict => f.write_str("verdict: chains of another kernel")?,
            Stage::Done => f.write_str("done")?,
        }
        write!(f, "; {}", counted(self.spent.total(), "evaluation"))
    }
}
