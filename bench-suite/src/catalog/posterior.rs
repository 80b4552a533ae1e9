//! Requirements of fits on a target.

use mcsa_core::Gradient;

/// Requirements on a target: gradients, for the methods that need them. Used behind a
/// pointer, with a virtual call per batch.
pub trait Posterior: Gradient {}

impl<P: Gradient> Posterior for P {}
