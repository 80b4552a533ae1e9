//! Observers of a run: checkpoint files of serialised states, and a progress bar.

use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};
use mcsa_core::{Error, Metric, checksum, file};
use serde::{Serialize, de::DeserializeOwned};

use crate::{AscentState, Observer, Outcome, Stop, View};

/// Observer that saves the fit before the first step, every `steps` steps, and at the end of a run.
pub(crate) struct Checkpoint {
    pub(crate) file: StateFile,
    pub(crate) steps: u64,
}

/// Checkpoint file at `path`; the number is the version of the format.
pub(crate) fn fit_file(path: impl Into<PathBuf>) -> StateFile {
    StateFile::new(path, "mcsa fit 1")
}

impl<S, O> Observer<S, O> for Checkpoint
where
    S: Serialize + DeserializeOwned,
    O: Serialize + DeserializeOwned,
{
    fn begin(&mut self, fit: &AscentState<S, O>, _: u64) -> Result<(), Error> {
        if let Some(saved) = self.file.read::<AscentState<S, O>>()? {
            let is_other = saved.seed != fit.seed || saved.configs.may_become(&fit.configs).is_err();
            if is_other || saved.step > fit.step {
                let which = if is_other { "another fit" } else { "a later step of this fit" };
                let reason = format!(
                    "it holds {which}, at step {}: continue that one with `resume_or`, or move the file",
                    saved.step
                );
                return Err(self.file.refuse(&reason));
            }
        }
        self.file.write(fit)
    }

    fn observe(&mut self, view: &View<'_, S, O>) -> ControlFlow<Stop> {
        if view.fit.step().is_multiple_of(self.steps) {
            // A failure is reported by the last save, if that fails as well.
            let _ = self.file.write(view.fit);
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self, fit: &AscentState<S, O>, _: &Outcome) -> Result<(), Error> {
        self.file.write(fit)
    }
}

/// Largest size in bytes: states with matrices of some thousand rows have gigabytes.
const LONGEST: u64 = 1 << 34;

/// File of a serialised state: a line with its format and a checksum, then the state as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFile {
    path: PathBuf,
    format: &'static str,
}

impl StateFile {
    /// A file at `path`; `format` is its first words, with the version of the format.
    pub fn new(path: impl Into<PathBuf>, format: &'static str) -> Self {
        Self { path: path.into(), format }
    }

    /// Replaces the file by one with this state.
    ///
    /// # Errors
    /// If the file cannot be written; the message names it.
    pub fn write<T: Serialize + ?Sized>(&self, state: &T) -> Result<(), Error> {
        let place = |error: &dyn std::fmt::Display| {
            Error::invalid(format!("cannot write {}: {error}", self.path.display())).within("Checkpoint")
        };
        let text = serde_json::to_string(state).map_err(|error| place(&error))?;
        let text = format!("{} {:016x}\n{text}\n", self.format, checksum(text.bytes()));
        let written = file::check_regular(&self.path).and_then(|()| file::write(&self.path, text.as_bytes()));
        written.map_err(|error| place(&error))
    }

    /// The state in the file; `None` if there is no file.
    ///
    /// # Errors
    /// If the file is damaged, of another format, or holds another type of state; the message names the file.
    pub fn read<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let other = || self.refuse(&format!("it is not a file of format `{}`", self.format));
        let bytes = match file::read_headed(&self.path, self.format.as_bytes(), LONGEST) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == ErrorKind::InvalidData => return Err(other()),
            read => read.map_err(|error| self.refuse(&error.to_string()))?,
        };
        let text =
            String::from_utf8(bytes).map_err(|_| self.refuse("it is damaged: it is not text in UTF-8"))?;
        let (head, body) = text.split_once('\n').unwrap_or((&text, ""));
        let sum = head.strip_prefix(self.format).and_then(|sum| u64::from_str_radix(sum.trim(), 16).ok());
        let sum = sum.ok_or_else(other)?;
        let whole = body.strip_suffix('\n').filter(|body| checksum(body.bytes()) == sum);
        let body = whole
            .ok_or_else(|| self.refuse("it is damaged: its checksum differs; delete it to start anew"))?;
        serde_json::from_str(body).map(Some).map_err(|error| self.refuse(&error.to_string()))
    }

    /// The error that this file cannot be used.
    pub fn refuse(&self, reason: &str) -> Error {
        Error::invalid(format!("cannot use {}: {reason}", self.path.display())).within("Checkpoint")
    }
}

/// Observer that shows a progress bar from the first step of a run on.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Running mean of the acceptance rate.
    acceptance: Option<f64>,
    since: u64,
}

/// Number of steps between two updates of the text.
const UPDATE: u64 = 64;

impl Default for Progress {
    fn default() -> Self {
        Self { bar: ProgressBar::hidden(), acceptance: None, since: 0 }
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
        if self.since == UPDATE {
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
