//! A broken law.

use std::fmt;

/// What a law says of a case.
pub type Verdict = Result<(), Failure>;

/// A law that does not hold: which, where, and the numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The law's name, that of the function.
    pub law: &'static str,
    /// Where it broke: the coordinate, the column, the point.
    pub place: String,
    /// What the law demands.
    pub expected: String,
    /// What the model did.
    pub found: String,
}

impl Failure {
    pub(super) fn new(
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
pub(super) fn near(
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

/// `Ok` if the two slices have the same bits, and no NaN: two calls may well read the same stale memory.
pub(super) fn same_bits(
    law: &'static str,
    place: impl Fn(usize) -> String,
    found: &[f64],
    expected: &[f64],
) -> Verdict {
    match found.iter().zip(expected).position(|(a, b)| a.is_nan() || a.to_bits() != b.to_bits()) {
        None => Ok(()),
        Some(k) => Err(Failure::new(law, place(k), format!("{:e}", expected[k]), format!("{:e}", found[k]))),
    }
}
