//! Laws that a target, a family or a kernel must obey, and what is said of one that is broken. The conformance suites of `models` and
//! `families` speak in these words; a suite of your own may too.
//!
//! ```
//! use mcsa::law::{Verdict, near};
//! fn doubling_is_addition(x: f64) -> Verdict {
//!     near("doubling_is_addition", || format!("x = {x}"), 2.0 * x, x + x, 0.0)
//! }
//! assert!(doubling_is_addition(0.3).is_ok() && doubling_is_addition(f64::NAN).is_err());
//! ```

use std::fmt;

/// What a law says of a case.
pub type Verdict = Result<(), Failure>;

/// A law that does not hold: which, where, and the numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The law's name, that of the function.
    pub law: &'static str,
    /// Where it broke: the param, the column, the point.
    pub place: String,
    /// What the law demands.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl Failure {
    /// Of a law, a place and the numbers.
    pub fn new(
        law: &'static str,
        place: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self { law, place: place.into(), expected: expected.into(), found: found.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { law, place, expected, found } = self;
        write!(f, "{law}: {place}: found {found}, expected {expected}")
    }
}

impl std::error::Error for Failure {}

/// `Ok` if the two numbers are within `tolerance`; NaN never is.
pub fn near(
    law: &'static str,
    place: impl FnOnce() -> String,
    found: f64,
    expected: f64,
    tolerance: f64,
) -> Verdict {
    if (found - expected).abs() <= tolerance {
        return Ok(());
    }
    Err(Failure::new(law, place(), format!("{expected:e} +- {tolerance:.1e}"), format!("{found:e}")))
}

/// `Ok` if the two slices have the same bits, and no NaN: two calls may well read the same stale memory. `place` names an index.
pub fn same_bits(
    law: &'static str,
    place: impl Fn(usize) -> String,
    found: &[f64],
    expected: &[f64],
) -> Verdict {
    if found.len() != expected.len() {
        let (found, expected) = (format!("{} numbers", found.len()), format!("{}", expected.len()));
        return Err(Failure::new(law, "the length", expected, found));
    }
    match found.iter().zip(expected).position(|(a, b)| a.is_nan() || a.to_bits() != b.to_bits()) {
        None => Ok(()),
        Some(k) => Err(Failure::new(law, place(k), format!("{:e}", expected[k]), format!("{:e}", found[k]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_or_the_same_passes_and_nothing_else() {
        let near = |found, expected| near("law", || "here".into(), found, expected, 0.125);
        assert!(near(1.0, 1.1).is_ok() && near(1.0, 1.2).is_err() && near(f64::NAN, f64::NAN).is_err());
        let same = |found: &[f64], expected: &[f64]| same_bits("law", |k| format!("[{k}]"), found, expected);
        assert!(same(&[0.5, -0.0], &[0.5, -0.0]).is_ok());
        assert!(same(&[f64::NAN], &[f64::NAN]).is_err() && same(&[0.5], &[0.5, 1.0]).is_err());
        let broken = same(&[0.5, 0.0], &[0.5, -0.0]).unwrap_err();
        assert_eq!(broken.to_string(), "law: [1]: found 0e0, expected -0e0");
    }
}
