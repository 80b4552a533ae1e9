//! Targets that are built, with the evaluators of their fits.

use std::sync::Arc;

use mcsa_core::Gradient;

use super::Evaluator;

/// Requirements on a target: gradients, for the methods that need them. Used behind a
/// pointer, with a virtual call per batch.
pub trait Posterior: Gradient {}

impl<P: Gradient> Posterior for P {}

/// A target with the evaluator of its fits.
pub struct Problem {
    /// The target.
    pub posterior: Arc<dyn Posterior>,
    /// Evaluator of fits.
    pub evaluator: Box<dyn Evaluator>,
}
