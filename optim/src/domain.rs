//! Argument checks of constants and of saved state.

use mcsa_core::Error;

/// `Ok` if `value` is positive and finite.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<(), Error> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Error::parameter(name, value, "positive and finite"))
}

/// `Ok` if `value` is not negative, and finite.
pub(crate) fn not_negative(name: &'static str, value: f64) -> Result<(), Error> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Error::parameter(name, value, "at least 0 and finite"))
}

/// `Ok` if `value` is in `[0, 1)`.
pub(crate) fn fraction(name: &'static str, value: f64) -> Result<(), Error> {
    if (0.0..1.0).contains(&value) {
        return Ok(());
    }
    Err(Error::parameter(name, value, "at least 0 and less than 1"))
}

/// `Ok` if a vector of a saved state has length `num_params` and is finite.
pub(crate) fn check_state(what: &'static str, num_params: usize, values: &[f64]) -> Result<(), Error> {
    mcsa_core::same_length(what, num_params, values.len())?;
    mcsa_core::all_finite(what, values)
}

/// `Ok` if a vector of sums of squares has length `num_params`, is finite and has no negative value.
pub(crate) fn check_squares(what: &'static str, num_params: usize, values: &[f64]) -> Result<(), Error> {
    check_state(what, num_params, values)?;
    match values.iter().find(|value| **value < 0.0) {
        None => Ok(()),
        Some(value) => Err(Error::parameter(what, *value, "a sum of squares")),
    }
}

/// Asserts that the state, the params and the direction passed to `ascend` have equal lengths.
pub(crate) fn assert_lengths(remembered: usize, params: &[f64], direction: &[f64]) {
    assert!(remembered == params.len() && params.len() == direction.len(), "one number per param");
}
