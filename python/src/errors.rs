//! Errors of the library as Python exceptions.

use mcsa::core::Error;
use pyo3::PyErr;
use pyo3::exceptions::PyValueError;

/// A `ValueError` with the message of the library.
pub(crate) fn value_error(error: Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}
