//! Violations of laws, and comparisons of numbers that return them.

use std::fmt;

use faer::MatRef;

use mcsa_core::Columns;

/// Violation of a law: the law, the place, the value demanded and the value found.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The name of the law, equal to the name of the function that tests it.
    pub law: &'static str,
    /// The place of the violation: the param, the column, the point.
    pub place: String,
    /// The value that the law demands.
    pub expected: String,
    /// The value found.
    pub found: String,
}

impl Failure {
    /// A failure from its four parts.
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

/// `Ok` if `found` and `expected` differ by at most `tolerance`. A NaN in either is a failure.
///
/// # Errors
/// If they differ by more.
pub fn near(
    law: &'static str,
    place: impl FnOnce() -> String,
    found: f64,
    expected: f64,
    tolerance: f64,
) -> Result<(), Failure> {
    if (found - expected).abs() <= tolerance {
        return Ok(());
    }
    Err(Failure::new(law, place(), format!("{expected:e} +- {tolerance:.1e}"), format!("{found:e}")))
}

/// `Ok` if the two slices are bit-identical and hold no NaN; `place` names the place of an index.
///
/// NaN is a failure even where both slices have it, because two calls may both return the NaN of memory that neither has written.
///
/// # Errors
/// If the lengths or a bit differ, or a number is NaN.
pub fn same_bits(
    law: &'static str,
    place: impl Fn(usize) -> String,
    found: &[f64],
    expected: &[f64],
) -> Result<(), Failure> {
    if found.len() != expected.len() {
        let (found, expected) = (format!("{} numbers", found.len()), format!("{}", expected.len()));
        return Err(Failure::new(law, "the length", expected, found));
    }
    match found.iter().zip(expected).position(|(a, b)| a.is_nan() || a.to_bits() != b.to_bits()) {
        None => Ok(()),
        Some(k) => Err(Failure::new(law, place(k), format!("{:e}", expected[k]), format!("{:e}", found[k]))),
    }
}

/// `Ok` if the columns of two batches are bit-identical and hold no NaN; `place` names the batches.
///
/// # Errors
/// If a bit differs or a number is NaN; the failure names the coordinate and the column.
pub fn same_columns(
    law: &'static str,
    place: &str,
    found: MatRef<'_, f64>,
    expected: MatRef<'_, f64>,
) -> Result<(), Failure> {
    let columns = expected.ncols();
    (0..columns).try_for_each(|j| {
        let place = |i| format!("{place}, coordinate {i}, column {j} of {columns}");
        same_bits(law, place, found.column(j), expected.column(j))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::mat;

    #[test]
    fn what_is_near_or_the_same_passes_and_nothing_else() {
        let near = |found, expected| near("law", || "here".into(), found, expected, 0.125);
        assert!(near(1.0, 1.1).is_ok() && near(1.0, 1.2).is_err() && near(f64::NAN, f64::NAN).is_err());
        let same = |found: &[f64], expected: &[f64]| same_bits("law", |k| format!("[{k}]"), found, expected);
        assert!(same(&[0.5, -0.0], &[0.5, -0.0]).is_ok());
        assert!(same(&[f64::NAN], &[f64::NAN]).is_err() && same(&[0.5], &[0.5, 1.0]).is_err());
        let broken = same(&[0.5, 0.0], &[0.5, -0.0]).unwrap_err();
        assert_eq!(broken.to_string(), "law: [1]: found 0e0, expected -0e0");
        let (a, b) = (mat![[1.0, 2.0]], mat![[1.0, 3.0]]);
        assert!(same_columns("law", "f", a.as_ref(), a.as_ref()).is_ok());
        let broken = same_columns("law", "f", a.as_ref(), b.as_ref()).unwrap_err();
        assert_eq!(broken.place, "f, coordinate 0, column 1 of 2");
    }
}
