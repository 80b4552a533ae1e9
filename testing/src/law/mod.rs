//! Conformance kit: tests of laws, which are mathematical properties of a target, a family or a kernel.
//!
//! A law is a function of a test case that returns `Ok(())`, or a [`Failure`] that names the place and the numbers. A statistical
//! law returns the [`Power`] of its test. The suites for targets ([`model`](crate::model)) and families
//! ([`family`](crate::family)) and the tests of kernels are written with these parts, and so may be a suite of your own; its tests, one
//! per law, are written by [`law_tests!`](crate::law_tests).

mod failure;
mod report;
mod slope;

pub use failure::*;
pub use report::*;
pub use slope::*;

/// Mean and its standard error.
pub(crate) fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}
