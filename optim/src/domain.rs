//! Where constants may lie.

use mcsa::Error;

/// Refuses what is not positive and finite.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<(), Error> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Error::parameter(name, value, "positive and finite"))
}

/// Refuses what is negative or not finite.
pub(crate) fn not_negative(name: &'static str, value: f64) -> Result<(), Error> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Error::parameter(name, value, "at least 0 and finite"))
}

/// Refuses what lies outside `[0, 1)`.
pub(crate) fn fraction(name: &'static str, value: f64) -> Result<(), Error> {
    if (0.0..1.0).contains(&value) {
        return Ok(());
    }
    Err(Error::parameter(name, value, "at least 0 and less than 1"))
}

/// Refuses a remembered vector of another length, or one that is not finite.
pub(crate) fn remembered(what: &'static str, num_params: usize, values: &[f64]) -> Result<(), Error> {
    mcsa::same_length(what, num_params, values.len())?;
    mcsa::all_finite(what, values)
}

/// As [`remembered`], and no value may be negative: sums of squares.
pub(crate) fn remembered_squares(what: &'static str, num_params: usize, values: &[f64]) -> Result<(), Error> {
    remembered(what, num_params, values)?;
    match values.iter().find(|value| **value < 0.0) {
        None => Ok(()),
        Some(value) => Err(Error::parameter(what, *value, "a sum of squares")),
    }
}

/// Asserts what every `ascend` asks of its slices.
pub(crate) fn assert_lengths(remembered: usize, params: &[f64], direction: &[f64]) {
    assert!(remembered == params.len() && params.len() == direction.len(), "one number per param");
}
