//! What can go wrong at a door, and where.

use std::fmt;

/// A refused input: which one, what it was, what was expected.
///
/// Errors arise where values enter (constructors, [`At::new`](crate::At::new), the first step of a fit,
/// a file being read); inside hot loops there are only numbers.
///
/// ```
/// use mcsa::Error;
/// let error = Error::parameter("scale", -1.0, "positive and finite").within("MeanField");
/// assert_eq!(error.to_string(), "MeanField: scale is -1, expected positive and finite");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A number outside its domain.
    Parameter {
        /// The parameter's name, as the caller wrote it.
        name: &'static str,
        /// The value found.
        value: f64,
        /// What would have been accepted.
        expected: &'static str,
    },
    /// A slice or a matrix side of the wrong length.
    Length {
        /// What was measured.
        what: &'static str,
        /// The length asked for.
        expected: usize,
        /// The length found.
        found: usize,
    },
    /// A NaN or an infinity among values that must be finite.
    NotFinite {
        /// What holds the value.
        what: &'static str,
        /// Its position there.
        index: usize,
        /// The value found.
        value: f64,
    },
    /// A matrix that should be positive definite and is not.
    NotPositiveDefinite {
        /// Which matrix.
        what: &'static str,
        /// The pivot at which the factorisation stopped.
        pivot: usize,
    },
    /// A scripted stream was asked for something that has no finite list of outcomes, or the script
    /// did not replay.
    Script {
        /// What happened.
        reason: &'static str,
    },
    /// A value that cannot be used, explained in words.
    Invalid {
        /// The explanation, which says what to do.
        reason: String,
    },
    /// An error with the place where it happened.
    Within {
        /// The place.
        place: String,
        /// What happened there.
        source: Box<Error>,
    },
}

impl Error {
    /// A number outside its domain.
    pub fn parameter(name: &'static str, value: f64, expected: &'static str) -> Self {
        Self::Parameter { name, value, expected }
    }

    /// A value that cannot be used; `reason` says why and what to do.
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid { reason: reason.into() }
    }

    /// The same error, with the place where it happened in front.
    #[must_use]
    pub fn within(self, place: impl Into<String>) -> Self {
        Self::Within { place: place.into(), source: Box::new(self) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter { name, value, expected } => {
                write!(f, "{name} is {}, expected {expected}", Short(*value))
            }
            Self::Length { what, expected, found } => {
                write!(f, "{what} has length {found}, expected {expected}")
            }
            Self::NotFinite { what, index, value } => {
                write!(f, "{what}[{index}] is {value}, expected a finite number")
            }
            Self::NotPositiveDefinite { what, pivot } => {
                write!(f, "{what} is not positive definite: the factorisation stops at row {pivot}")
            }
            Self::Script { reason } => write!(f, "scripted stream: {reason}"),
            Self::Invalid { reason } => f.write_str(reason),
            Self::Within { place, source } => write!(f, "{place}: {source}"),
        }
    }
}

impl std::error::Error for Error {}

/// A number in at most 24 characters: with an exponent where it would need a row of zeros.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if size.is_finite() && size != 0.0 && !(1e-5..1e16).contains(&size) {
            write!(f, "{:e}", self.0)
        } else {
            write!(f, "{}", self.0)
        }
    }
}

/// `Ok` if `found == expected`, else [`Error::Length`].
pub fn same_length(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(Error::Length { what, expected, found }) }
}

/// `Ok` if every value is finite, else [`Error::NotFinite`] at the first that is not.
pub fn all_finite(what: &'static str, values: &[f64]) -> Result<(), Error> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::NotFinite { what, index, value: values[index] }),
    }
}

/// Numbers that one buffer of a step may hold: 1 GiB.
const BUFFER: usize = 1 << 27;

/// `Ok` if `count` columns of `each` numbers take at most 1 GiB, the largest buffer that a step may ask for; else an error that
/// names the largest count that would.
///
/// ```
/// use mcsa::fits_in_memory;
/// assert!(fits_in_memory("chains", 1_000_000, 100).is_ok());
/// let error = fits_in_memory("chains", usize::MAX, 100).unwrap_err().to_string();
/// assert!(error.ends_with("expected at most 1342177: more, of 100 numbers each, take over 1 GiB"), "{error}");
/// ```
///
/// # Errors
/// If they take more.
pub fn fits_in_memory(what: &'static str, count: usize, each: usize) -> Result<(), Error> {
    let most = BUFFER / each.max(1);
    if count <= most {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{what} is {count}, expected at most {most}: more, of {each} numbers each, take over 1 GiB"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_place() {
        let error = all_finite("params", &[0.0, f64::NAN]).unwrap_err().within("At").within("Ascent");
        assert_eq!(error.to_string(), "Ascent: At: params[1] is NaN, expected a finite number");
    }

    #[test]
    fn numbers_are_short() {
        let text = |value| Error::parameter("rate", value, "less").to_string();
        assert_eq!(text(f64::MAX), "rate is 1.7976931348623157e308, expected less");
        assert_eq!(text(-1e-300), "rate is -1e-300, expected less");
        assert_eq!([text(0.25), text(-0.0)], ["rate is 0.25, expected less", "rate is -0, expected less"]);
        assert_eq!(text(f64::NAN), "rate is NaN, expected less");
    }

    #[test]
    fn lengths_are_compared() {
        assert!(same_length("z", 3, 3).is_ok());
        assert_eq!(same_length("z", 3, 4).unwrap_err().to_string(), "z has length 4, expected 3");
    }
}
