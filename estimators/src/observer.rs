//! Observers of a fit.

use std::ops::ControlFlow;

use mcsa_core::Record;
use serde::{Deserialize, Serialize};

/// Read-only view of a fit after a step.
pub struct View<'a> {
    /// The step just made, counted from 1.
    pub step: u64,
    /// Lambda after the step.
    pub params: &'a [f64],
    /// The ascent direction of the step.
    pub direction: &'a [f64],
    /// The estimator's metrics.
    pub info: &'a dyn Record,
}

/// A request to end the run after this step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// The reason.
    pub reason: String,
}

impl Stop {
    /// A request with this reason.
    pub fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

/// An observer of a fit. The iterates are bit-identical with or without observers.
///
/// Any closure `FnMut(&View) -> ControlFlow<Stop>` is an observer.
pub trait Observer {
    /// Called after every step.
    fn observe(&mut self, view: &View<'_>) -> ControlFlow<Stop>;
}

impl<T: FnMut(&View<'_>) -> ControlFlow<Stop>> Observer for T {
    fn observe(&mut self, view: &View<'_>) -> ControlFlow<Stop> {
        self(view)
    }
}
