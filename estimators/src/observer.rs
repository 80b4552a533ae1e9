//! Watching a fit.

use std::ops::ControlFlow;

use mcsa::Record;
use serde::{Deserialize, Serialize};

/// What an observer may see after a step: everything, and only to read.
pub struct View<'a> {
    /// The step just made, counted from 1.
    pub step: u64,
    /// Lambda after the step.
    pub params: &'a [f64],
    /// The direction that was taken.
    pub direction: &'a [f64],
    /// What the estimator tells.
    pub info: &'a dyn Record,
}

/// A wish to end the run after this step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// Why.
    pub reason: String,
}

impl Stop {
    /// A wish with its reason.
    pub fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

/// Someone who watches a fit. Whether it watches or not, the trajectory has the same bits.
///
/// Any closure `FnMut(&View) -> ControlFlow<Stop>` is one.
pub trait Observer {
    /// Called after every step.
    fn observe(&mut self, view: &View<'_>) -> ControlFlow<Stop>;
}

impl<T: FnMut(&View<'_>) -> ControlFlow<Stop>> Observer for T {
    fn observe(&mut self, view: &View<'_>) -> ControlFlow<Stop> {
        self(view)
    }
}
