//! Checkpoint files of a fit.

use std::ops::ControlFlow;
use std::path::PathBuf;

use mcsa_core::Error;
use serde::{Serialize, de::DeserializeOwned};

use crate::{AscentState, Observer, Outcome, StateFile, Stop, View};

/// Checkpoint file: the fit is saved to it before the first step, every so many steps, and at the end of a run.
///
/// The file is replaced as a whole, so an interruption at any time leaves the former or the new one, and a checksum tells a
/// damaged file. A fit continued from a checkpoint is bit-identical to one that was never interrupted.
///
/// ```
/// use mcsa_core::Seed;
/// use mcsa_estimators::{Ascent, Run, pmcsa};
/// # let (target, family) = (mcsa_models::Gaussian::standard(2), mcsa_families::MeanField::new(2));
/// # let optimizer = mcsa_optim::Adam::new(0.01)?;
/// # let path = std::env::temp_dir().join(format!("mcsa-doc-{}.fit", std::process::id()));
/// let ascent = Ascent { target: &target, family: &family, estimator: pmcsa(10), optimizer, seed: Seed::new(1) };
/// // The first run of the program starts a fit; after an interruption, the next one continues it.
/// let mut fit = ascent.resume_or(&path, || ascent.start(vec![1.0, 1.0, 0.0, 0.0]))?;
/// ascent.run(&mut fit, Run::to(2_000).checkpoint(&path, 500))?;
/// assert_eq!(ascent.resume_or(&path, || ascent.start(vec![0.0; 4]))?, fit);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), mcsa_core::Error>(())
/// ```
///
/// A file that holds another fit, a later step of this one, or anything else is not overwritten: the run ends with an error before
/// its first step, as it does if the file cannot be written. Later the run goes on, tries again when the next checkpoint is due, and
/// returns an error only if the last one fails too; the fit in memory is complete then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    file: StateFile,
    steps: u64,
}

/// First words of a checkpoint file; the number is the version of the format.
const FORMAT: &str = "mcsa fit 1";

impl Checkpoint {
    /// A checkpoint at `path`, written every 1000 steps.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { file: StateFile::new(path, FORMAT), steps: 1000 }
    }

    /// This checkpoint, written every `steps` steps (at least 1).
    #[must_use]
    pub fn every(self, steps: u64) -> Self {
        Self { steps: steps.max(1), ..self }
    }

    /// Saves a fit.
    ///
    /// # Errors
    /// If the file cannot be written; the message names it.
    pub fn save<S: Serialize, O: Serialize>(&self, fit: &AscentState<S, O>) -> Result<(), Error> {
        self.file.write(fit)
    }

    /// Reads the fit in the file; `None` if there is no file.
    ///
    /// # Errors
    /// If the file is damaged, is no checkpoint, or holds a fit by another estimator or optimiser; the message names the file.
    pub fn read<S, O>(&self) -> Result<Option<AscentState<S, O>>, Error>
    where
        S: DeserializeOwned,
        O: DeserializeOwned,
    {
        self.file.read()
    }

    pub(crate) fn refuse(&self, reason: &str) -> Error {
        self.file.refuse(reason)
    }
}

impl<S, O> Observer<S, O> for Checkpoint
where
    S: Serialize + DeserializeOwned,
    O: Serialize + DeserializeOwned,
{
    fn begin(&mut self, fit: &AscentState<S, O>, _: u64) -> Result<(), Error> {
        if let Some(saved) = self.read::<S, O>()? {
            let is_other = saved.seed != fit.seed || saved.configs.may_become(&fit.configs).is_err();
            if is_other || saved.step > fit.step {
                let which = if is_other { "another fit" } else { "a later step of this fit" };
                let reason = format!(
                    "it holds {which}, at step {}: continue that one with `resume_or`, or move the file",
                    saved.step
                );
                return Err(self.refuse(&reason));
            }
        }
        self.save(fit)
    }

    fn observe(&mut self, view: &View<'_, S, O>) -> ControlFlow<Stop> {
        if view.fit.step().is_multiple_of(self.steps) {
            // A failure is reported by the last save, if that fails as well.
            let _ = self.save(view.fit);
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self, fit: &AscentState<S, O>, _: &Outcome) -> Result<(), Error> {
        self.save(fit)
    }
}
