//! Value and gradient of one path of differentiable annealed importance sampling, with input and output in JSON.
//!
//! The input gives a regression, the random numbers of the path and all parameters; the [`Replay`] holds the bound, its
//! derivatives and the points of the path (SL-DAIS, Sec. 3). The format is in the help of `mcsa-bench theory --replay`.

mod answer;
mod question;
mod regression;
mod surrogate;

pub use answer::{Replay, answer};
pub use question::Question;
