//! Stopping rules.

use mcsa_core::Seed;

use crate::{Fit, Outcome};

/// Stopping rule with the memory of one run.
pub(crate) trait Rule<F: ?Sized, S, O> {
    /// Called before the first step.
    fn begin(&mut self, family: &F, seed: Seed, fit: &Fit<S, O>);

    /// Called after every step; an outcome ends the run.
    fn after_step(&mut self, family: &F, seed: Seed, fit: &mut Fit<S, O>) -> Option<Outcome>;

    /// Outcome when all steps were made.
    fn at_end(&mut self, family: &F, seed: Seed, fit: &mut Fit<S, O>) -> Outcome;
}
