//! Errors of argument checks, and helper functions that check arguments.

use std::fmt;

use faer::MatRef;
use faer::traits::ComplexField;

/// An invalid argument: its name, the value found and the value expected.
///
/// Errors arise where values enter (constructors, [`FamilyProposal::new`](crate::FamilyProposal::new), the first step of a fit,
/// a file being read). Inner loops do not check and return plain numbers.
///
/// ```
/// use mcsa_core::Error;
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
        /// The values that are accepted.
        expected: &'static str,
    },
    /// A slice or a matrix side of the wrong length.
    Length {
        /// The slice or matrix side.
        what: &'static str,
        /// The length required.
        expected: usize,
        /// The length found.
        found: usize,
    },
    /// A NaN or an infinity among values that must be finite.
    NotFinite {
        /// The vector or matrix that holds the value.
        what: &'static str,
        /// The index of the value in it.
        index: usize,
        /// The value found.
        value: f64,
    },
    /// A matrix that should be positive definite and is not.
    NotPositiveDefinite {
        /// The matrix.
        what: &'static str,
        /// The pivot at which the factorisation stopped.
        pivot: usize,
    },
    /// A failed enumeration by a [`Script`](crate::Script): the code drew from a continuous distribution, did not replay its
    /// decisions, or had more branches than the limit.
    Script {
        /// The cause.
        reason: &'static str,
    },
    /// A value that cannot be used, explained in words.
    Invalid {
        /// The explanation, with a remedy.
        reason: String,
    },
    /// An error with the place where it happened.
    Within {
        /// The place, such as the name of a type or a file.
        place: String,
        /// The error that happened there.
        source: Box<Error>,
    },
}

impl Error {
    /// A number outside its domain.
    pub fn parameter(name: &'static str, value: f64, expected: &'static str) -> Self {
        Self::Parameter { name, value, expected }
    }

    /// A value that cannot be used; `reason` gives the cause and a remedy.
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid { reason: reason.into() }
    }

    /// This error with the name of a place in front of its message.
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

/// Number written in at most 24 characters: with an exponent if its size is below 1e-5 or from 1e16 on.
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
    if crate::numeric::all_below(values, f64::INFINITY) {
        return Ok(());
    }
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::NotFinite { what, index, value: values[index] }),
    }
}

/// `Ok` if `value` is positive and finite, else [`Error::Parameter`].
pub fn positive(name: &'static str, value: f64) -> Result<(), Error> {
    let is_good = value > 0.0 && value.is_finite();
    if is_good { Ok(()) } else { Err(Error::parameter(name, value, "positive and finite")) }
}

/// `Ok` if `count` is not 0, else [`Error::Parameter`].
pub fn at_least_one(name: &'static str, count: usize) -> Result<(), Error> {
    if count > 0 { Ok(()) } else { Err(Error::parameter(name, 0.0, "at least 1")) }
}

/// `Ok` if every entry is finite, else [`Error::NotFinite`] at the first that is not, counted down the columns.
pub fn finite_matrix<E: ComplexField + Into<f64>>(what: &'static str, x: MatRef<'_, E>) -> Result<(), Error> {
    if x.is_all_finite() {
        return Ok(());
    }
    let entries = (0..x.ncols()).flat_map(|k| x.col(k).iter().cloned().map(Into::into));
    match entries.enumerate().find(|(_, entry): &(_, f64)| !entry.is_finite()) {
        None => Ok(()),
        Some((index, value)) => Err(Error::NotFinite { what, index, value }),
    }
}

/// A count with its noun, which ends in `s` unless the count is 1.
///
/// ```
/// assert_eq!([1, 2].map(|count| mcsa_core::counted(count, "mode")), ["1 mode", "2 modes"]);
/// ```
pub fn counted(count: impl fmt::Display, noun: &str) -> String {
    let count = count.to_string();
    let ending = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// Largest length of one buffer of a step, in numbers of 8 bytes: 1 GiB.
const BUFFER: usize = 1 << 27;

/// `Ok` if `count` columns of `each` numbers take at most 1 GiB, the largest buffer that a step may allocate.
///
/// ```
/// use mcsa_core::fits_in_memory;
/// assert!(fits_in_memory("chains", 1_000_000, 100).is_ok());
/// let error = fits_in_memory("chains", usize::MAX, 100).unwrap_err().to_string();
/// assert!(error.ends_with("expected at most 1342177: more, of 100 numbers each, take over 1 GiB"), "{error}");
/// ```
///
/// # Errors
/// If the columns take more than 1 GiB; the message names the largest count that does not.
pub fn fits_in_memory(what: &'static str, count: usize, each: usize) -> Result<(), Error> {
    let most = BUFFER / each.max(1);
    if count <= most {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{what} is {count}, expected at most {most}: more, of {each} numbers each, take over 1 GiB"
    )))
}

/// `Ok` if a square matrix with this side takes at most 1 GiB.
///
/// ```
/// let error = mcsa_core::square_fits_in_memory("dim", 1_000_000_000).unwrap_err().to_string();
/// assert_eq!(error, "dim is 1000000000, expected at most 11585: a larger square matrix takes over 1 GiB");
/// ```
pub fn square_fits_in_memory(what: &'static str, side: usize) -> Result<(), Error> {
    let most = BUFFER.isqrt();
    if side <= most {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{what} is {side}, expected at most {most}: a larger square matrix takes over 1 GiB"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_place() {
        let error =
            all_finite("params", &[0.0, f64::NAN]).unwrap_err().within("FamilyProposal").within("Ascent");
        assert_eq!(error.to_string(), "Ascent: FamilyProposal: params[1] is NaN, expected a finite number");
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
