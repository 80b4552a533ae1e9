//! Observers of a run.

use std::ops::ControlFlow;

use mcsa_core::{Error, Record};

use crate::{Fit, Outcome, Stop};

/// Read-only view of a fit after a step.
pub struct View<'a, S, O> {
    /// The fit after the step: its step, counted from 1, its params lambda, its chains.
    pub fit: &'a Fit<S, O>,
    /// The ascent direction of the step.
    pub direction: &'a [f64],
    /// The estimator's metrics.
    pub info: &'a dyn Record,
}

/// Observer of a run of a fit with estimator state `S` and optimiser state `O`. The iterates are bit-identical with or without
/// observers.
///
/// Any closure `FnMut(&View<S, O>) -> ControlFlow<Stop>` is an observer.
pub trait Observer<S, O> {
    /// Called before the first step of a run of at most `steps` steps. The default does nothing.
    ///
    /// # Errors
    /// If the observer cannot do its work; the run then ends before its first step.
    fn begin(&mut self, fit: &Fit<S, O>, steps: u64) -> Result<(), Error> {
        let _ = (fit, steps);
        Ok(())
    }

    /// Called after every step.
    fn observe(&mut self, view: &View<'_, S, O>) -> ControlFlow<Stop>;

    /// Called when the run has ended. The default does nothing.
    ///
    /// # Errors
    /// If the observer could not do its work. The run returns this error; the fit remains valid.
    fn finish(&mut self, fit: &Fit<S, O>, outcome: &Outcome) -> Result<(), Error> {
        let _ = (fit, outcome);
        Ok(())
    }
}

impl<S, O, T: FnMut(&View<'_, S, O>) -> ControlFlow<Stop>> Observer<S, O> for T {
    fn observe(&mut self, view: &View<'_, S, O>) -> ControlFlow<Stop> {
        self(view)
    }
}
