//! Counters of evaluations of a target, a family or a surrogate.

mod counter;
mod family;
mod target;

pub use counter::{Counted, Counts, Evaluation};
