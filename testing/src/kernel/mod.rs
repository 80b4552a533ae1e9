//! Tests of Markov kernels: by draws, by exact transition matrices, and by trials.

pub mod closed;
mod finite;
mod invariance;
mod matrix;
mod step;
mod transition;
mod trial;

pub use finite::{Finite, FiniteProposal, Spread};
pub use invariance::{Invariance, Sequential, Smallest, judge};
pub use matrix::{Cell, Matrix};
pub use step::{Chain, Step};
pub use transition::{Transition, transition_matrix, transition_matrix_along};
pub use trial::{Shifted, Trial};
