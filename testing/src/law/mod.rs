//! Conformance kit: tests of laws, which are mathematical properties of a target, a family or a kernel.
//!
//! A law is a function of a test case that returns `Ok(())`, or a [`Failure`] that names the place and the numbers. A statistical
//! law returns the [`Power`] of its test. The suites for targets ([`model`](crate::model)) and families
//! ([`family`](crate::family)) and the tests of kernels are written with these parts, and so may be a suite of your own; its tests, one
//! per law, are written by [`law_tests!`](crate::law_tests).
//!
//! ```
//! use mcsa_testing::law::{Failure, LeftOut, Report, near};
//! fn doubling_is_addition(x: f64) -> Result<(), Failure> {
//!     near("doubling_is_addition", || format!("x = {x}"), 2.0 * x, x + x, 0.0)
//! }
//! let mut report = Report::default();
//! report.run(&LeftOut::default(), "doubling_is_addition", || doubling_is_addition(0.3));
//! assert!(report.holds(), "{report}");
//! assert!(doubling_is_addition(f64::NAN).is_err());
//! ```

mod failure;
mod report;
mod slope;

pub use failure::*;
pub use report::*;
pub use slope::*;
