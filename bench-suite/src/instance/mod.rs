//! Exact solution of one finite problem, with input and output in JSON.
//!
//! The input gives a target, a proposal and a scalar score on a few atoms; the [`Answer`] holds all quantities in the papers'
//! statements, computed in exact fractions and rounded once, at the end, to 15 digits.
//!
//! ```
//! let question = r#"{"pi": ["1/2", "1/2"], "q": [0.25, 0.75], "s": [1, -1], "n": [1, 2], "candidates": [2]}"#;
//! let answer = mcsa_bench_suite::instance::answer(question)?;
//! assert!(answer.contains(r#""wstar": 2.0"#));
//! # Ok::<(), mcsa_core::Error>(())
//! ```

mod answer;
mod bounds;
mod digits;
mod question;

pub use answer::{
    Answer, Barker, CandidateMoments, Cis, Estimators, Imh, ImhSteps, ParallelMoments, SequentialMoments,
    StationaryMoments, answer,
};
pub use bounds::{Bound, Bounds};
pub use digits::Digits;
pub use question::Question;
