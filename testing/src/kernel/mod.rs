//! Tests of Markov kernels: by draws, by exact transition matrices, and by trials.

pub mod closed;
mod disguise;
mod draws;
mod finite;
mod invariance;
mod matrix;
mod p_value;
mod power;
mod sequential;
mod spread;
mod statistic;
mod step;
mod transition;
mod trial;

pub use disguise::Shifted;
pub use finite::{Finite, FiniteGuide};
pub use invariance::{Invariance, judge};
pub use matrix::{Cell, Matrix};
pub use sequential::{Sequential, Smallest};
pub use spread::Spread;
pub use step::{Chain, Step};
pub use transition::{Transition, transition_matrix, transition_matrix_along};
pub use trial::Trial;
