//! Checkpoint files of a fit.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use mcsa_core::{Error, checksum};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Fit, Observer, Outcome, Stop, View};

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
    path: PathBuf,
    steps: u64,
}

/// First words of a checkpoint file; the number is the version of the format.
const FORMAT: &str = "mcsa fit 1";

impl Checkpoint {
    /// A checkpoint at `path`, written every 1000 steps.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), steps: 1000 }
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
    pub fn save<S: Serialize, O: Serialize>(&self, fit: &Fit<S, O>) -> Result<(), Error> {
        let place = |error: &dyn std::fmt::Display| {
            Error::invalid(format!("cannot write {}: {error}", self.path.display())).within("Checkpoint")
        };
        let text = serde_json::to_string(fit).map_err(|error| place(&error))?;
        let text = format!("{FORMAT} {:016x}\n{text}\n", checksum(text.bytes()));
        replace(&self.path, text.as_bytes()).map_err(|error| place(&error))
    }

    /// Reads the fit in the file; `None` if there is no file.
    ///
    /// # Errors
    /// If the file is damaged, is no checkpoint, or holds a fit by another estimator or optimiser; the message names the file.
    pub fn read<S, O>(&self) -> Result<Option<Fit<S, O>>, Error>
    where
        S: DeserializeOwned,
        O: DeserializeOwned,
    {
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.refuse(&error.to_string())),
            Ok(text) => text,
        };
        let whole = text.split_once('\n').and_then(|(head, body)| {
            let sum = head.strip_prefix(FORMAT)?.trim();
            Some((u64::from_str_radix(sum, 16).ok()?, body.strip_suffix('\n')?))
        });
        let Some((sum, body)) = whole else {
            return Err(self.refuse(&format!("it is not a file of format `{FORMAT}`")));
        };
        if checksum(body.bytes()) != sum {
            return Err(self.refuse("it is damaged: its checksum differs; delete it to start anew"));
        }
        serde_json::from_str(body).map(Some).map_err(|error| self.refuse(&error.to_string()))
    }

    pub(crate) fn refuse(&self, reason: &str) -> Error {
        Error::invalid(format!("cannot use {}: {reason}", self.path.display())).within("Checkpoint")
    }
}

/// Replaces a file as a whole: the new contents are on the disk before the name moves to them.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let mut file = fs::File::create(&beside)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    drop(file);
    written.and_then(|()| fs::rename(&beside, path)).inspect_err(|_| {
        // A partial file may be left if it cannot be removed; it is overwritten next time.
        let _ = fs::remove_file(&beside);
    })
}

impl<S, O> Observer<S, O> for Checkpoint
where
    S: Serialize + DeserializeOwned,
    O: Serialize + DeserializeOwned,
{
    fn begin(&mut self, fit: &Fit<S, O>, _: u64) -> Result<(), Error> {
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

    fn finish(&mut self, fit: &Fit<S, O>, _: &Outcome) -> Result<(), Error> {
        self.save(fit)
    }
}
