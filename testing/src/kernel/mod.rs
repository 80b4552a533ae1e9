//! Tests of Markov kernels: by draws, by exact transition matrices, and by trials.

pub mod closed;
mod finite;
mod invariance;
mod step;
mod transition;
mod trial;

pub use finite::{Finite, FiniteProposal, Spread};
pub use invariance::{Invariance, judge};
pub use step::{Chain, Step};
pub use transition::{Transition, transition_matrix, transition_matrix_along};
pub use trial::{Shifted, Trial};

/// The largest of errors that are not negative; NaN counts as infinite.
fn largest(errors: impl IntoIterator<Item = f64>) -> f64 {
    let worst = |worst: f64, error: f64| worst.max(if error.is_nan() { f64::INFINITY } else { error });
    errors.into_iter().fold(0.0, worst)
}
