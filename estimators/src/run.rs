//! Runs of a fit: number of steps, stopping rule, observers.

use std::path::PathBuf;

use mcsa_core::Family;
use serde::{Serialize, de::DeserializeOwned};

use crate::rule::Rule;
use crate::stationary::Judging;
use crate::{Checkpoint, Observer, Progress, Stationary};

/// Run of a fit: the number of steps, and what happens along the way.
///
/// ```
/// use std::ops::ControlFlow;
/// use mcsa_core::Seed;
/// use mcsa_estimators::{Ascent, Run, Stationary, View, pmcsa};
/// # let (target, family) = (mcsa_models::Gaussian::standard(2), mcsa_families::MeanField::new(2));
/// # let optimizer = mcsa_optim::Adam::new(0.01)?;
/// let ascent = Ascent { target: &target, family: &family, estimator: pmcsa(10), optimizer, seed: Seed::new(1) };
/// let mut fit = ascent.start(vec![1.0, 1.0, 0.0, 0.0])?;
/// let mut path = Vec::new();
/// let mut keep = |view: &View<'_, _, _>| {
///     path.push(view.fit.params()[0]);
///     ControlFlow::Continue(())
/// };
/// let outcome = ascent.run(&mut fit, Run::of(20_000).until(Stationary::to(0.2)?).observe(&mut keep))?;
/// assert!(path.len() as u64 == fit.step() && fit.step() < 20_000, "{outcome}");
/// # Ok::<(), mcsa_core::Error>(())
/// ```
/// A number of steps alone is a run without rule and observers: `ascent.run(&mut fit, 1_000)`.
pub struct Run<'r, F: ?Sized, S, O> {
    pub(crate) length: Length,
    pub(crate) rule: Option<Box<dyn Rule<F, S, O> + 'r>>,
    pub(crate) observers: Vec<Seat<'r, S, O>>,
}

/// Length of a run in steps.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Length {
    More(u64),
    To(u64),
}

impl Length {
    /// Number of steps for a fit that has made `step` steps.
    pub(crate) fn steps(self, step: u64) -> u64 {
        match self {
            Self::More(steps) => steps,
            Self::To(end) => end.saturating_sub(step),
        }
    }
}

/// An observer, lent or owned by the run.
pub(crate) enum Seat<'r, S, O> {
    Lent(&'r mut dyn Observer<S, O>),
    Owned(Box<dyn Observer<S, O> + 'r>),
}

impl<'r, S, O> Seat<'r, S, O> {
    pub(crate) fn observer(&mut self) -> &mut (dyn Observer<S, O> + 'r) {
        match self {
            Self::Lent(observer) => *observer,
            Self::Owned(observer) => observer.as_mut(),
        }
    }
}

impl<'r, F: ?Sized, S, O> Run<'r, F, S, O> {
    /// A run of `steps` more steps.
    pub fn of(steps: u64) -> Self {
        Self { length: Length::More(steps), rule: None, observers: Vec::new() }
    }

    /// A run until the fit has made `step` steps in all, those of earlier runs included. A run that is interrupted and continued
    /// from its checkpoint thus ends at the same step.
    pub fn to(step: u64) -> Self {
        Self { length: Length::To(step), ..Self::of(0) }
    }

    /// This run, ended earlier when the rule's accuracy is reached. The averaged iterate is in the
    /// [`Accuracy`](crate::Accuracy) of the outcome; averages start at the first step made under a rule.
    #[must_use]
    pub fn until(self, rule: Stationary) -> Self
    where
        F: Family,
    {
        Self { rule: Some(Box::new(Judging::new(rule))), ..self }
    }

    /// This run with an observer of every step.
    #[must_use]
    pub fn observe(mut self, observer: &'r mut dyn Observer<S, O>) -> Self {
        self.observers.push(Seat::Lent(observer));
        self
    }

    /// This run with the fit saved to a file every `steps` steps and at the end; see [`Checkpoint`].
    #[must_use]
    pub fn checkpoint(mut self, path: impl Into<PathBuf>, steps: u64) -> Self
    where
        S: Serialize + DeserializeOwned + 'r,
        O: Serialize + DeserializeOwned + 'r,
    {
        self.observers.push(Seat::Owned(Box::new(Checkpoint::at(path).every(steps))));
        self
    }

    /// This run with a progress bar on standard error; see [`Progress`](crate::Progress).
    #[must_use]
    pub fn progress(mut self) -> Self {
        self.observers.push(Seat::Owned(Box::new(Progress::new())));
        self
    }
}

impl<F: ?Sized, S, O> From<u64> for Run<'_, F, S, O> {
    fn from(steps: u64) -> Self {
        Self::of(steps)
    }
}
