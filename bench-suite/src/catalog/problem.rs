//! Built targets, with the evaluators of their fits.

use std::sync::Arc;

use super::{Evaluator, Posterior};

/// A target with the evaluator of its fits.
pub struct Problem {
    /// The target.
    pub posterior: Arc<dyn Posterior>,
    /// Evaluator of fits.
    pub evaluator: Box<dyn Evaluator>,
}
